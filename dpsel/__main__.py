"""The entry point of `dpsel` and `python -m dpsel`.

It imports as little as possible before `main` can catch Ctrl-C.
"""

import gc
import os
import sys
from typing import NoReturn

# The modules alone create 50,000 to 100,000 objects that stay alive, and a table with as many
# columns adds more. Scanning them for garbage takes a tenth of a small run's time.
_OBJECTS_BETWEEN_COLLECTIONS = 200_000

# The first two are imported by Python itself, when it starts a child process.
_STARTS_PROCESSES = ("multiprocessing.forkserver", "multiprocessing.spawn", "distributed")


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # We run threads of our own; those of a matrix library would compete with them.
    for library in ("OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    try:
        from dpsel.cli.app import INTERRUPTED, run
        from dpsel.system.process import abandon_stdout, ignore_interrupts, mute_libraries

        if "--debug" not in sys.argv:
            mute_libraries()
        code = run(sys.argv[1:])
        if code == INTERRUPTED:
            ignore_interrupts()
            # Output that is still buffered must not be written now, and nobody waits for it.
            abandon_stdout()
    except KeyboardInterrupt:
        code = 130
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Exit without freeing the memory of the process object by object, which is slow.

    A run has closed everything it opened, and a spill file has no name, so it vanishes with the
    process. Only if there may be child processes is an orderly exit needed, to stop them.
    """
    if any(module in sys.modules for module in _STARTS_PROCESSES):
        sys.exit(code)
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    main()
