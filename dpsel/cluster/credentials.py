"""TLS: certificates that Dask's configuration names, or new ones for one run."""

import os
import ssl
from pathlib import Path
from typing import Any

from dpsel.cluster.door import dask_config, load_distributed
from dpsel.core.errors import ClusterError

_WHERE = "see distributed.comm.tls in Dask's configuration, and docs/cluster.md"


def configured_credentials(*roles: str) -> Any:
    """Return the certificates of Dask's configuration for these roles; None if it has none."""
    distributed = load_distributed()
    config = dask_config()
    places = [f"distributed.comm.tls.{role}.cert" for role in roles]
    if not all(config.get(place) for place in ("distributed.comm.tls.ca-file", *places)):
        return None
    security = distributed.Security()
    try:
        for role in roles:
            security.get_connection_args(role)
    except (OSError, ssl.SSLError, ValueError):
        raise ClusterError(f"the certificates of the cluster cannot be used; {_WHERE}") from None
    return security


def client_credentials(address: str) -> Any:
    """Return what a client needs to connect to a scheduler."""
    security = configured_credentials("client")
    if security is None and address.startswith("tls://"):
        raise ClusterError(f"{address}: tls needs a CA file and a client's certificate; {_WHERE}")
    security = load_distributed().Security() if security is None else security
    if security.require_encryption and not address.startswith("tls://"):
        # Dask would refuse it too, but never get rid of the client that tried.
        raise ClusterError(f"{address}: Dask's configuration asks for encryption; use tls://")
    return security


def new_credentials(folder: Path) -> Any:
    """Return certificates that are valid for whoever can read `folder`, where they are kept."""
    try:
        made = load_distributed().Security.temporary()
    except ImportError:
        raise ClusterError(
            "certificates need the package cryptography: pip install 'dpsel[dask]'"
        ) from None
    certificate = _kept(folder / "cluster.crt", made.tls_client_cert)
    key = _kept(folder / "cluster.key", made.tls_client_key)
    both = {
        f"tls_{role}_{part}": place
        for role in ("client", "scheduler", "worker")
        for part, place in (("cert", certificate), ("key", key))
    }
    return load_distributed().Security(require_encryption=True, tls_ca_file=certificate, **both)


def _kept(place: Path, text: str) -> str:
    """Write a file that nobody else can read, and return its place."""
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return str(place)
