"""A worker in which cases hang, end the process or take memory, to see whether that is noticed."""

import os
import signal
import time

from tests.hardening import fuzz_worker
from tests.hardening.fuzz_cases import case
from tests.hardening.fuzz_worker import Ended
from tests.hardening.originals import Original

_KEPT: list[bytes] = []


def run_case(this: Original) -> Ended:
    """Behave badly in some cases."""
    if this == case(1):
        # For the next case of this process, which hangs: others may take long on a busy machine.
        fuzz_worker.SECONDS_A_CASE = 1
    if this == case(2):
        time.sleep(60)
    if this == case(4):
        os.kill(os.getpid(), signal.SIGSEGV)
    if this == case(6):
        # More than may be taken, also where making the files took much before; given back at once.
        bytes(range(256)) * (700 << 12)
    if this in (case(8), case(9)):
        # Too much only for one process that runs both.
        _KEPT.append(bytes(range(256)) * (150 << 12))
    return Ended(3, "", "error: no\n")


if __name__ == "__main__":
    # The sound files are made before the memory is measured.
    case(0)
    fuzz_worker.MEMORY_KB = fuzz_worker.peak_kb() + (220 << 10)
    fuzz_worker.run_case = run_case
    fuzz_worker.main()
