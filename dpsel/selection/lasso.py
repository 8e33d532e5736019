"""Selection without privacy: LASSO regressions, and the exact top k."""

import math
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, NumberArray
from dpsel.core.guarantee import check_k
from dpsel.core.matrix import Matrix, TiledMatrix, row_chunks
from dpsel.core.votes import Fit
from dpsel.errors import UsageError


def tied_share(scores: NumberArray, k: int) -> float:
    """Return the share of trials in which the k-th and the next score are equal.

    There no k features are the best, and TOP is 0. `scores` is as in `order_hits`.
    """
    rows = np.atleast_2d(scores)
    if k >= rows.shape[1]:
        return 0.0
    best = np.sort(rows, axis=1)[:, ::-1]
    return float((best[:, k - 1] == best[:, k]).mean())


def exact_top_k(values: NumberArray, k: int) -> IntArray:
    """Return the ascending indices of the k largest values, ties to the smaller. Not private."""
    check_k(k, len(values))
    # Stable and ascending on the reversed values: among equals the smaller index comes last.
    best = len(values) - 1 - np.argsort(values[::-1], kind="stable")[-k:]
    return np.sort(best).astype(np.int64, copy=False)


# Values are multiples of 2^-16. Products of two, in units of 2^-32, are added exactly in floating
# point for at most 2^21 rows.
_GRID = 1 << 16
_ROWS_PER_FLOAT_SUM = 1 << 20
# Blocks with more cells are solved by their products, which so few columns make small. Files with
# fewer cells, 128 MB, stay in the system's memory.
_MANY_CELLS = 1 << 24
_FEW_COLUMNS = 512
PENALTY = 0.1
"""The weight of the L1 norm in the paper's experiments."""


def check_penalty(penalty: float) -> None:
    """Refuse a penalty that is not a positive, finite number."""
    if not (math.isfinite(penalty) and penalty > 0):
        raise UsageError(f"penalty must be a positive, finite number, got {penalty:g}")


SOLVER = ("sklearn.linear_model",)
"""The modules that processes need which fit LASSOs."""


@contextmanager
def quiet_solver(penalty: float = PENALTY) -> Iterator[None]:
    """Let LASSOs run side by side without a word.

    Whoever fits enters this, in any thread and as often as it comes: see `_Quiet`.
    """
    check_penalty(penalty)
    with _quiet:
        yield


class _Quiet:
    """Filters of warnings, and BLAS's own threads, which only wait for each other in small blocks.

    Both belong to the whole process: the first thread that comes sets them, the last sets them
    back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._set = ExitStack()

    def __enter__(self) -> None:
        # Libraries that are loaded later would not be limited.
        import sklearn.linear_model  # noqa: F401
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._inside == 0:
                self._set.enter_context(warnings.catch_warnings())
                self._set.enter_context(threadpool_limits(1))
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._set.close()


_quiet = _Quiet()


def lasso_coefficients(X: Matrix, y: FloatArray, penalty: float = PENALTY) -> FloatArray:
    """Return the coefficients of one LASSO on all rows."""
    with quiet_solver(penalty):
        if not isinstance(X, TiledMatrix):
            return _fitted(np.array(X, dtype=np.float64, order="F"), y, penalty)
        at_once = X.cells_at_once
        if at_once is None or X.shape[1] ** 2 <= at_once:
            return _fitted_to_products(X, y, penalty)
        return _fitted_on_disk(X, y, penalty)


@contextmanager
def block_fit(penalty: float = PENALTY) -> Iterator[Fit]:
    """Enter `quiet_solver`, with the fit by which blocks vote."""
    with quiet_solver(penalty):
        yield partial(block_coefficients, penalty=penalty)


def block_coefficients(
    X: Matrix, y: FloatArray, rows: IntArray, penalty: float = PENALTY
) -> FloatArray:
    """Return the coefficients of a LASSO on some rows; for use within `quiet_solver`.

    A table on disk is one block, of which all rows count. Where a block lies depends on all other
    rows, so nothing else may: how it is solved goes by its own shape, and both places give the
    same bits, as sums of cells on the grid are exact in any order and any cut.

    Privacy:
        Domain: multiples of 2^-16 within [-1, 1]; whatever they are, no block fails and no warning
            shows.
        Guarantee: none; the result is private input for the votes, and depends on no other row.
        Tested by: tests/privacy/test_twostage_sensitivity.py
    """
    many = len(rows) * X.shape[1] > _MANY_CELLS and X.shape[1] <= _FEW_COLUMNS
    if isinstance(X, TiledMatrix):
        return (_fitted_to_products if many else _fitted_on_disk)(X, y, penalty)
    # A copy in the solver's order of cells: it may be centred in place.
    block = np.asfortranarray(X[rows])
    return (_fitted_to_products if many else _fitted)(block, y[rows], penalty)


def _fitted(X: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients for these rows; all 0 if there are none. Changes `X`."""
    if len(y) == 0:
        return np.zeros(X.shape[1])
    # As scikit-learn does for an intercept, but without finding its value, which takes longer.
    X -= X.mean(axis=0)
    return _fitted_to_centred(X, y, penalty)


