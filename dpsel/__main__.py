"""`dpsel` and `python -m dpsel`: as little as possible before interrupts are cared for."""

import sys


def main() -> None:
    """Run the command line that this process was started with."""
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
    sys.exit(code)


if __name__ == "__main__":
    main()
