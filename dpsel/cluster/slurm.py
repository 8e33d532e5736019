"""Workers as SLURM jobs, started for one run and cancelled at its end."""

import shlex
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpsel.cluster.dask import (
    configured_credentials,
    dask_config,
    dask_missing,
    load_distributed,
    new_credentials,
    no_collections,
)
from dpsel.errors import ClusterError, UsageError
from dpsel.system.process import reason

_CORES = 1
_MEMORY = "4GiB"
_NOWHERE = "127.0.0.1:0"
# The shell variable with the spill folder, which mktemp creates on the worker's machine. Nobody
# else can read the folder, and it is removed with the job.
_SPILL = "DPSEL_SPILL"


@dataclass
class Started:
    """A scheduler in this process, and jobs that connect to it."""

    address: str
    security: Any
    refusals: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Raise an error if SLURM refused a job."""
        if self.refusals:
            raise ClusterError(f"slurm: sbatch refused the job: {self.refusals[0]}")


def load_jobqueue() -> Any:
    """Return the module `dask_jobqueue`, or raise an error that says how to install it.

    On import it makes Ctrl-C end the process at once, even if jobs are left. That is undone here.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        import dask_jobqueue
    except ImportError:
        raise dask_missing() from None
    except ValueError:
        raise UsageError("slurm can only be used from the main thread of a program") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)
    found: Any = dask_jobqueue
    return found


@contextmanager
def slurm_cluster(workers: int) -> Iterator[Started]:
    """Request workers from SLURM, with the settings `jobqueue.slurm` of Dask's configuration.

    Connections are encrypted, there is no dashboard unless the configuration asks for one, and
    nobody else can read the spill folders.
    """
    jobqueue, config = load_jobqueue(), dask_config()
    for command in ("sbatch", "scancel"):
        if shutil.which(command) is None:
            raise ClusterError(f"slurm: {command} is not on the PATH; run it where jobs are sent")
    with ExitStack() as stack:
        security = configured_credentials("client", "scheduler", "worker")
        if security is None:
            place = _setting("shared-temp-directory")
            security = new_credentials(stack.enter_context(_shared_folder(place)))
        # For the files of the scheduler and its job scripts on this machine.
        own = stack.enter_context(tempfile.TemporaryDirectory(prefix="dpsel-"))
        settings: dict[str, Any] = {"temporary-directory": own}
        if not _wants_dashboard():
            settings["distributed.scheduler.http.routes"] = []
        stack.enter_context(config.set(settings))
        refusals: list[str] = []
        with no_collections():
            cluster = _start(jobqueue, security, refusals)
        stack.callback(_stop, cluster)
        cluster.scale(workers)
        yield Started(cluster.scheduler_address, security, refusals)


def _start(jobqueue: Any, security: Any, refusals: list[str]) -> Any:
    """Start a scheduler that can submit jobs."""
    options = dict(_setting("scheduler-options") or {})
    if not _wants_dashboard():
        options |= {"dashboard": False, "dashboard_address": _NOWHERE}
    logs = [] if _setting("log-directory") else ["--output=/dev/null", "--error=/dev/null"]
    try:
        return jobqueue.SLURMCluster(
            job_cls=_noting_job(jobqueue, refusals),
            cores=_setting("cores") or _CORES,
            memory=_setting("memory") or _MEMORY,
            processes=_setting("processes") or 1,
            security=security,
            protocol="tls://",
            silence_logs=False,
            scheduler_options=options,
            local_directory=f'"${_SPILL}"',
            job_script_prologue=[
                *(_setting("job-script-prologue") or []),
                *_prologue(_setting("local-directory") or "${TMPDIR:-/tmp}"),
            ],
            worker_extra_args=[
                *(_setting("worker-extra-args") or []),
                *("--no-dashboard", "--dashboard-address", _NOWHERE),
            ],
            job_extra_directives=[*(_setting("job-extra-directives") or []), *logs],
        )
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        raise ClusterError(f"slurm: the scheduler cannot be started: {_one_line(error)}") from None


def _setting(name: str) -> Any:
    """Return one of Dask's settings for SLURM, whose name may have - or _; None if not set."""
    return dask_config().get(f"jobqueue.slurm.{name}", None)


def _prologue(base: str) -> list[str]:
    """Return the lines of a job before its worker: they make a private, temporary spill folder."""
    return [
        "umask 077",
        f'{_SPILL}=$(mktemp -d "{base}/dpsel-spill-XXXXXXXX") || exit 1',
        f"trap 'rm -rf \"${_SPILL}\"' EXIT",
        "export DASK_DISTRIBUTED__WORKER__HTTP__ROUTES='[]'",
    ]


def _wants_dashboard() -> bool:
    """Return whether the configuration asks for a dashboard."""
    return bool({"dashboard", "dashboard_address"} & set(_setting("scheduler-options") or {}))


@contextmanager
def _shared_folder(place: str | None) -> Iterator[Path]:
    """Make a folder that workers can read and other users cannot; remove it at the end."""
    try:
        base = Path.home() if place is None else Path(place).expanduser()
        folder = tempfile.TemporaryDirectory(prefix=".dpsel-cluster-", dir=base)
    except (OSError, RuntimeError) as error:
        why = reason(error) if isinstance(error, OSError) else "no home"
        raise ClusterError(
            f"slurm: no folder for certificates: {why}; "
            "set jobqueue.slurm.shared-temp-directory in Dask's configuration"
        ) from None
    with folder as made:
        if shlex.quote(made) != made:
            raise ClusterError(
                "slurm: the folder for certificates has a name that a shell would misread; "
                "set jobqueue.slurm.shared-temp-directory in Dask's configuration"
            )
        yield Path(made)


def _noting_job(jobqueue: Any, refusals: list[str]) -> Any:
    """Return a class of SLURM jobs that records why a job was refused: Dask only logs that.

    Its jobs also say that they are closed. Dask's do not, and a cluster with a refused job then
    stops closing halfway.
    """
    kind: Any = jobqueue.slurm.SLURMJob
    closed = load_distributed().Status.closed

    class NotingJob(kind):  # type: ignore[misc]
        async def start(self) -> None:
            try:
                await super().start()
            except Exception as error:
                refusals.append(_one_line(error))
                raise

        async def close(self) -> None:
            await super().close()
            self.status = closed

    return NotingJob


def _one_line(error: Exception) -> str:
    """Return the last line of an error's message, or its type."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def _stop(cluster: Any) -> None:
    """Cancel the jobs and close the scheduler."""
    with suppress(Exception):
        cluster.close(timeout=30)
