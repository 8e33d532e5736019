"""`dpsel` and `python -m dpsel`: as little as possible before interrupts are cared for."""

import gc
import os
import sys
from typing import NoReturn

# Modules make 50,000 to 100,000 objects that stay, and a table of as many columns some more: to
# look at them for garbage takes a tenth of a small run's time.
_OBJECTS_BETWEEN_COLLECTIONS = 200_000

# Python imports the first two when it starts a process, not before.
_STARTS_PROCESSES = ("multiprocessing.forkserver", "multiprocessing.spawn", "distributed")


def main() -> None:
    """Run the command line that this process was started with."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # Our own threads share the work; those of a matrix library would only get in their way.
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
            # What was not written yet must not be written after all, nor be waited for.
            abandon_stdout()
    except KeyboardInterrupt:
        code = 130
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process, without taking apart all that it has in memory: that takes long.

    Whatever a run opens it has closed when it returns, and the file of a spill has no name, so that
    it goes with the process. Only if there may be other processes, these have to be told.
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
