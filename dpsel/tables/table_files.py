"""The files of a table: found by path, folder, glob, `-` or address; and the format they share."""

import glob
import os
import stat
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from urllib.parse import unquote_to_bytes

from dpsel.errors import InputError, OutputError
from dpsel.system.process import reason
from dpsel.tables.formats import (
    FORMATS,
    TEXT_ENDINGS,
    InputFormat,
    format_of,
    refuse_series_matrix,
)
from dpsel.tables.places import has_scheme, parse_place
from dpsel.tables.sources import Keys, Source

STDIN = "-"
_MISSING = b"__HIVE_DEFAULT_PARTITION__"
_PARQUET_ENDINGS = FORMATS[InputFormat.PARQUET].endings


def find_sources(table: str | Path) -> list[Source]:
    """Return the files at a path, in a folder or matching a glob pattern, in sorted order."""
    if str(table) == STDIN:
        return [Source(None)]
    if not str(table):
        raise InputError("TABLE: the name of the file is empty")
    if has_scheme(str(table)):
        place = parse_place(str(table))
        if not isinstance(place, str):
            from dpsel.tables.stores import find_remote

            return find_remote(*place)
        table = place
    path = Path(table)
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        return [_readable(found) for found in _matching(str(table))]
    except OSError as error:
        raise InputError(f"{path.name}: cannot be opened: {reason(error)}") from None
    return _folder_sources(path) if is_folder else [_readable(path)]


def _folder_sources(folder: Path) -> list[Source]:
    """Return the files of a folder, each with the columns from the names of its folders."""
    files = _table_files(folder)
    all_keys = [folder_keys(file.relative_to(folder)) for file in files]
    check_keys(all_keys, folder.name)
    return [_readable(file, keys) for file, keys in zip(files, all_keys, strict=True)]


def folder_keys(below: PurePath) -> Keys:
    """Return the columns in the folder names of a path relative to the table's own folder."""
    found = []
    for folder in below.parts[:-1]:
        name, sign, value = os.fsencode(folder).partition(b"=")
        if sign and name:
            found.append((_name(name), _value(value)))
    return tuple(found)


def is_hidden(folder: str) -> bool:
    """Return whether a folder does not belong to the table, such as `_temporary` or `.cache`."""
    return folder.startswith(".") or (folder.startswith("_") and "=" not in folder)


def check_keys(all_keys: Sequence[Keys], label: str) -> None:
    """Refuse a table whose files do not all have the same columns in their folder names."""
    names = [name for name, _ in all_keys[0]]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"{label}: '{repeated}' is named by two folders of one path")
    for keys in all_keys:
        other = [name for name, _ in keys]
        if sorted(other) != sorted(names):
            odd = sorted(set(names) ^ set(other)) or sorted(names)
            raise InputError(
                f"{label}: '{odd[0]}' is named by the folders of some files and not of others; "
                "every path must name the same columns"
            )


def _name(text: bytes) -> str:
    """Return the name of a folder's column."""
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the name of a folder's column is not text in UTF-8") from None


def _value(text: bytes) -> str | None:
    """Return the value of a folder's column, whose bytes need not be UTF-8."""
    # Imported here because most tables have no such folders.
    from dpsel.tables.cells import decoded

    return None if text == _MISSING else decoded(unquote_to_bytes(text))


def input_files(table: str | Path) -> list[Path]:
    """Return the files on this machine that would be read."""
    if has_scheme(str(table)) and not isinstance(parse_place(str(table)), str):
        return []
    return [source.path for source in find_sources(table) if source.path is not None]


