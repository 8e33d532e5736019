"""X and y of scikit-learn as one table for `select`: types decide what can be read, never cells.

A cell of an object column, or of a list, is read as its text. That is done cell by cell, so that
none decides what becomes of another.
"""

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.errors import UsageError
from dpsel.tables.errors import plain_errors
from dpsel.tables.opening import OBJECTS, refuse_objects

_UNNAMED = "y"
# What an array that Arrow has no type for may hold; texts may be no UTF-8.
_REFUSED = (pa.ArrowException, UnicodeError, OverflowError, TypeError)


def is_frame(X: Any) -> bool:
    """Return whether X is a table with names: of pandas, polars or pyarrow."""
    speaks_arrow = is_pandas(X) or hasattr(X, "__arrow_c_stream__")
    return speaks_arrow and len(getattr(X, "shape", ())) == 2


def as_table(X: Any) -> Any:
    """Return X if it has rows and columns; the errors of scikit-learn would quote its cells."""
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(X.shape)}D instead. Reshape your data with "
            "array.reshape(-1, 1) if it is one feature, array.reshape(1, -1) if it is one row."
        )
    if not is_frame(X) and X.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    return X


def column_names(X: Any) -> list[str]:
    """Return the names of all columns: those of a frame, or x0, x1, ... as scikit-learn has it."""
    if not is_frame(X):
        return [f"x{place}" for place in range(X.shape[1])]
    if isinstance(X, pa.Table | pa.RecordBatch):
        return list(X.schema.names)
    return [str(name) for name in X.columns]


def arrow_table(X: Any) -> pa.Table:
    """Return a frame of polars or pyarrow as a table of Arrow."""
    if not hasattr(X, "to_arrow"):
        return pa.table(X)
    refuse_objects(X, "X")
    return X.to_arrow()


def training_table(
    X: Any, y: Any, *, labels: bool, person: str | None = None
) -> tuple[pa.Table, str]:
    """Return X and y as one table, and what y is called in it.

    Args:
        X: A frame, or an array of two dimensions.
        y: As many labels or numbers as X has rows.
        labels: Whether y holds labels that the user has named, and not numbers.
        person: The column that says whose row it is, which may be a level of the index of pandas.

    Raises:
        UsageError: If y is called like a column of X, or has neither numbers nor named labels.
        InputError: If X or y has a type that cannot be read; never because of a cell.
        ValueError: If the shapes of X and y do not fit.
    """
    names, y = column_names(X), _one_column(y)
    target = _target_name(y, names)
    table = _features(X, names)
    if person is not None and person not in names and is_pandas(X) and person in X.index.names:
        level = X.index.get_level_values(person).to_series()
        table = table.append_column(person, _column(level))
    with plain_errors("y", "a column"):
        cells = _target(y, labels=labels)
    if len(cells) != table.num_rows:
        raise ValueError("X and y have different numbers of rows")
    return table.append_column(target, cells), target


def _features(X: Any, names: Sequence[str]) -> pa.Table:
    """Return the columns of X."""
    if is_frame(X) and not is_pandas(X):
        with plain_errors("X", "a frame"):
            return arrow_table(X)
    place = X.iloc if is_pandas(X) else X
    return pa.Table.from_arrays([_column(place[:, at]) for at in range(len(names))], list(names))


def _target_name(y: Any, names: Sequence[str]) -> str:
    """Return what y is called: its own name, or one that no column has."""
    named = getattr(y, "name", None)
    if named is None or not str(named).strip():
        name = _UNNAMED
        while name in names:
            name += "_"
        return name
    if str(named) in names:
        raise UsageError(f"X has a column '{named}', as y is called: leave it out of X")
    return str(named)


def _one_column(y: Any) -> Any:
    """Return y as one column: a frame or an array of one column is that column."""
    if isinstance(y, list | tuple | pa.Array | pa.ChunkedArray):
        return y
    if not hasattr(y, "shape"):
        y = np.asarray(y)
    if len(y.shape) == 2 and y.shape[1] == 1:
        if isinstance(y, pa.Table | pa.RecordBatch):
            return y.column(0)
        return (y.iloc if is_pandas(y) else y)[:, 0]
    if len(y.shape) != 1:
        raise ValueError(f"y must be one column, got an array of shape {tuple(y.shape)}")
    return y


def _target(y: Any, *, labels: bool) -> Any:
    """Return y as a column of Arrow."""
    if isinstance(y, list | tuple):
        return _texts(y) if labels else pa.array([_number(cell) for cell in y], pa.float64())
    if not labels and str(getattr(y, "dtype", "")) in ("object", OBJECTS):
        raise UsageError(
            "Unknown label type: y holds objects; name one of its labels with positive=, or all of "
            "them with classes=; if they are numbers, give y.astype(float)"
        )
    return _column(y)


def _column(cells: Any) -> Any:
    """Return a column or an array of one dimension as a column of Arrow."""
    if isinstance(cells, pa.Array | pa.ChunkedArray):
        return cells
    if is_pandas(cells):
        if cells.dtype != object:
            with suppress(*_REFUSED):
                return pa.array(cells, from_pandas=True)
    elif hasattr(cells, "__arrow_c_stream__"):
        return _texts(cells) if str(cells.dtype) == OBJECTS else pa.chunked_array(cells)
    array = np.asarray(cells)
    if array.dtype.kind == "f":
        # Arrow has no wider type, and does not compute with narrower ones.
        array = array.astype(np.float32 if array.itemsize <= 4 else np.float64, copy=False)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind not in "OcV":
        with suppress(*_REFUSED):
            return pa.array(array)
    return _texts(array)


def _texts(cells: Iterable[Any]) -> Any:
    """Return the text of every cell, null for None."""
    return pa.array([_text(cell) for cell in cells], pa.large_string())


def _text(cell: Any) -> str | None:
    """Return the text of a cell; what has none is missing."""
    if cell is None:
        return None
    try:
        return str(cell).encode("utf-8", "backslashreplace").decode()
    except Exception:  # Whatever an object of somebody else's raises: a cell fails no fit.
        return None


def _number(cell: Any) -> float:
    """Return a cell as a number; what is none is missing."""
    try:
        return float(cell)
    except Exception:  # As above.
        return float("nan")


def is_pandas(data: Any) -> bool:
    """Return whether this is a frame or a column of pandas, which is not imported for that."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame | pandas.Series)
