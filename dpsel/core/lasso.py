"""LASSO regressions of whole tables and of blocks of rows. Not private.

They minimise |y - a - X w|^2 / (2 rows) + penalty |w|_1. The intercept a is fitted and has no
penalty; columns are centred for that, and not scaled. Otherwise scikit-learn's defaults: cyclic
descent, tolerance 1e-4, at most 1000 rounds, no complaint if those do not suffice.
"""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.errors import UsageError
from dpsel.core.exact import exact_top_k
from dpsel.core.kept import KeptTable, Matrix

# Values are multiples of 2^-16, and so are their differences from one.
_GRID = 1 << 16
PENALTY = 0.1
"""The weight of the L1 norm in the paper's experiments."""


def check_penalty(penalty: float) -> None:
    """Refuse a penalty that is not a positive, finite number."""
    if not (math.isfinite(penalty) and penalty > 0):
        raise UsageError(f"penalty must be a positive, finite number, got {penalty:g}")


@contextmanager
def quiet_solver(penalty: float = PENALTY) -> Iterator[None]:
    """Check that LASSOs can be fitted, and let them run side by side without a word.

    Filters of warnings and BLAS's own threads, which only wait for each other in blocks so small,
    belong to the whole process: set here once, not in the threads.
    """
    check_penalty(penalty)
    try:
        from sklearn.linear_model import Lasso  # noqa: F401
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise UsageError("the method needs scikit-learn: pip install 'dpsel[baseline]'") from None
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        yield


def lasso_coefficients(X: Matrix, y: FloatArray, penalty: float = PENALTY) -> FloatArray:
    """Return the coefficients of one LASSO on all rows."""
    with quiet_solver(penalty):
        if isinstance(X, KeptTable):
            return _kept_coefficients(X, y, penalty)
        return _fitted(np.array(X, dtype=np.float64, order="F"), y, penalty)


def block_coefficients(
    X: Matrix, y: FloatArray, rows: IntArray, penalty: float = PENALTY
) -> FloatArray:
    """Return the coefficients of a LASSO on some rows; for use within `quiet_solver`.

    A table on disk is one block, of which all rows count.
    """
    if isinstance(X, KeptTable):
        return _kept_coefficients(X, y, penalty)
    # A copy in the solver's order of cells: it may be centred in place.
    return _fitted(np.asfortranarray(X[rows]), y[rows], penalty)


def largest(coefficients: FloatArray, k: int) -> IntArray:
    """Return the indices of the k largest |coefficients| that are not 0, or of all of them."""
    used = np.flatnonzero(coefficients)
    if used.size <= k:
        return used
    return used[exact_top_k(np.abs(coefficients[used]), k)]


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


def _kept_coefficients(X: KeptTable, y: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients for a table that does not fit in memory.

    Where the products of any two columns fit, one reading of the table finds those, and the solver
    needs no more: its steps are the same, but for rounding. Else it goes through the table, which
    the system reads from disk again and again, as often as it takes.
    """
    if len(y) == 0:
        return np.zeros(X.shape[1])
    at_once = X.keeper.cells_at_once
    if at_once is None or X.shape[1] ** 2 <= at_once:
        return _fitted_to_products(X, y, penalty)
    centred = X.keeper.another().mapped(*X.shape)
    for first, last in X.column_groups():
        columns = X.columns(first, last)
        centred[:, first:last] = columns - columns.mean(axis=0)
    return _fitted_to_centred(centred, y, penalty)


def _fitted_to_products(X: KeptTable, y: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients by the products of columns with each other and with the target."""
    from sklearn.linear_model import enet_path

    rows, columns = X.shape
    target = y - y.mean()
    products, with_target = np.zeros((columns, columns)), np.zeros(columns)
    sums, middle = np.zeros(columns), np.zeros(columns)
    for row, chunk in X.row_chunks():
        if row == 0:
            # Near the mean, so that little is lost by taking its square off again.
            middle = np.rint(chunk.mean(axis=0) * _GRID) / _GRID
        moved = chunk - middle
        products += moved.T @ moved
        with_target += target[row : row + len(chunk)] @ moved
        sums += moved.sum(axis=0)
    products -= np.outer(sums, sums / rows)
    # The solver asks only how large the table is.
    shape_only = np.broadcast_to(np.float64(0.0), (rows, columns))
    _, coefficients, _ = enet_path(
        shape_only,
        target,
        l1_ratio=1.0,
        alphas=np.array([penalty]),
        precompute=products,
        Xy=with_target,
        check_input=False,
    )
    return np.asarray(coefficients[:, 0], dtype=np.float64)
