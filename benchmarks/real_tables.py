"""Real tables for the benchmarks: microarrays, and the tables of scikit-learn and statsmodels.

Nothing is downloaded. The target column and the number of features to select (5, or half of them if
there are fewer than 10) were fixed before anything was measured on the groups NEW and SMALL.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpsel.core.arrays import FloatArray, IntArray

ARRAYS = "microarrays"
KNOWN = "bundled tables on which the recipe was chosen"
NEW = "bundled tables that were not looked at before"
SMALL = "the same, with fewer than 50 rows"

# Name, target and columns to leave out; all other numeric columns are features.
_STATSMODELS: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
    KNOWN: [("anes96", "PID", ()), ("fair", "affairs", ()), ("randhie", "mdvis", ())],
    NEW: [
        ("star98", "ABOVE", ("NABOVE", "NBELOW")),
        ("modechoice", "choice", ("individual",)),
        ("macrodata", "unemp", ()),
        ("statecrime", "murder", ()),
        ("ccard", "AVGEXP", ()),
        ("elnino", "DEC", ()),
        ("danish_data", "lrm", ()),
    ],
    SMALL: [
        ("scotland", "YES", ()),
        ("copper", "WORLDCONSUMPTION", ()),
        ("longley", "TOTEMP", ()),
        ("committee", "BILLS104", ()),
        ("cpunish", "EXECUTIONS", ()),
        ("spector", "GRADE", ()),
        ("stackloss", "STACKLOSS", ()),
    ],
}
_TWO_CLASSES = {"modechoice", "spector"}


@dataclass(frozen=True, eq=False)
class RealTable:
    """Features and target of a table: `y` has classes 0, 1, 2, ..., or numbers."""

    name: str
    group: str
    X: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)
    classes: int
    """The number of classes of the target; 0 if it is numeric."""

    @property
    def k(self) -> int:
        """Return how many features to select."""
        return min(5, int(self.X.shape[1]) // 2)

    def described(self) -> str:
        """Return the name and the size of the table."""
        kind = f"{self.classes} classes" if self.classes else "number"
        return f"{self.name} ({len(self.y)} x {self.X.shape[1]}, {kind}, k = {self.k})"

    def rows(self, chosen: IntArray) -> "RealTable":
        """Return a table with some of the rows."""
        return RealTable(self.name, self.group, self.X[chosen], self.y[chosen], self.classes)

    def one_against_rest(self) -> "list[RealTable]":
        """Return one two-class table per class; the table itself if it has no more than two."""
        if self.classes <= 2:
            return [self]
        return [
            RealTable(f"{self.name} {label}", self.group, self.X, np.equal(self.y, label) * 1.0, 2)
            for label in range(self.classes)
        ]


def folder_tables(folder: Path) -> Iterator[RealTable]:
    """Yield the Parquet tables of a folder, with labels in `y`."""
    for path in sorted(folder.glob("*.parquet")):
        frame = pl.read_parquet(path)
        labels, codes = np.unique(frame["y"].cast(pl.String).to_numpy(), return_inverse=True)
        X = frame.drop("y").to_numpy().astype(np.float64)
        yield RealTable(path.stem, ARRAYS, X, codes.astype(np.float64), len(labels))


def sklearn_tables() -> Iterator[RealTable]:
    """Yield the tables that come with scikit-learn."""
    from sklearn import datasets

    def table(name: str, group: str, load: Callable[..., Any], classes: int) -> RealTable:
        X, y = load(return_X_y=True)
        y = y[:, 0] if y.ndim == 2 else y
        return RealTable(name, group, X.astype(np.float64), y.astype(np.float64), classes)

    yield table("breast_cancer", KNOWN, datasets.load_breast_cancer, 2)
    yield table("wine", KNOWN, datasets.load_wine, 3)
    yield table("digits", KNOWN, datasets.load_digits, 10)
    yield table("diabetes", KNOWN, datasets.load_diabetes, 0)
    yield table("iris", NEW, datasets.load_iris, 3)
    yield table("linnerud", SMALL, datasets.load_linnerud, 0)


def statsmodels_tables() -> Iterator[RealTable]:
    """Yield the tables that come with statsmodels, if it is installed."""
    import statsmodels.datasets as datasets

    for group, tables in _STATSMODELS.items():
        for name, target, left_out in tables:
            frame = pl.from_pandas(
                getattr(datasets, name).load_pandas().data.reset_index(drop=True)
            )
            if name == "star98":
                above = pl.col("NABOVE") / (pl.col("NABOVE") + pl.col("NBELOW"))
                frame = frame.with_columns(ABOVE=above)
            X = frame.drop(target, *left_out).select(pl.selectors.numeric()).to_numpy()
            y = frame[target].to_numpy().astype(np.float64)
            classes = 2 if name in _TWO_CLASSES else 0
            yield RealTable(name, group, X.astype(np.float64), y, classes)


def real_tables(folder: Path | None, say: Callable[[str], None] = print) -> list[RealTable]:
    """Return all available tables, and say which groups are left out."""
    tables: list[RealTable] = []
    if folder is None or not folder.is_dir():
        say("Left out: the microarrays, as there is no folder with them.\n")
    else:
        tables += folder_tables(folder)
    tables += sklearn_tables()
    try:
        tables += statsmodels_tables()
    except ImportError:
        say("Left out: the tables of statsmodels, as it is not installed.\n")
    return tables
