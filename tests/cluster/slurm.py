"""A stand-in for SLURM on this machine: sbatch starts a job's script, scancel ends it."""

import os
import signal
import stat
import sys
from contextlib import suppress
from pathlib import Path

SBATCH = """#!{python}
import pathlib, shutil, subprocess, sys
jobs = pathlib.Path({jobs!r})
number = len(list(jobs.glob("*.sh"))) + 1
script = jobs / f"{{number}}.sh"
shutil.copy(sys.argv[1], script)
log = open(jobs / f"{{number}}.log", "wb")
done = subprocess.Popen(["bash", str(script)], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                        start_new_session=True)
(jobs / f"{{number}}.pid").write_text(str(done.pid))
print(f"Submitted batch job {{number}}")
"""
SCANCEL = """#!{python}
import os, pathlib, signal, sys
jobs = pathlib.Path({jobs!r})
for number in sys.argv[1:]:
    (jobs / f"{{number}}.cancelled").touch()
    try:
        os.killpg(int((jobs / f"{{number}}.pid").read_text()), signal.SIGTERM)
    except ProcessLookupError:
        pass
"""
REFUSING = """#!/bin/sh
echo "sbatch: error: invalid account or partition specified: nobody" >&2
exit 1
"""


class Slurm:
    """Its commands, its jobs, and where the jobs may write."""

    def __init__(self, folder: Path, *, refusing: bool = False) -> None:
        self.commands, self.jobs, self.spill, self.home = (
            folder / name for name in ("bin", "jobs", "spill", "home")
        )
        for place in (self.commands, self.jobs, self.spill, self.home):
            place.mkdir()
        # As permissive as a careless user's: what is closed was closed by us.
        self.spill.chmod(0o777)
        scripts = {"sbatch": REFUSING if refusing else SBATCH, "scancel": SCANCEL}
        for name, text in scripts.items():
            script = self.commands / name
            filled = (
                text
                if text is REFUSING
                else text.format(python=sys.executable, jobs=str(self.jobs))
            )
            script.write_text(filled)
            script.chmod(script.stat().st_mode | stat.S_IXUSR)

    def environment(self) -> dict[str, str]:
        """Return what a user of this SLURM has in the environment and in Dask's configuration."""
        return {
            "PATH": f"{self.commands}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "TMPDIR": str(self.spill),
            "DASK_JOBQUEUE__SLURM__SCHEDULER_OPTIONS": '{"host": "127.0.0.1"}',
            "DASK_JOBQUEUE__SLURM__WORKER_EXTRA_ARGS": '["--host", "127.0.0.1"]',
            "DASK_JOBQUEUE__SLURM__ACCOUNT": "genomics",
            "DASK_JOBQUEUE__SLURM__MEMORY": "2GiB",
        }

    def job_numbers(self, ending: str) -> list[int]:
        return sorted(int(path.stem) for path in self.jobs.glob(f"*.{ending}"))

    def running(self) -> list[int]:
        """Return the jobs of which any process is left."""
        found = []
        for number in self.job_numbers("pid"):
            with suppress(ProcessLookupError, ValueError):
                os.killpg(int((self.jobs / f"{number}.pid").read_text()), 0)
                found.append(number)
        return found

    def end(self) -> None:
        for number in self.running():
            with suppress(ProcessLookupError):
                os.killpg(int((self.jobs / f"{number}.pid").read_text()), signal.SIGKILL)
