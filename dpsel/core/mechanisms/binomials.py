"""Logarithms of binomial coefficients and of their differences, accurate to a few ulps.

Differences of log-gamma values have errors of 1e-9 at d = 10^6. Stirling's formula, with the large
terms cancelled by hand, avoids this: every remaining term has the size of the result. With
phi(z) = log z! = (z + 1/2) log z - z + log(2 pi) / 2 + delta(z):

    log C(n,r) = r log(n/r) - (n-r) log1p(-r/n) + log(n / (2 pi r (n-r))) / 2 + deltas
    log C(n,r) - log C(n-w,r) = T - log1p(p) / 2 + deltas,  p = r w / (n q),  q = n - r - w,
                                T = -q log1p(p) - w log1p(-r/n) - r log1p(-w/n)
"""

import math

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray

_TABLE_SIZE = 32


def log_binomial(n: IntArray, r: IntArray) -> FloatArray:
    """Return log C(n, r) for 0 <= r <= n, elementwise; -inf for r > n."""
    n, r = np.broadcast_arrays(n, r)
    small = np.minimum(r, n - r)
    inner = small > 0
    # Where C = 1, the formula is evaluated with harmless placeholders, and the result overwritten.
    whole = np.where(inner, n, 2).astype(np.float64)
    part = np.where(inner, small, 1).astype(np.float64)
    rest = whole - part
    result = (
        part * np.log(whole / part)
        - rest * np.log1p(-part / whole)
        + 0.5 * np.log(whole / (2.0 * math.pi * part * rest))
        + _delta(whole)
        - _delta(part)
        - _delta(rest)
    )
    return np.where(inner, result, np.where(small == 0, 0.0, -np.inf))


def log_binomial_gap(n: IntArray, r: IntArray, w: IntArray) -> FloatArray:
    """Return log(C(n, r) - C(n-w, r)) for 1 <= r <= n and w >= 1, elementwise; -inf for w = 0."""
    with np.errstate(divide="ignore"):
        return log_binomial(n, r) + np.log(-np.expm1(-_log_ratio(n, r, w)))


def _log_ratio(n: IntArray, r: IntArray, w: IntArray) -> FloatArray:
    """Return log(C(n, r) / C(n-w, r)) >= 0; +inf where C(n-w, r) = 0."""
    n, r, w = np.broadcast_arrays(n, r, w)
    q = n - r - w
    inner = (q > 0) & (w > 0)
    whole = np.where(inner, n, 3).astype(np.float64)
    first = np.where(inner, r, 1).astype(np.float64)
    second = np.where(inner, w, 1).astype(np.float64)
    rest = whole - first - second
    mixed = np.log1p(first * second / (whole * rest))
    result = (
        -second * np.log1p(-first / whole)
        - first * np.log1p(-second / whole)
        - (rest + 0.5) * mixed
        + _delta(whole)
        - _delta(whole - first)
        - _delta(whole - second)
        + _delta(rest)
    )
    # For q = 0 the denominator is C(r, r) = 1, for q < 0 it is 0; for w = 0 the ratio is 1.
    border = np.where(q == 0, log_binomial(n, r), np.inf)
    return np.where(inner, result, np.where(w > 0, border, 0.0))


def _series(z: FloatArray) -> FloatArray:
    """Return delta(z) by Stirling's series, exact to the last bit for z >= 32."""
    square = 1.0 / (z * z)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / z


def _small_deltas() -> FloatArray:
    """Return delta(0..31), stepped down from the series; delta(0) is never used."""
    table = np.zeros(_TABLE_SIZE + 1)
    table[_TABLE_SIZE] = _series(np.array([float(_TABLE_SIZE)]))[0]
    for z in range(_TABLE_SIZE - 1, 0, -1):
        table[z] = table[z + 1] + ((z + 0.5) * math.log1p(1.0 / z) - 1.0)
    return table[:-1]


_SMALL_DELTAS = _small_deltas()


def _delta(z: FloatArray) -> FloatArray:
    """Return delta(z), which is log z! minus Stirling's formula, for whole z >= 1."""
    small = _SMALL_DELTAS[np.minimum(z, _TABLE_SIZE - 1).astype(np.int64)]
    large = z >= _TABLE_SIZE
    return np.where(large, _series(np.maximum(z, _TABLE_SIZE)), small) if large.any() else small
