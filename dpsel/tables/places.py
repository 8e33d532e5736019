"""Addresses of tables: paths, and places in a store such as s3://bucket/folder."""

import os
import re
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from dpsel.errors import UsageError
from dpsel.records import frozen

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_PARAMETERS = {
    "region": re.compile(r"[A-Za-z0-9-]{1,64}"),
    "scheme": re.compile(r"https?"),
    "endpoint_override": re.compile(r"[A-Za-z0-9._-]+(:[0-9]+)?|\[[0-9a-fA-F:]+\](:[0-9]+)?"),
}
_CONNECT_SECONDS = 10
_SILENT_SECONDS = 30
_ATTEMPTS = 3


@frozen
class Store:
    """Where buckets are. Nothing here is secret: credentials come from the environment."""

    region: str | None = None
    scheme: str | None = None
    endpoint: str | None = None

    def files(self, bucket: str) -> Any:
        """Return pyarrow's file system for the store; every request has a timeout."""
        return _files(self, None if self.endpoint is not None else bucket)


@lru_cache
def _files(store: Store, bucket: str | None) -> Any:
    """Return one client, shared by all threads of this process."""
    from pyarrow import fs

    region = store.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None and bucket is not None:
        region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(
        region=region,
        scheme=store.scheme or "https",
        endpoint_override=store.endpoint,
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_SILENT_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )


def has_scheme(place: str) -> bool:
    """Return whether a place begins with a scheme, such as s3://."""
    return _SCHEME.match(place) is not None


def public_place(place: str) -> str:
    """Return a place without anything that might be secret."""
    found = _SCHEME.match(place)
    if found is None or found[1].lower() == "file":
        return place
    path, _, query = place[found.end() :].partition("?")
    bucket, slash, rest = path.partition("/")
    kept = "&".join(f"{name}={value}" for name, value in _known(query))
    return f"{found[0]}{bucket.rpartition('@')[2]}{slash}{rest}" + (f"?{kept}" if kept else "")


def parse_place(place: str) -> tuple[Store, str] | str:
    """Return the store, with bucket and path in it, or the path of a file on this machine."""
    found = _SCHEME.match(place)
    assert found is not None
    scheme, rest = found[1].lower(), place[found.end() :]
    if scheme == "file":
        path = unquote(rest.removeprefix("localhost"))
        if not path.startswith("/"):
            raise UsageError("file:// needs a full path after it, as in file:///data/t.parquet")
        return path
    if scheme != "s3":
        raise UsageError(f"tables can be read from s3:// and file://, not from {scheme}://")
    path, sign, query = rest.partition("?")
    bucket = path.partition("/")[0]
    if "@" in bucket or ":" in bucket:
        raise UsageError(
            "s3://: credentials do not belong in the name of a table; put them into the "
            "environment (AWS_ACCESS_KEY_ID and so on)"
        )
    if not bucket:
        raise UsageError("s3:// needs a bucket after it, as in s3://bucket/folder")
    known = dict(_known(query))
    if sign and len(known) != len(query.split("&")):
        raise UsageError(
            "s3://: what comes after ? may be region=, scheme=http or https, and "
            "endpoint_override=host:port, with & between them; patterns are made with * and []"
        )
    store = Store(known.get("region"), known.get("scheme"), known.get("endpoint_override"))
    return store, re.sub("/+", "/", path)


def _known(query: str) -> list[tuple[str, str]]:
    """Return the parameters of a query that are known, well-formed and not secret."""
    return [
        (name, value)
        for name, value in parse_qsl(query)
        if name in _PARAMETERS and _PARAMETERS[name].fullmatch(value)
    ]
