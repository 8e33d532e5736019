"""Run commands as whole processes, and measure their wall-clock time and peak memory."""

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CORES = len(os.sched_getaffinity(0))
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Measured:
    """All runs of a command, in the order of the turns."""

    times: tuple[float, ...]
    memory: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """The median time."""
        return statistics.median(self.times)

    @property
    def megabytes(self) -> float:
        """The median of the peak memory."""
        return statistics.median(self.memory)

    def relative_to(self, other: "Measured") -> float:
        """Return the median of the ratios of the same turn; of medians, if the turns differ.

        A machine that slows down for a minute slows down both commands of a turn.
        """
        if len(self.times) != len(other.times):
            return self.seconds / other.seconds
        return statistics.median(
            ours / theirs for ours, theirs in zip(self.times, other.times, strict=True)
        )


def installed(folder: Path, *peers: str) -> Path:
    """Return the Python of an environment with this package as it is now, and the peers."""
    return _environment(folder / "environment", ROOT, *peers)


def installed_commit(folder: Path, commit: str) -> Path:
    """Return the Python of an environment with this package as it was at a commit."""
    source = folder / f"source_{commit}"
    if not source.exists():
        source.mkdir()
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit], stdout=subprocess.PIPE, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)
    # scikit-learn is an extra of the package.
    return _environment(folder / f"environment_{commit}", source, "scikit-learn")


def _environment(place: Path, source: Path, *peers: str) -> Path:
    """Return the Python of an environment with the package in a folder, and the peers."""
    python = place / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--compile"]
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([*pip, str(source), *peers], check=True)
    # Installed again if an earlier run left the environment: the package may have changed.
    subprocess.run([*pip, "--force-reinstall", "--no-deps", str(source)], check=True)
    return python


# A small launcher starts the command and waits for it, because the peak memory of a process starts
# at that of its parent.
LAUNCH = """
import os, sys, time
start = time.perf_counter()
nowhere = os.open(os.devnull, os.O_RDWR)
quiet = [(os.POSIX_SPAWN_DUP2, nowhere, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2)]
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - start, usage.ru_maxrss / 1e3, os.waitstatus_to_exitcode(status))
"""


def run_once(command: Sequence[str]) -> Measured:
    """Run a command, and return its time and memory; its output is discarded."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LAUNCH, *command],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
    )
    seconds, megabytes, code = map(float, done.stdout.split())
    if code:
        raise SystemExit(f"exit code {code:.0f}: {' '.join(command)}")
    return Measured((seconds,), (megabytes,))


def compared(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, Measured]:
    """Return the runs of all commands, which take turns, after one warm-up run each.

    Every other turn goes backwards, so that no command always comes after the same one.
    """
    for command in commands.values():
        run_once(command)
    found: dict[str, list[Measured]] = {name: [] for name in commands}
    for turn in range(runs):
        for name in list(commands)[:: -1 if turn % 2 else 1]:
            found[name].append(run_once(commands[name]))
    return {
        name: Measured(
            tuple(run.seconds for run in all_runs), tuple(run.megabytes for run in all_runs)
        )
        for name, all_runs in found.items()
    }
