"""Neighboring tables as files."""

from pathlib import Path

from dpsel.core.arrays import FloatArray
from dpsel.core.audit.file_pairs import FilePair
from dpsel.core.privacy import Unit
from dpsel.io.frames import pl

TARGET = "y"
PERSON = "person"


def feature_names(count: int) -> list[str]:
    """Return names of features."""
    return [f"x{number}" for number in range(count)]


def write_pair(pair: FilePair, unit: Unit, folder: Path) -> tuple[str, str]:
    """Write both tables, and return their places."""
    first, second = (
        _write(cells, len(pair.others), pair, unit, folder / f"{pair.name}-{which}")
        for which, cells in enumerate(pair.tables())
    )
    return first, second


def _write(cells: FloatArray, others: int, pair: FilePair, unit: Unit, place: Path) -> str:
    """Write one table, with a column of persons where it is they who are protected."""
    names = [*feature_names(cells.shape[1] - 1), TARGET]
    frame = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.Float64))
    if unit.name == "person":
        # All rows of the unit are one person's; every other row is somebody else's.
        persons = [min(number, others) for number in range(len(cells))]
        frame = frame.with_columns(pl.Series(PERSON, persons, dtype=pl.Int64))
    if pair.text:
        path = place.with_suffix(".csv")
        frame.fill_nan(None).write_csv(path)
    else:
        path = place.with_suffix(".parquet")
        frame.write_parquet(path)
    return str(path)
