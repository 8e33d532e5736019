"""What k rounds of the exponential mechanism cost together: epsilon and delta of a composition.

The proofs are in docs/explanation/privacy.md, section 9.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dpsel.core.arrays import FloatArray

# The search of `concentrated_rho`: how far below the simple log a it starts, and its number of
# steps, each of which keeps two thirds of the interval.
_REACH, _THIRDS = 32.0, 100
_LARGEST_LOG = 700.0

# The limits of `_recursive_epsilon`: with more rounds it takes seconds, with a larger epsilon per
# round it gains nothing, and with a smaller delta numbers underflow. `_NEAR` is its precision.
_MOST_ROUNDS, _LARGEST_EPSILON, _LEAST_DELTA = 1000, 16.0, 1e-200
_NEAR = 1.0 + 2.0**-11

# `delta_of_rounds`: how far the grid goes, in standard deviations of the loss; what is added to all
# values at first, so that none is subnormal; and the factor that raises them in every round, which
# is more than 2^12 roundings.
_SPREAD, _FLOOR, _RAISED = 6.0, 1e-250, 1.0 + 2.0**-40


def round_epsilon(epsilon: float, k: int, delta: float) -> float:
    """Return the largest proven epsilon for each of k rounds of the exponential mechanism.

    It is the best of three proofs: pure composition, zero-concentrated privacy, and the recursion
    of [DDR20].

    References:
        [DDR20] Dong, Durfee & Rogers (2020), "Optimal differential privacy composition for
            exponential mechanisms".
    """
    pure = epsilon / k
    if delta == 0.0 or epsilon == 0.0:
        return pure
    proven = max(pure, math.sqrt(8.0 * concentrated_rho(epsilon, delta) / k))
    if k > _MOST_ROUNDS or proven > _LARGEST_EPSILON or delta < _LEAST_DELTA:
        return proven
    return _recursive_epsilon(epsilon, k, delta, proven)


@lru_cache(maxsize=64)
def _recursive_epsilon(epsilon: float, k: int, delta: float, proven: float) -> float:
    """Return an epsilon per round, at least `proven`, for which `delta_of_rounds` is within delta.

    The value that is returned was itself checked: the search decides how good it is, not whether it
    is correct. A search takes 0.01 to 1 s, and evaluations and audits repeat the same one, so
    results are cached.
    """
    low, high, factor = proven, 1.25 * proven, 1.25
    while high <= _LARGEST_EPSILON and delta_of_rounds(high, k, epsilon) <= delta:
        factor *= factor
        low, high = high, high * factor
    high = min(high, 2.0 * _LARGEST_EPSILON)
    while high > low * _NEAR:
        middle = math.sqrt(low) * math.sqrt(high)
        kept = delta_of_rounds(middle, k, epsilon) <= delta
        low, high = (middle, high) if kept else (low, middle)
    return low


def delta_of_rounds(each: float, k: int, epsilon: float) -> float:
    """Return a delta for which k rounds of the exponential mechanism at `each` have this epsilon.

    The loss of a round has a range of `each`: it lies between t - each and t for some t from 0 to
    each. Let F_0(x) = max(0, 1 - exp(x)), and let the recursion choose t after every outcome:

        F_j(x) = max over t of p_t F_(j-1)(x - t) + (1 - p_t) F_(j-1)(x - t + each),
        p_t = (1 - exp(t - each)) / (1 - exp(-each)),

    F_k(epsilon) is the smallest such delta. What is returned is an upper bound of it, computed on a
    grid of x.
    """
    steps = _steps_of_a_round(k)
    step = each / steps
    reach = math.ceil(_SPREAD * 0.5 * math.sqrt(k) * steps)
    below = min(k * steps, math.ceil(min(epsilon / step, float(k * steps))) + reach)
    above = min(k * steps, reach)
    # F falls with x, so x is lowered by more than all roundings.
    x = epsilon + step * np.arange(-below, above + 1) - 2.0**-40 * (epsilon + k * each)
    values = _FLOOR - np.expm1(np.minimum(0.0, x))
    for _ in range(k):
        values = _after_a_round(values, each, steps) * _RAISED
    return float(values[below])


def _steps_of_a_round(k: int) -> int:
    """Return the number of grid steps per round: a power of 2, so that each / steps is exact.

    The error is of the order of 1 / steps^2, and the time grows with k^1.5 steps^2.
    """
    return min(64, max(4, 1 << int(math.log2(200.0 / k**0.6))))


def _after_a_round(values: FloatArray, each: float, steps: int) -> FloatArray:
    """Return upper bounds of F_j on the grid, given upper bounds of F_(j-1).

    As a function of u = exp(x), F_(j-1) is a maximum of linear functions and so convex: between
    two neighboring grid points it lies below the straight line through them. With those lines, the
    sum to maximize over t is A + B s + C / s between two neighboring t, where s = exp(t). That is
    at most the straight line between its ends plus the parabola 4 `bulge` l (1 - l), for l from 0
    to 1, whose maximum is known.
    """
    step, count = each / steps, len(values)
    padded = _padded(values, step, steps)
    drops = np.maximum(0.0, padded[:-1] - padded[1:])
    i = np.arange(steps + 1)[:, None]
    p = np.expm1(-step * (steps - i)) / math.expm1(-each)
    rest = np.expm1(step * i) / math.expm1(each)
    # Row i of the first factor holds the values at x - i step, of the second at x - i step + each.
    windows, falls = sliding_window_view(padded, count), sliding_window_view(drops, count)
    at = p * windows[steps + 1 : 0 : -1] + rest * windows[2 * steps + 1 : steps : -1]
    bent = falls[steps:0:-1] - math.exp(-each) * falls[2 * steps : steps : -1]
    bulge = bent * (math.expm1(step) / (-4.0 * math.expm1(-each)))
    slope = np.abs(at[1:] - at[:-1])
    # Where the line is so steep that the parabola does not matter, the maximum is the larger end.
    bulge = np.maximum(np.maximum(bulge, 0.25 * slope), np.finfo(np.float64).tiny)
    largest = 0.5 * (at[1:] + at[:-1]) + bulge + slope * (slope / (16.0 * bulge))
    return np.asarray(largest.max(axis=0))


def _padded(values: FloatArray, step: float, steps: int) -> FloatArray:
    """Return the values with upper bounds for the points beyond the grid, on both sides.

    F falls, so beyond the end it is no larger than at the end. Before the start it lies below the
    straight line in u that starts at 1 for u = 0.
    """
    first = float(values[0])
    before = first + max(0.0, 1.0 - first) * -np.expm1(-step * np.arange(steps + 1, 0, -1))
    return np.concatenate([before, values, np.full(steps, values[-1])])


def concentrated_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho that a search finds for which rho-zCDP implies (epsilon, delta)-DP.

    A round with epsilon_0 is epsilon_0^2 / 8-zCDP, because its loss has a range of epsilon_0
    [CR21], so k rounds are rho-zCDP with rho = k epsilon_0^2 / 8 [BS16]. They are
    (epsilon, delta)-DP if, for some alpha = 1 + a > 1 [CKS20],

        exp((alpha - 1) (alpha rho - epsilon)) (1 - 1 / alpha)^alpha / (alpha - 1) <= delta,
        rho <= (epsilon - log(1/delta) / a + log(1 + a) / a + log(1 + 1/a)) / (1 + a).

    Every a proves its own rho, so the search decides how good rho is, not whether it is correct.
    The log of the left side is convex in a, so the bound of rho has a single maximum. It lies below
    the best a without the last two terms, sqrt(log(1/delta) / rho). There no term is above
    epsilon + 745.

    References:
        [CR21] Cesar & Rogers (2021), "Bounding, concentrating, and truncating".
        [BS16] Bun & Steinke (2016), "Concentrated differential privacy".
        [CKS20] Canonne, Kamath & Steinke (2020), "The discrete Gaussian for differential privacy".
    """
    log_inverse = -math.log(delta)

    def proven(log_a: float) -> float:
        a = math.exp(min(log_a, _LARGEST_LOG))
        gained = (math.log1p(a) - log_inverse) / a + math.log1p(1.0 / a)
        return (epsilon + gained) / (1.0 + a)

    roots = math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse)
    middle = 0.5 * math.log(log_inverse) - math.log(epsilon) + math.log(roots)
    low, high = middle - _REACH, middle + 1.0
    for _ in range(_THIRDS):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (first, high) if proven(first) < proven(second) else (low, second)
    return max(proven(middle), proven(low))
