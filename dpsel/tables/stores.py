"""The files of a table in a store such as S3, found by path, folder or pattern."""

import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from dpsel.errors import InputError
from dpsel.tables.errors import store_reason
from dpsel.tables.identity import Identity
from dpsel.tables.places import Store
from dpsel.tables.sources import Keys, Source
from dpsel.tables.table_files import check_keys, folder_keys, is_hidden, is_table_file

Found = tuple[str, int]
"""The bucket and path of a file, and its size."""


class RemoteSource(Source):
    """One file in a store. Each reader has its own connection."""

    remote = True

    def __init__(self, store: Store, path: str, size: int, keys: Keys = ()) -> None:
        """Name the file at `path`, which begins with the bucket."""
        super().__init__(None, keys)
        self.store = store
        self.address = path
        self.label = PurePosixPath(path).name
        self.is_file = True
        self._size = size

    def size(self) -> int:
        """Return its size in bytes."""
        return self._size

    def open_random(self) -> Any:
        """Return a function that opens it for random access."""
        return self._raw

    def _raw(self) -> Any:
        with reaching(self.label):
            bucket = self.address.partition("/")[0]
            file = self.store.files(bucket).open_input_file(self.address)
            # A store sends the metadata of a file with its opening, so this costs no request.
            self.identity = self.identity or _identity(file)
            return file

    def _identity_now(self) -> Identity | None:
        with reaching(self.label), self._raw() as file:
            return _identity(file)


def _identity(file: Any) -> Identity:
    """Return the identity of an open file in a store: its tag, which changes with the content."""
    metadata = file.metadata()
    version = tuple(str(metadata.get(name)) for name in ("ETag", "Last-Modified"))
    return Identity(file.size(), version)


@contextmanager
def reaching(label: str) -> Iterator[None]:
    """Turn the errors of a store, which may quote anything, into one plain line."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{label}: no such file") from None
    except (OSError, ValueError) as error:
        why = store_reason(error) or "the store cannot be used"
        raise InputError(f"{label}: cannot be read: {why}") from None


def find_remote(store: Store, path: str) -> list[Source]:
    """Return the files at a path, in a folder or matching a pattern in a store, in order."""
    folder, path = path.endswith("/"), path.rstrip("/")
    label = f"s3://{path}"
    with reaching(label):
        if folder and not glob.has_magic(path):
            return _folder(store, path, label)
        if glob.has_magic(path):
            return _sources(store, _matching(store, path, label), [])
        files = store.files(path.partition("/")[0])
        info = files.get_file_info(path)
        if info.is_file:
            return _sources(store, [(path, info.size)], [])
        if info.type.name == "NotFound":
            bucket = files.get_file_info(path.partition("/")[0])
            missing = "bucket" if bucket.type.name == "NotFound" else "file or folder"
            raise InputError(f"{label}: no such {missing}")
        return _folder(store, path, label)


def _folder(store: Store, folder: str, label: str) -> list[Source]:
    """Return the Parquet files below a folder, with the columns from folder names."""
    below = [
        (PurePosixPath(path).relative_to(folder), (path, size))
        for path, size in _listed(store, folder, recursive=True)
    ]
    found = [
        (place, file)
        for place, file in below
        if is_table_file(place.name) and not any(map(is_hidden, place.parts[:-1]))
    ]
    if not found:
        raise InputError(f"{label}: this folder holds no Parquet file")
    found.sort(key=lambda pair: pair[0].parts)
    keys = [folder_keys(place) for place, _ in found]
    check_keys(keys, PurePosixPath(folder).name)
    return _sources(store, [file for _, file in found], keys)


def _matching(store: Store, pattern: str, label: str) -> list[Found]:
    """Return the files that match a pattern."""
    parts = pattern.split("/")
    plain = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    if plain == 0:
        raise InputError(f"{label}: the name of the bucket cannot be a pattern")
    listed = _listed(store, "/".join(parts[:plain]), recursive=len(parts) > plain + 1)
    found = [(path, size) for path, size in listed if _matches(path.split("/"), parts)]
    if not found:
        raise InputError(f"{label}: no file matches this pattern")
    return sorted(found, key=lambda file: file[0].split("/"))


def _matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a path matches a pattern, part by part; `**` matches any folders."""
    if not pattern or not path:
        return not pattern and not path
    if pattern[0] == "**":
        return any(_matches(path[skip:], pattern[1:]) for skip in range(len(path)))
    hidden = path[0].startswith(".") and not pattern[0].startswith(".")
    here = fnmatchcase(path[0], pattern[0]) and not (hidden and glob.has_magic(pattern[0]))
    return here and _matches(path[1:], pattern[1:])


def _listed(store: Store, folder: str, *, recursive: bool) -> list[Found]:
    """Return the files in a folder of a store."""
    from pyarrow import fs

    files = store.files(folder.partition("/")[0])
    selector = fs.FileSelector(folder, allow_not_found=True, recursive=recursive)
    return [(info.path, info.size) for info in files.get_file_info(selector) if info.is_file]


def _sources(store: Store, files: Sequence[Found], keys: Sequence[Keys]) -> list[Source]:
    """Return sources, each with its keys if there are any."""
    return [
        RemoteSource(store, path, size, keys[place] if keys else ())
        for place, (path, size) in enumerate(files)
    ]