def refuse_part(table: str | Path, output: str) -> None:
    """Refuse to write a file that would be part of the table the next time it is read.

    Raises:
        OutputError: If the table is a folder or a pattern that includes the output.
    """
    place = parse_place(str(table)) if has_scheme(str(table)) else str(table)
    if not isinstance(place, str) or not place or not output or STDIN in (place, output):
        return
    if os.path.isdir(place):
        path, folder = Path(os.path.realpath(output)), os.path.realpath(place)
        folders = path.relative_to(folder).parts[:-1] if path.is_relative_to(folder) else None
        own = folders is not None and not any(map(is_hidden, folders))
        own = own and is_table_file(path.name, _endings_in(Path(folder)))
    else:
        pattern = Path(os.path.abspath(place)).parts
        own = glob.has_magic(place) and _matches(Path(os.path.abspath(output)).parts, pattern)
    if own and not os.path.exists(output):
        raise OutputError(f"{output}: would be a file of the table; name one elsewhere")


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return whether the parts of a path match those of a glob pattern."""
    if not pattern:
        return not parts
    if pattern[0] == "**" and _matches(parts, pattern[1:]):
        return True
    further = pattern if pattern[0] == "**" else pattern[1:]
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], further)


def common_format(sources: list[Source], wanted: InputFormat | None) -> InputFormat:
    """Return the format of all sources, which must be the same for all."""
    found = wanted or _found_format(sources)
    if sources[0].remote and not FORMATS[found].typed:
        raise InputError(f"{sources[0].label}: a store must hold Parquet or Arrow files")
    return found


def _found_format(sources: list[Source]) -> InputFormat:
    """Return the format of all sources by their names, or else by their first bytes."""
    pipe = next((source for source in sources if not source.is_file), None)
    if pipe is not None:
        raise InputError(
            f"{pipe.label}: say which format it has with --input-format {'|'.join(InputFormat)}"
        )
    formats = {_format_of(source) for source in sources}
    if len(formats) > 1:
        raise InputError(f"the files have different formats: {', '.join(sorted(formats))}")
    return formats.pop()


def _format_of(source: Source) -> InputFormat:
    """Return the format of a file."""
    try:
        return format_of(source.label, source.first_bytes)
    except InputError:
        if source.is_series_matrix():
            refuse_series_matrix(source.label)
        raise


def _matching(pattern: str) -> list[Path]:
    """Return the files that match a glob pattern."""
    found = sorted(Path(name) for name in glob.glob(pattern, recursive=True))
    files = [file for file in found if file.is_file()]
    if not files:
        what = "no file matches this pattern" if glob.has_magic(pattern) else "no such file"
        raise InputError(f"{pattern}: {what}")
    return files


def _table_files(folder: Path) -> list[Path]:
    """Return the table's files in a folder and below: Parquet, or text if there is no Parquet."""
    files = _files_below(folder)
    found = [file for file in files if is_table_file(file.name)]
    found = found or [file for file in files if is_table_file(file.name, TEXT_ENDINGS)]
    if not found:
        raise InputError(f"{folder.name}: this folder holds no Parquet file, and no CSV")
    return sorted(found)


def _files_below(folder: Path) -> list[Path]:
    """Return the files in a folder and below, except those in hidden folders."""

    def fail(error: OSError) -> None:
        raise InputError(f"{folder.name}: cannot be opened: {reason(error)}") from None

    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not is_hidden(name)]
        found += [Path(place) / name for name in names]
    return found


def _endings_in(folder: Path) -> tuple[str, ...]:
    """Return the endings of the files that belong to the table in a folder."""
    parquet = any(is_table_file(file.name) for file in _files_below(folder))
    return _PARQUET_ENDINGS if parquet else TEXT_ENDINGS


def is_table_file(name: str, endings: tuple[str, ...] = _PARQUET_ENDINGS) -> bool:
    """Return whether a file in a folder belongs to the table, by its name."""
    return name.lower().endswith(endings) and not name.startswith((".", "_"))


def _readable(path: Path, keys: Keys = ()) -> Source:
    """Return a source, or refuse a file that cannot be opened before anything else is done."""
    if not os.access(path, os.R_OK):
        raise InputError(f"{path.name}: cannot be opened: permission denied")
    return Source(path, keys)
