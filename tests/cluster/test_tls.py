"""Encrypted connections: real certificates, and whoever has none stays outside."""

import datetime
import socket
import ssl
from pathlib import Path
from typing import Any

import dask
import pytest

from dpsel.cluster.connection import connected
from dpsel.cluster.place import Scheduler
from dpsel.errors import ClusterError
from tests.cli.conftest import Dpsel
from tests.cluster import work
from tests.cluster.conftest import Processes, ended, processes, started_dpsel

pytest.importorskip("cryptography", reason="certificates are made with it")


SHORT = {"distributed.comm.timeouts.connect": "2s"}


def make_certificates(folder: Path) -> dict[str, str]:
    """Make an authority, and a certificate that it signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder.mkdir()
    now = datetime.datetime.now(datetime.UTC)
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("authority", "member")}
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
    found = {}
    for name, key in keys.items():
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=name == "authority", path_length=None), True)
            .sign(keys["authority"], hashes.SHA256())
        )
        found[name] = str(folder / f"{name}.crt")
        Path(found[name]).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    found["key"] = str(folder / "member.key")
    pem = keys["member"].private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    Path(found["key"]).write_bytes(pem)
    return found


def configured(files: dict[str, str]) -> Any:
    """Let Dask's configuration name these certificates."""
    return dask.config.set(
        {
            "distributed.comm.tls.ca-file": files["authority"],
            "distributed.comm.tls.client.cert": files["member"],
            "distributed.comm.tls.client.key": files["key"],
        }
    )


def refused(own: Processes, address: str) -> str:
    with pytest.raises(ClusterError) as raised, connected(Scheduler(address, 1), print):
        pass
    return str(raised.value)


def test_only_members_of_an_encrypted_cluster_get_in(tmp_path: Path) -> None:
    ours, others = (make_certificates(tmp_path / name) for name in ("ours", "others"))
    files = {"ca-file": ours["authority"], "cert": ours["member"], "key": ours["key"]}
    options = [word for name, file in files.items() for word in (f"--tls-{name}", file)]
    with processes(tmp_path, 1, *options, "--protocol", "tls") as own:
        assert own.address.startswith("tls://")
        host, port = own.address.removeprefix("tls://").split(":")
        notes: list[str] = []
        with configured(ours), connected(Scheduler(own.address, 1), notes.append) as crew:
            assert dict(crew.run(work.added, 1, {"a": 1})) == {"a": 2}
        assert notes == []
        # What answers at that port speaks TLS, with our certificate.
        context = ssl.create_default_context(cafile=ours["authority"])
        context.check_hostname = False
        context.load_cert_chain(ours["member"], ours["key"])
        with (
            socket.create_connection((host, int(port)), timeout=5) as plain,
            context.wrap_socket(plain) as encrypted,
        ):
            subject: Any = (encrypted.getpeercert() or {})["subject"]
            assert subject[0][0][1] == "member"
        with dask.config.set(SHORT):
            unsaid = refused(own, own.address)
            assert unsaid.startswith(f"{own.address}: tls needs a CA file and a client's")
            unencrypted = refused(own, f"tcp://{host}:{port}")
            assert "cannot connect to the scheduler" in unencrypted
        with configured(others), dask.config.set(SHORT):
            assert refused(own, own.address).endswith(": the certificates do not fit")
        # We know theirs, and they do not know ours.
        with configured({**others, "authority": ours["authority"]}), dask.config.set(SHORT):
            assert refused(own, own.address).endswith(
                ": it does not accept this client's certificate, or it does not speak TLS"
            )
        with configured({**ours, "key": str(tmp_path / "nowhere")}):
            assert refused(own, own.address).startswith("the certificates of the cluster cannot be")


def test_encryption_that_is_required_and_missing_is_said_in_one_line(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,z,y\n1,0.5,1\n0,0.25,0\n")
    asked = (table, "--target", "y", "--k", 1, "--epsilon", 1)
    address = "tcp://127.0.0.1:9"
    required = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true"}
    code, out, err = ended(started_dpsel("select", *asked, "--cluster", address, **required))
    assert (code, out) == (6, "")
    assert err == f"error: {address}: Dask's configuration asks for encryption; use tls://\n"


def test_a_plain_connection_to_another_machine_is_noted() -> None:
    notes: list[str] = []
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}),
        pytest.raises(ClusterError, match="cannot connect"),
        connected(Scheduler("tcp://192.0.2.7:8786", 1), notes.append),
    ):
        pass
    assert notes == [
        "tcp://192.0.2.7:8786 is not encrypted: partial sums and data travel in the clear; "
        "see docs/guides/cluster.md"
    ]


def test_no_option_silences_that_a_connection_is_not_encrypted(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,z,y\n1,0.5,1\n0,0.25,0\n")
    asked = (table, "--target", "y", "--k", 1, "--epsilon", 1)
    options = ("--cluster", "tcp://192.0.2.7:8786", "--quiet")
    for command in (("select",), ("evaluate", "--trials", 1, "--truth", "sis")):
        with dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):
            result = dpsel(command[0], *asked, *command[1:], *options)
        assert (result.code, result.out) == (6, "")
        note, error, rest = result.err.split("\n")
        assert note.startswith("note: tcp://192.0.2.7:8786 is not encrypted: ")
        assert error.startswith("error: tcp://192.0.2.7:8786: cannot connect")
        assert rest == ""
