"""A small stand-in for S3 on loopback: it lists, and gives ranges of objects, or misbehaves."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_STAMP = "2026-01-02T03:04:05.000Z"
_HTTP_STAMP = "Fri, 02 Jan 2026 03:04:05 GMT"


class S3Server(ThreadingHTTPServer):
    """Objects in memory, by bucket and key; `hostile` names a way to fail."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, dict[str, bytes]] = {}
        self.hostile: str | None = None
        self.ended = threading.Event()
        self.page = 1000
        self.requests: list[str] = []
        self.sent = 0

    @property
    def query(self) -> str:
        """Return what leads a client to this server."""
        return f"scheme=http&endpoint_override=127.0.0.1:{self.server_port}&region=us-east-1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # In one go: a head and a body on their own are 40 ms apart.
    wbufsize = 1 << 20
    disable_nagle_algorithm = True
    server: S3Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        url = urlsplit(self.path)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        self.server.requests.append(f"{self.command} {self.path}")
        hostile = self.server.hostile
        if hostile == "hang":
            self.server.ended.wait()
            self.close_connection = True
            return
        if hostile == "denied":
            return self._error(403, "AccessDenied")
        if bucket not in self.server.objects:
            return self._error(404, "NoSuchBucket")
        objects = self.server.objects[bucket]
        if not key:
            return self._list(objects, bucket, parse_qs(url.query))
        if hostile == "objects denied":
            return self._error(403, "AccessDenied")
        if key not in objects:
            return self._error(404, "NoSuchKey")
        return self._object(objects[key])

    def _object(self, content: bytes) -> None:
        start, end = 0, len(content)
        wanted = self.headers.get("Range")
        if wanted is not None:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = int(first), min(end, int(last) + 1 if last else end)
        body = content[start:end]
        self.send_response(206 if wanted is not None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", _HTTP_STAMP)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        if wanted is not None:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.server.hostile == "truncated":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        if self.server.hostile == "damaged":
            body = bytes(len(body))
        self.server.sent += len(body)
        self.wfile.write(body)

    def _list(self, objects: dict[str, bytes], bucket: str, query: dict[str, list[str]]) -> None:
        prefix = query.get("prefix", [""])[0]
        delimiter = query.get("delimiter", [""])[0]
        after = query.get("continuation-token", [""])[0]
        most = min(self.server.page, int(query.get("max-keys", ["1000"])[0]))
        entries: dict[str, str] = {}
        for key in sorted(objects):
            if not key.startswith(prefix):
                continue
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            if cut >= 0:
                common = key[: cut + 1]
                text = f"<CommonPrefixes><Prefix>{escape(common)}</Prefix></CommonPrefixes>"
                entries[common] = text
            else:
                entries[key] = (
                    f"<Contents><Key>{escape(key)}</Key><LastModified>{_STAMP}</LastModified>"
                    f"<ETag>0</ETag><Size>{len(objects[key])}</Size></Contents>"
                )
        names = [name for name in entries if name > after]
        shown = names[:most]
        more = len(names) > most
        token = (
            f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>" if more else ""
        )
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>'
            f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>"
            f"<KeyCount>{len(shown)}</KeyCount><MaxKeys>{most}</MaxKeys>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}"
            f"{''.join(entries[name] for name in shown)}</ListBucketResult>"
        )
        self._send(200, body)

    def _error(self, status: int, code: str) -> None:
        secret = "<Message>SECRET-CELL-4711</Message>"
        self._send(status, f"<?xml version='1.0'?><Error><Code>{code}</Code>{secret}</Error>")

    def _send(self, status: int, body: str) -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextmanager
def running() -> Iterator[S3Server]:
    """Run a server for as long as it is needed."""
    server = S3Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
