"""Which cluster is meant, checked before anything is connected.

Imports little: every `select` looks here, and few have a cluster.
"""

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
        "Work on a Dask cluster: the tcp://HOST:PORT or tls://HOST:PORT of its scheduler, or "
        "slurm. Needs the extra dask.",
        None,
        shown="this machine",
        panel=_PANEL,
    )
    workers: int | None = option(
        "--workers N",
        "With slurm: how many workers to start. Else: how many to wait for.",
        None,
        shown="1 to wait for",
        panel=_PANEL,
    )

    def scheduler(self) -> "Scheduler | None":
        """Return the cluster that was asked for, None if the work stays on this machine."""
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
    """A scheduler's address, or `slurm` for workers that are to be started; and how many."""

    address: str
    workers: int
    """Of SLURM: how many are asked for. Elsewhere: how many must be there before work begins."""

    @property
    def starts_workers(self) -> bool:
        """Return whether the workers are started for this run, and end with it."""
        return self.address == SLURM

    @property
    def in_the_clear(self) -> bool:
        """Return whether what is sent can be read on the way: no TLS, and to another machine."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.address)
        return parts.scheme == "tcp" and not _is_loopback(parts.hostname or "")


def _is_address(text: str) -> bool:
    """Return whether a text is the address of a scheduler, and nothing more."""
    from urllib.parse import urlsplit

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
    """Return whether a host is this machine, by its name alone."""
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
