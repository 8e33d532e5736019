"""The folder that an experiment writes to."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpsel.core.errors import OutputError
from dpsel.io.frames import pl
from dpsel.io.journal import Journal
from dpsel.io.output import Output
from dpsel.io.streams import reason


class ResultsFolder:
    """Writes whole files, and keeps the journals of unfinished experiments."""

    def __init__(self, place: Path, *, resume: bool, force: bool) -> None:
        """Make the folder if need be."""
        self.place = place
        self._resume, self._force = resume, force
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{place}: cannot be made: {reason(error)}") from None

    def check_free(self, names: Sequence[str]) -> None:
        """Refuse names that are taken, before hours of work and not after."""
        for name in names:
            with Output(str(self.place / name), force=self._force):
                pass

    def journal(self, name: str, about: Mapping[str, Any]) -> Journal:
        """Return the journal of an experiment."""
        place = self.place / f"{name}.unfinished"
        return Journal(place, about, resume=self._resume, force=self._force)

    def write(self, name: str, content: bytes) -> None:
        """Write one file, whole; what it says of a table is not private."""
        with Output(str(self.place / name), force=self._force, owner_only=True) as place:
            place.write(content)

    def write_rows(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows as CSV."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        self.write(name, text.getvalue().encode())

    def write_frame(self, name: str, frame: pl.DataFrame) -> None:
        """Write a table as CSV, with six digits, which is more than a hundred trials can tell."""
        self.write(name, frame.write_csv(float_precision=6).encode())
