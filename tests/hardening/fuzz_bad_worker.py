"""A worker in which one case hangs and one ends the process, to see whether that is noticed."""

import os
import signal
import time

from tests.hardening import fuzz_worker
from tests.hardening.fuzz_cases import Case, case


def run_case(this: Case) -> tuple[int, str, str]:
    """Behave badly in two cases."""
    if this == case(2):
        time.sleep(60)
    if this == case(4):
        os.kill(os.getpid(), signal.SIGSEGV)
    return 3, "", "error: no\n"


if __name__ == "__main__":
    fuzz_worker.SECONDS_A_CASE = 1
    fuzz_worker.run_case = run_case
    fuzz_worker.main()
