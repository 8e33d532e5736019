"""LASSO regressions: on all rows, and on the blocks of rows that vote in two-stage."""

import math
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.bounds import ONE
from dpsel.core.matrix import Matrix, TiledMatrix, row_chunks
from dpsel.core.votes import Fit
from dpsel.errors import UsageError

# Values are multiples of 2^-16, so products of two are multiples of 2^-32. Floating point adds
# these exactly for at most 2^21 rows.
_ROWS_PER_FLOAT_SUM = 1 << 20
# Blocks with more cells than this, and few columns, are solved by X'X, which is then small. Files
# with fewer cells, 128 MB, stay in the system's page cache.
_MANY_CELLS = 1 << 24
_FEW_COLUMNS = 512
PENALTY = 0.1
"""The weight of the L1 norm in the paper's experiments."""


def check_penalty(penalty: float) -> None:
    """Refuse a penalty that is not a positive, finite number."""
    if not (math.isfinite(penalty) and penalty > 0):
        raise UsageError(f"penalty must be a positive, finite number, got {penalty:g}")


SOLVER = ("sklearn.linear_model",)
"""The modules to load in processes that fit LASSOs."""


@contextmanager
def quiet_solver(penalty: float = PENALTY) -> Iterator[None]:
    """Silence warnings and limit BLAS to one thread while LASSOs are fitted.

    Enter it around every fit; it may be entered in any thread, and nested: see `_Quiet`.
    """
    check_penalty(penalty)
    with _quiet:
        yield


class _Quiet:
    """Warnings off, and one BLAS thread: in small blocks more threads only wait for each other.

    Both settings belong to the whole process. The first thread to enter changes them, and the last
    one to leave restores them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._set = ExitStack()

    def __enter__(self) -> None:
        # Imported first: the limit does not apply to libraries that are loaded later.
        import sklearn.linear_model  # noqa: F401

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
    """Enter `quiet_solver`, and yield the function that fits one block for its vote."""
    with quiet_solver(penalty):
        yield partial(block_coefficients, penalty=penalty)


def block_coefficients(
    X: Matrix, y: FloatArray, rows: IntArray, penalty: float = PENALTY
) -> FloatArray:
    """Return the coefficients of a LASSO on some rows; call it within `quiet_solver`.

    A table on disk is one block with all its rows. Whether a block is in memory or on disk depends
    on the other rows, so the result must not depend on that. The solver is chosen by the block's
    own shape, and both places give the same bits: sums of cells on the grid are exact in any order
    and for any split of the rows.

    Privacy:
        Domain: multiples of 2^-16 within [-1, 1]; whatever they are, no block fails, and no
            warning is shown.
        Guarantee: none; the result is private input for the votes, and depends on no other row.
        Tested by: tests/privacy/test_twostage_sensitivity.py
    """
    many = len(rows) * X.shape[1] > _MANY_CELLS and X.shape[1] <= _FEW_COLUMNS
    if isinstance(X, TiledMatrix):
        return (_fitted_to_products if many else _fitted_on_disk)(X, y, penalty)
    # A copy in the memory order of the solver, which may center it in place.
    block = np.asfortranarray(X[rows])
    return (_fitted_to_products if many else _fitted)(block, y[rows], penalty)


def _fitted(X: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients for all rows of `X`, which it changes; all 0 without rows."""
    if len(y) == 0:
        return np.zeros(X.shape[1])
    # As scikit-learn does to fit an intercept, but without computing its value, which is slower.
    X -= X.mean(axis=0)
    return _fitted_to_centered(X, y, penalty)


def _fitted_to_centered(X: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients for columns whose means are 0."""
    from sklearn.linear_model import Lasso

    lasso = Lasso(alpha=penalty, fit_intercept=False, copy_X=False)
    return np.asarray(lasso.fit(X, y - y.mean()).coef_, dtype=np.float64)


def _fitted_on_disk(X: TiledMatrix, y: FloatArray, penalty: float) -> FloatArray:
    """Return the same as `_fitted`; the solver passes over a file as often as it needs."""
    if len(y) == 0:
        return np.zeros(X.shape[1])
    centered = X.zeros()
    for first, last in X.column_groups():
        columns = X.columns(first, last)
        centered[:, first:last] = columns - columns.mean(axis=0)
    return _fitted_to_centered(centered, y, penalty)


def _fitted_to_products(X: Matrix, y: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients, computed from X'X and X'y.

    One pass over the rows finds both, and the solver needs nothing else. Its steps are the same as
    on the table itself, up to rounding.
    """
    from sklearn.linear_model import enet_path

    if len(y) == 0:
        return np.zeros(X.shape[1])
    # The solver uses only the shape of the table.
    shape_only = np.broadcast_to(np.float64(0.0), X.shape)
    products, with_target = _centered_products(X, y)
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


def _centered_products(X: Matrix, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return X'X and X'y of the centered columns and target.

    Cells are counted in units of 2^-16, so the sums are of whole numbers: they are exact, however
    the rows are split.
    """
    cells = X.shape[1] + 1
    products, sums = np.zeros((cells, cells), dtype=np.int64), np.zeros(cells, dtype=np.int64)
    for first, chunk in row_chunks(X):
        for start in range(0, len(chunk), _ROWS_PER_FLOAT_SUM):
            some = chunk[start : start + _ROWS_PER_FLOAT_SUM]
            target = y[first + start : first + start + len(some)]
            whole = np.rint(np.column_stack([some, target]) * ONE)
            products += (whole.T @ whole).astype(np.int64)
            sums += whole.sum(axis=0).astype(np.int64)
    # Center by whole numbers near the means first, so that the last subtraction loses little.
    middle = np.rint(sums / len(y)).astype(np.int64)
    products -= np.outer(middle, sums) + np.outer(sums, middle)
    products += len(y) * np.outer(middle, middle)
    rest = (sums - len(y) * middle) / ONE
    centered = products / ONE**2 - np.outer(rest, rest / len(y))
    return np.ascontiguousarray(centered[:-1, :-1]), centered[:-1, -1].copy()
