"""X and y of scikit-learn as one frame for `select`.

Types decide what can be read, never cells. A cell of an object column or of a list is read as its
text, each on its own, so that no cell affects how another is read: see `dpsel.tables.objects`.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.errors import UsageError
from dpsel.tables.arrow import columns_of
from dpsel.tables.arrow_cells import kind_of
from dpsel.tables.columns import Column, Kind
from dpsel.tables.errors import plain_errors
from dpsel.tables.objects import REFUSED, Frame, cell_texts, pandas_column
from dpsel.tables.opening import OBJECTS, refuse_objects

_UNNAMED = "y"


def is_frame(X: Any) -> bool:
    """Return whether X is a table with named columns: of pandas, polars or pyarrow."""
    speaks_arrow = is_pandas(X) or hasattr(X, "__arrow_c_stream__")
    return speaks_arrow and len(getattr(X, "shape", ())) == 2


def as_table(X: Any) -> Any:
    """Return X if it has two dimensions; scikit-learn's own errors would quote its cells."""
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


def rows_as_array(rows: Sequence[Any]) -> Any:
    """Return a list of rows as an array of objects, whatever the cells are.

    numpy would look into cells that are lists themselves, to see whether all have the same shape.
    """
    if not rows or not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        return np.array(rows, dtype=object)
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for place, row in enumerate(rows):
        if len(row) != array.shape[1]:
            raise ValueError("X has rows of different lengths")
        for column, cell in enumerate(row):
            array[place, column] = cell
    return array


def column_names(X: Any) -> list[str]:
    """Return the names of all columns: those of a frame, or x0, x1, ... as in scikit-learn."""
    if not is_frame(X):
        return [f"x{place}" for place in range(X.shape[1])]
    if isinstance(X, pa.Table | pa.RecordBatch):
        return list(X.schema.names)
    return [str(name) for name in X.columns]


def arrow_table(X: Any) -> pa.Table:
    """Return a frame of polars or pyarrow as an Arrow table."""
    if not hasattr(X, "to_arrow"):
        return pa.table(X)
    refuse_objects(X, "X")
    return X.to_arrow()


def training_table(X: Any, y: Any, *, labels: bool, person: str | None = None) -> tuple[Frame, str]:
    """Return X and y as one table, and the name of y in it.

    Args:
        X: A frame, or an array of two dimensions.
        y: As many labels or numbers as X has rows.
        labels: Whether y holds labels that the user has named, and not numbers.
        person: The column that identifies persons, which may be a level of a pandas index.

    Raises:
        UsageError: If y has the name of a column of X, or neither numbers nor named labels.
        InputError: If X or y has a type that cannot be read; never because of a cell.
        ValueError: If the shapes of X and y do not fit.
    """
    names, y = column_names(X), _one_column(y)
    target = _target_name(y, names)
    frame = _features(X, names)
    if person is not None and person not in names and is_pandas(X) and person in X.index.names:
        level = X.index.get_level_values(person)
        frame = _with_column(frame, person, pandas_column(level))
    with plain_errors("y", "a column"):
        cells = _target(y, labels=labels)
    if len(cells[0]) != frame.table.num_rows:
        raise ValueError("X and y have different numbers of rows")
    return _with_column(frame, target, cells), target


def _features(X: Any, names: Sequence[str]) -> Frame:
    """Return the columns of X as a frame."""
    if is_frame(X) and not is_pandas(X):
        with plain_errors("X", "a frame"):
            table = arrow_table(X)
            return Frame(table, columns_of(table.schema))
    place = X.iloc if is_pandas(X) else X
    found = [_column(place[:, at]) for at in range(len(names))]
    table = pa.Table.from_arrays([column for column, _ in found], list(names))
    kinds = [kind for _, kind in found]
    return Frame(table, tuple(map(Column, names, kinds)))


def _with_column(frame: Frame, name: str, cells: tuple[Any, Kind]) -> Frame:
    """Return a frame with one more column."""
    column, kind = cells
    return Frame(frame.table.append_column(name, column), (*frame.columns, Column(name, kind)))


def _target_name(y: Any, names: Sequence[str]) -> str:
    """Return the name of y: its own, or one that no column has."""
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
    """Return y as one column; of a frame or array with a single column, that column."""
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


def _target(y: Any, *, labels: bool) -> tuple[Any, Kind]:
    """Return y as an Arrow column, and its kind."""
    if isinstance(y, list | tuple):
        if labels:
            return cell_texts(y), Kind.UNKNOWN
        return pa.array([_number(cell) for cell in y], pa.float64()), Kind.NUMBER
    if not labels and _type_name(y) in ("object", OBJECTS):
        raise UsageError(
            "Unknown label type: y holds objects; name one of its labels with positive=, or all of "
            "them with classes=; if they are numbers, give y.astype(float)"
        )
    return _column(y)


def _type_name(y: Any) -> str:
    """Return the type of an array or column; of a pandas category, that of its categories."""
    kind = getattr(y, "dtype", "")
    if is_pandas(y):
        kind = getattr(getattr(kind, "categories", None), "dtype", kind)
    return str(kind)


def _column(cells: Any) -> tuple[Any, Kind]:
    """Return a column or a one-dimensional array as an Arrow column, and its kind by its type."""
    if is_pandas(cells):
        return pandas_column(cells)
    if isinstance(cells, pa.Array | pa.ChunkedArray):
        return cells, kind_of(cells.type)
    if hasattr(cells, "__arrow_c_stream__"):
        if str(cells.dtype) == OBJECTS:
            return cell_texts(cells), Kind.UNKNOWN
        column = pa.chunked_array(cells)
        return column, kind_of(column.type)
    array = np.asarray(cells)
    if array.dtype.kind == "f":
        # Arrow has no wider floats, and does not compute with narrower ones.
        with np.errstate(all="ignore"):
            array = array.astype(np.float32 if array.itemsize <= 4 else np.float64, copy=False)
    if array.dtype.kind != "T":  # The strings of numpy 2 have no byte order.
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind not in "OcV":
        with suppress(*REFUSED):
            column = pa.array(array)
            return column, kind_of(column.type)
        with suppress(*REFUSED):
            # A cell was refused, and not the type.
            return cell_texts(array), kind_of(pa.array(array[:0]).type)
    return cell_texts(array), Kind.UNKNOWN


def _number(cell: Any) -> float:
    """Return a cell as a number; a cell that is not a number is missing."""
    try:
        return float(cell)
    except Exception:  # A foreign object may raise anything: no cell may fail a fit.
        return float("nan")


def is_pandas(data: Any) -> bool:
    """Return whether this is a pandas frame or column, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame | pandas.Series)
