"""How `dpsel preprocess` made a table: a record in its metadata, or in a file beside it."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dpsel.core.guarantee import Scope
from dpsel.records import frozen
from dpsel.system.text import json_text
from dpsel.tables.columns import Column, Use

KEY = b"dpsel.provenance"
SCHEMA_ID = "dpsel.provenance/1"
_DIGEST = "sha256_of_the_table"
AS_IS = "as-is"
"""The center and scale of a table that was transposed without changing a cell."""


@frozen
class Provenance:
    """How `dpsel preprocess` made a table."""

    data_dependent: bool
    """Whether anything was read off the rows."""
    read_off_the_data: tuple[str, ...]
    """What was read off the rows."""
    center: str
    scale: str
    clip: float | None
    missing: str
    positive: str | None
    classes: tuple[str, ...] | None
    """The labels that the codes of the target mean, if they were public."""
    bounds: Mapping[str, Any] | None
    """The public bounds that were used."""
    medians: str | None
    """How exact the medians are, if any were computed."""
    columns: str
    """A digest of the names of all columns: a table with other names is another table."""
    version: str
    person: str | None = None
    """The column of persons that was passed on unchanged, if any."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values."""
        return {"schema": SCHEMA_ID, **asdict(self)}

    def metadata(self) -> dict[bytes, bytes]:
        """Return the record as metadata of an Arrow schema."""
        return {KEY: json.dumps(self.to_dict()).encode()}

    @property
    def bounded(self) -> bool:
        """Return whether all cells are within [-1, 1]."""
        return self.scale != AS_IS

    @property
    def scope(self) -> Scope | None:
        """Return which steps of making this table the guarantee of a selection covers.

        None if there is nothing to cover: no cell was changed, and no cell decided anything.
        """
        if self.data_dependent:
            return Scope(
                end_to_end=False,
                why="selection only: `dpsel preprocess` read "
                f"{', '.join(self.read_off_the_data)} off the data",
            )
        if not self.bounded:
            return None
        return Scope(
            end_to_end=True,
            why="the table was bounded by `dpsel preprocess` with public inputs only; "
            "bounding, scoring and selection are covered",
        )


def names_digest(names: Sequence[str]) -> str:
    """Return a digest of column names, in their order."""
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()


def combined(records: Sequence[Provenance | None]) -> Provenance | None:
    """Return the record of a table in several files, each with its own record or none.

    A data-dependent record becomes the record of all files, with whatever was read off any of them.
    Otherwise the table has no record if any file has none, or if two differ: neither says what was
    done to the other's rows.
    """
    dependent = [record for record in records if record is not None and record.data_dependent]
    if dependent:
        read = dict.fromkeys(what for record in dependent for what in record.read_off_the_data)
        return replace(dependent[0], read_off_the_data=tuple(read))
    return records[0] if all(record == records[0] for record in records) else None


def recorded_columns(
    columns: tuple[Column, ...],
    made: Provenance | None,
    fractions: Callable[[], Iterable[str]] | None = None,
) -> tuple[Column, ...]:
    """Return columns with the use that a record allows: all except the persons were scaled.

    If the record is of a table with other names, columns were left out, renamed or added later. It
    is not known which, but only the columns that `fractions` returns can have been scaled, as
    whatever is scaled is a fraction; None if columns have no types.
    """
    if made is None or not made.bounded:
        return columns
    names = [column.name for column in columns]
    same = made.columns == names_digest(names)
    scaled = frozenset(names if same or fractions is None else fractions())

    def use(column: Column) -> Use:
        if column.name == made.person:
            return Use.NAMED if same or made.data_dependent else column.use
        if column.name not in scaled:
            return column.use
        if same:
            return Use.SCALED
        return Use.UNSURE if column.use is Use.ANY else column.use

    return tuple(column._replace(use=use(column)) for column in columns)


def record_in(metadata: Mapping[bytes, bytes] | None) -> Provenance | None:
    """Return the provenance in the metadata of a table, whether it has these columns or others."""
    found = (metadata or {}).get(KEY)
    return None if found is None else _parsed(found)


def from_metadata(
    metadata: Mapping[bytes, bytes] | None, names: Sequence[str]
) -> Provenance | None:
    """Return the provenance in the metadata of a table with these columns, if there is one."""
    return _of_columns(record_in(metadata), names)


def sidecar(path: Path) -> Path:
    """Return the file beside a CSV that holds its provenance."""
    return path.with_name(path.name + ".dpsel.json")


def sidecar_text(provenance: Provenance, digest: str) -> str:
    """Return the text to write beside a file: its provenance, and a digest of its bytes."""
    return json_text({**provenance.to_dict(), _DIGEST: digest})


def sidecars(path: Path | None) -> list[Path]:
    """Return the files beside a table that may hold its provenance, and exist.

    A symbolic link may have none: then that of the file it leads to counts.
    """
    places = [] if path is None else [sidecar(path), sidecar(Path(os.path.realpath(path)))]
    return [place for place in dict.fromkeys(places) if os.path.exists(place)]


Beside = tuple[Provenance, str]
"""The provenance in a file beside a table, and the digest that the table must have."""


def records_beside(path: Path | None) -> list[Beside]:
    """Return the provenances in the files beside a table, whatever columns it has."""
    return [record for record in map(_recorded, sidecars(path)) if record is not None]


def believed(records: Sequence[Beside], names: Sequence[str]) -> Beside | None:
    """Return the record that counts for a table with these columns, if there is one.

    Of two, one that takes a guarantee away counts.
    """
    found = [record for record in records if _of_columns(record[0], names) is not None]
    return next((record for record in found if record[0].data_dependent), next(iter(found), None))


def _recorded(place: Path) -> Beside | None:
    """Return the provenance in a file, and the digest that its table must have."""
    try:
        found = place.read_bytes()
        digest = json.loads(found).get(_DIGEST)
    except (OSError, ValueError, RecursionError, AttributeError):
        return None
    provenance = _parsed(found)
    return None if provenance is None or not isinstance(digest, str) else (provenance, digest)


def _of_columns(provenance: Provenance | None, names: Sequence[str]) -> Provenance | None:
    """Return a provenance if it belongs to these columns.

    A data-dependent one is believed in any case: it can only take a guarantee away.
    """
    if provenance is None or provenance.data_dependent:
        return provenance
    return provenance if provenance.columns == names_digest(names) else None


def _parsed(text: bytes) -> Provenance | None:
    """Return a provenance of this schema, None for anything else."""
    try:
        fields = json.loads(text)
        if fields.pop("schema") != SCHEMA_ID:
            return None
        fields["read_off_the_data"] = tuple(fields["read_off_the_data"])
        fields["classes"] = None if fields["classes"] is None else tuple(fields["classes"])
        fields.setdefault("person", None)  # Older records lack it.
        found = Provenance(**{name: fields[name] for name in Provenance.__dataclass_fields__})
        json.dumps(found.to_dict(), ensure_ascii=False).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    texts = (*found.read_off_the_data, found.columns, found.version, found.person or "")
    sound = all(isinstance(value, str) for value in texts)
    consistent = found.data_dependent is bool(found.read_off_the_data)
    return found if sound and consistent else None
