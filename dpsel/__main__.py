"""`dpsel` and `python -m dpsel`: as little as possible before interrupts are cared for."""

import gc
import sys

# Modules make hundreds of thousands of objects that stay: looking at them for garbage again and
# again takes a tenth of a small run's time.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main() -> None:
    """Run the command line that this process was started with."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        from dpsel.cli.app import INTERRUPTED, run
        from dpsel.io.interrupts import ignore_interrupts
        from dpsel.io.streams import mute_libraries

        if "--debug" not in sys.argv:
            mute_libraries()
        code = run(sys.argv[1:])
        if code == INTERRUPTED:
            ignore_interrupts()
    except KeyboardInterrupt:
        code = 130
    # Nor need they be looked at when the process ends.
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    main()
