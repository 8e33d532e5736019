"""Runs a command in a process of its own, and measures the memory that it took."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.cli.conftest import ROOT

# So much may be held at any time, whatever a file claims or expands to.
BOUND_KB = 1_500_000


@dataclass(frozen=True)
class Measured:
    """What a command left behind, and the most memory it had."""

    code: int
    out: bytes
    err: bytes
    peak_kb: int


# The largest memory of a process begins with that of the one that started it, and a process that
# runs tests may be large: this one is small.
_LAUNCH = """
import os, sys
report = int(sys.argv[1])
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
os.write(report, b"%d %d" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))
"""


def measured(*arguments: object, content: Iterator[bytes] | None = None) -> Measured:
    """Run `dpsel`; `content` is fed to it as it reads, never held."""
    reading, report = os.pipe()
    launch = [sys.executable, "-I", "-S", "-c", _LAUNCH, str(report)]
    process = subprocess.Popen(
        [*launch, sys.executable, "-m", "dpsel", *map(str, arguments)],
        stdin=subprocess.DEVNULL if content is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        bufsize=0,
        pass_fds=[report],
    )
    os.close(report)
    assert process.stdout is not None
    assert process.stderr is not None
    feeder = threading.Thread(target=_feed, args=(process, content or iter(())))
    feeder.start()
    # It writes little, and at its end: no pipe fills up.
    out, err = process.stdout.read(), process.stderr.read()
    with open(reading, "rb") as ended:
        code, peak = map(int, ended.read().split())
    process.wait()
    feeder.join()
    process.stdout.close()
    process.stderr.close()
    return Measured(code, out, err, peak)


def _feed(process: subprocess.Popen[bytes], content: Iterator[bytes]) -> None:
    """Write to a process for as long as it reads."""
    if process.stdin is None:
        return
    with suppress(BrokenPipeError):
        for piece in content:
            process.stdin.write(piece)
    process.stdin.close()


def check(found: Measured, path: Path | str) -> None:
    """Fail unless a command ended well, or with one plain line, and within bounds."""
    assert found.peak_kb < BOUND_KB, f"{path} took {found.peak_kb} kB"
    assert found.code in (0, 3), (found.code, found.err)
    if found.code == 3:
        assert found.err.startswith(b"error: ")
        assert found.err.count(b"\n") == 1
