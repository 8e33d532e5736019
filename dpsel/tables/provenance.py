"""What was done to a table before it was selected from, kept in its metadata or beside it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
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
"""The centre and scale of a table that was turned round, and no cell of it changed."""


@frozen
class Provenance:
    """How `dpsel preprocess` made a table."""

    data_dependent: bool
    """Whether anything was read off the rows."""
    read_off_the_data: tuple[str, ...]
    """What was."""
    center: str
    scale: str
    clip: float | None
    missing: str
    positive: str | None
    classes: tuple[str, ...] | None
    """The labels behind the codes of the target, if they were public."""
    bounds: Mapping[str, Any] | None
    """The public bounds that were used."""
    medians: str | None
    """How closely medians were found, if any were."""
    columns: str
    """A digest of the names of all columns: with others it is another table."""
    version: str
    person: str | None = None
    """The column of persons that was passed on as it was, if one was."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"schema": SCHEMA_ID, **asdict(self)}

    def metadata(self) -> dict[bytes, bytes]:
        """Return it as the metadata of an Arrow schema."""
        return {KEY: json.dumps(self.to_dict()).encode()}

    @property
    def bounded(self) -> bool:
        """Return whether all cells are within [-1, 1]."""
        return self.scale != AS_IS

    @property
    def scope(self) -> Scope | None:
        """Return what the guarantee of a selection covers of how this table was made.

        None if it is as if nothing had been done: no cell was changed, and none decided anything.
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
    """Return the record of a table in several files, of which each has its own, or none.

    One that says that the data were read makes it the record of all, with whatever was read off
    any file. Otherwise one file without a record makes a table without, and so do two different
    records: neither tells what was done to the other's rows.
    """
    dependent = [record for record in records if record is not None and record.data_dependent]
    if dependent:
        read = dict.fromkeys(what for record in dependent for what in record.read_off_the_data)
        return replace(dependent[0], read_off_the_data=tuple(read))
    return records[0] if all(record == records[0] for record in records) else None


def recorded_columns(columns: tuple[Column, ...], made: Provenance | None) -> tuple[Column, ...]:
    """Return columns with the use that a record leaves them: all but the persons were scaled."""
    if made is None or not made.bounded:
        return columns
    # A table with other columns has some that were added later.
    rest = made.columns == names_digest([column.name for column in columns])
    return tuple(
        column._replace(use=Use.NAMED)
        if column.name == made.person
        else Column(column.name, column.kind, Use.SCALED if rest else column.use)
        for column in columns
    )


def from_metadata(
    metadata: Mapping[bytes, bytes] | None, names: Sequence[str]
) -> Provenance | None:
    """Return the provenance in the metadata of a table with these columns, if there is one."""
    found = (metadata or {}).get(KEY)
    return None if found is None else _of_columns(_parsed(found), names)


def sidecar(path: Path) -> Path:
    """Return the file beside a CSV that holds its provenance."""
    return path.with_name(path.name + ".dpsel.json")


def sidecar_text(provenance: Provenance, digest: str) -> str:
    """Return what is written beside a file: its provenance, and a digest of its bytes."""
    return json_text({**provenance.to_dict(), _DIGEST: digest})


def beside(path: Path | None, names: Sequence[str]) -> tuple[Provenance, str] | None:
    """Return the provenance beside a file, and the digest that the file must have."""
    if path is None:
        return None
    try:
        found = sidecar(path).read_bytes()
        digest = json.loads(found).get(_DIGEST)
    except (OSError, ValueError, RecursionError, AttributeError):
        return None
    provenance = _of_columns(_parsed(found), names)
    return None if provenance is None or not isinstance(digest, str) else (provenance, digest)


def _of_columns(provenance: Provenance | None, names: Sequence[str]) -> Provenance | None:
    """Return a provenance if it belongs to these columns.

    One that says that the data were read is believed in any case: it can only take away.
    """
    if provenance is None or provenance.data_dependent:
        return provenance
    return provenance if provenance.columns == names_digest(names) else None


def _parsed(text: bytes) -> Provenance | None:
    """Return a provenance of this schema; what is not one counts as none at all."""
    try:
        fields = json.loads(text)
        if fields.pop("schema") != SCHEMA_ID:
            return None
        fields["read_off_the_data"] = tuple(fields["read_off_the_data"])
        fields["classes"] = None if fields["classes"] is None else tuple(fields["classes"])
        fields.setdefault("person", None)  # Which older records do not have.
        found = Provenance(**{name: fields[name] for name in Provenance.__dataclass_fields__})
        json.dumps(found.to_dict(), ensure_ascii=False).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    texts = (*found.read_off_the_data, found.columns, found.version, found.person or "")
    sound = all(isinstance(value, str) for value in texts)
    consistent = found.data_dependent is bool(found.read_off_the_data)
    return found if sound and consistent else None
