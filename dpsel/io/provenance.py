"""What was done to a table before it was selected from, kept in its metadata or beside it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpsel.core.privacy import Scope
from dpsel.io.text import json_text

KEY = b"dpsel.provenance"
SCHEMA_ID = "dpsel.provenance/1"
_SIZE = "bytes_of_the_table"


@dataclass(frozen=True)
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
    """How medians were found, if any were."""
    version: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"schema": SCHEMA_ID, **asdict(self)}

    def metadata(self) -> dict[bytes, bytes]:
        """Return it as the metadata of an Arrow schema."""
        return {KEY: json.dumps(self.to_dict(), ensure_ascii=False).encode()}

    @property
    def scope(self) -> Scope:
        """Return what the guarantee of a selection from this table covers."""
        if self.data_dependent:
            return Scope(
                end_to_end=False,
                why="selection only: `dpsel preprocess` read "
                f"{', '.join(self.read_off_the_data)} off the data",
            )
        return Scope(
            end_to_end=True,
            why="the table was bounded by `dpsel preprocess` with public inputs only; "
            "bounding, scoring and selection are covered",
        )


def from_metadata(metadata: Mapping[bytes, bytes] | None) -> Provenance | None:
    """Return the provenance in the metadata of an Arrow schema, None if there is none."""
    found = (metadata or {}).get(KEY)
    return None if found is None else _parsed(found)


def sidecar(path: Path) -> Path:
    """Return the file beside a CSV that holds its provenance."""
    return path.with_name(path.name + ".dpsel.json")


def beside(path: Path | None) -> Provenance | None:
    """Return the provenance beside a file, None if there is none, or the file has changed since."""
    if path is None:
        return None
    try:
        found = sidecar(path).read_bytes()
        size = path.stat().st_size
    except OSError:
        return None
    return _parsed(found) if f'"{_SIZE}": {size}'.encode() in found else None


def sidecar_text(provenance: Provenance, path: Path) -> str:
    """Return what is written beside a file: its provenance, and its size to recognise it by."""
    return json_text({**provenance.to_dict(), _SIZE: path.stat().st_size})


def _parsed(text: bytes) -> Provenance | None:
    """Return a provenance of this schema; what is not one counts as none at all."""
    try:
        fields = json.loads(text)
        if fields.pop("schema") != SCHEMA_ID:
            return None
        fields["read_off_the_data"] = tuple(fields["read_off_the_data"])
        fields["classes"] = None if fields["classes"] is None else tuple(fields["classes"])
        return Provenance(**{name: fields[name] for name in Provenance.__dataclass_fields__})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
