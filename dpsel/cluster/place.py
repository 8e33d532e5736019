"""The options that name a cluster, checked before anything is connected.

It imports little: every `select` imports it, and few use a cluster.
"""

import ipaddress
from urllib.parse import urlsplit

from dpsel.core.guarantee import check_at_least
from dpsel.errors import UsageError
from dpsel.options import option
from dpsel.records import frozen

SLURM = "slurm"
_SCHEMES = ("tcp", "tls")
_PANEL = "Cluster"


@frozen(kw_only=True)
class Place:
    """Where the work is done: here, or on a cluster."""

    cluster: str | None = option(
        "--cluster WHERE",
        "Run on a Dask cluster: tcp://HOST:PORT or tls://HOST:PORT of its scheduler, or slurm. "
        "Needs the dask extra.",
        None,
        shown="this machine",
        panel=_PANEL,
    )
    workers: int | None = option(
        "--workers N",
        "With slurm: how many workers to start. Otherwise: how many to wait for.",
        None,
        shown="wait for 1",
        panel=_PANEL,
    )

    def scheduler(self) -> "Scheduler | None":
        """Return the requested cluster, None if the work stays on this machine."""
        if self.cluster is None:
            if self.workers is not None:
                raise UsageError("--workers needs --cluster; on this machine it is --threads")
            return None
        if self.workers is not None:
            check_at_least(1, self.workers, "workers")
        if self.cluster == SLURM:
            if self.workers is None:
                raise UsageError("--cluster slurm needs --workers N: how many to start")
            return Scheduler(SLURM, self.workers)
        if not _is_address(self.cluster):
            raise UsageError(
                f"--cluster must be tcp://HOST:PORT, tls://HOST:PORT or {SLURM}, got {self.cluster}"
            )
        return Scheduler(self.cluster, 1 if self.workers is None else self.workers)


@frozen
class Scheduler:
    """A scheduler's address, or `slurm` for workers to start; and the number of workers."""

    address: str
    workers: int
    """With SLURM: how many to start. Otherwise: how many to wait for before work begins."""

    @property
    def starts_workers(self) -> bool:
        """Return whether the workers are started for this run and stopped at its end."""
        return self.address == SLURM

    @property
    def in_the_clear(self) -> bool:
        """Return whether data is sent unencrypted to another machine."""
        parts = urlsplit(self.address)
        return parts.scheme == "tcp" and not _is_loopback(parts.hostname or "")


def _is_address(text: str) -> bool:
    """Return whether a text is exactly the address of a scheduler."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return (
        parts.scheme in _SCHEMES
        and bool(parts.hostname)
        and port is not None
        and "@" not in parts.netloc
        and text == f"{parts.scheme}://{parts.netloc}"
    )


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine, judging by its name alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