def _fitted_to_centred(X: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients for columns with a mean of 0."""
    from sklearn.linear_model import Lasso

    lasso = Lasso(alpha=penalty, fit_intercept=False, copy_X=False)
    return np.asarray(lasso.fit(X, y - y.mean()).coef_, dtype=np.float64)


def _fitted_on_disk(X: TiledMatrix, y: FloatArray, penalty: float) -> FloatArray:
    """Return what `_fitted` does: the solver goes through a file, as often as it takes."""
    if len(y) == 0:
        return np.zeros(X.shape[1])
    centred = X.zeros()
    for first, last in X.column_groups():
        columns = X.columns(first, last)
        centred[:, first:last] = columns - columns.mean(axis=0)
    return _fitted_to_centred(centred, y, penalty)


def _fitted_to_products(X: Matrix, y: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients by the products of columns with each other and with the target.

    One reading finds those, and the solver needs no more: its steps are those for the table, but
    for rounding.
    """
    from sklearn.linear_model import enet_path

    if len(y) == 0:
        return np.zeros(X.shape[1])
    # The solver asks only how large the table is.
    shape_only = np.broadcast_to(np.float64(0.0), X.shape)
    products, with_target = _centred_products(X, y)
    _, coefficients, _ = enet_path(
        shape_only,
        y - y.mean(),
        l1_ratio=1.0,
        alphas=np.array([penalty]),
        precompute=products,
        Xy=with_target,
        check_input=False,
    )
    return np.asarray(coefficients[:, 0], dtype=np.float64)


def _centred_products(X: Matrix, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return X'X and X'y for columns and target less their means.

    Whole numbers are added up, of cells in units of 2^-16: exactly, however the rows are cut.
    """
    cells = X.shape[1] + 1
    products, sums = np.zeros((cells, cells), dtype=np.int64), np.zeros(cells, dtype=np.int64)
    for first, chunk in row_chunks(X):
        for start in range(0, len(chunk), _ROWS_PER_FLOAT_SUM):
            some = chunk[start : start + _ROWS_PER_FLOAT_SUM]
            target = y[first + start : first + start + len(some)]
            whole = np.rint(np.column_stack([some, target]) * _GRID)
            products += (whole.T @ whole).astype(np.int64)
            sums += whole.sum(axis=0).astype(np.int64)
    # Around whole numbers near the means first, so that little is lost by the last subtraction.
    middle = np.rint(sums / len(y)).astype(np.int64)
    products -= np.outer(middle, sums) + np.outer(sums, middle)
    products += len(y) * np.outer(middle, middle)
    rest = (sums - len(y) * middle) / _GRID
    centred = products / _GRID**2 - np.outer(rest, rest / len(y))
    return np.ascontiguousarray(centred[:-1, :-1]), centred[:-1, -1].copy()
