"""Randomness, and the draws made from it: the operating system's, or a seeded one for tests.

Every draw is made from 64-bit words. Exponential draws have full relative precision at both
ends: a 53-bit uniform would cap the noise and make some outcomes impossible. Draws of whole
numbers follow their law exactly, without any float.
"""

import hashlib
import os
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, WordArray
from dpsel.core.guarantee import check_at_least

_WORD_BITS = 64
_MANTISSA_BITS = np.uint64(52)
_MANTISSA = np.uint64((1 << 52) - 1)
_EXPONENT = np.uint64((1 << 11) - 1)


class Randomness(Protocol):
    """A source of independent, uniform 64-bit words."""

    private: bool

    def words(self, count: int) -> WordArray:
        """Return `count` fresh words."""
        ...


class SystemRandomness:
    """The operating system's cryptographic generator."""

    private = True

    def words(self, count: int) -> WordArray:
        """Return `count` fresh words."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededRandomness:
    """A reproducible generator for tests: anyone who knows the seed can undo the noise."""

    private = False

    def __init__(self, seed: int) -> None:
        """Start the stream of `seed`."""
        self._bits = np.random.PCG64(check_at_least(0, seed, "seed"))

    def words(self, count: int) -> WordArray:
        """Return the next `count` words."""
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64)


def make_randomness(seed: int | None) -> Randomness:
    """Return the system's randomness, or with a seed one that is reproducible and not private."""
    return SystemRandomness() if seed is None else SeededRandomness(seed)


def derived_seed(seed: int, *parts: object) -> int:
    """Return a seed for one task of a larger job, for tests and evaluations only.

    It depends only on `seed` and on `parts`, which identify the task. So tasks draw the same
    numbers in any order and on any number of workers.
    """
    text = repr([str(part) for part in (seed, *parts)])
    return int.from_bytes(hashlib.sha256(text.encode(errors="surrogateescape")).digest()[:8])


def seeded_generator(seed: int) -> "np.random.Generator":
    """Return a numpy generator for synthetic data; never for anything private."""
    return np.random.default_rng(seed)


def exponentials(rng: Randomness, count: int) -> FloatArray:
    """Return `count` draws of Exp(1) with full relative precision, however small or large.

    One bit says on which side of the median log 2 a draw lies. A uniform U with a geometric
    exponent and 52 further bits gives its value there: E = -log(1 - U/2) or E = -log(U/2).
    """
    words = rng.words(count)
    halves = 0.5 * _uniforms(words & ((np.uint64(1) << np.uint64(63)) - np.uint64(1)), rng)
    below = (words >> np.uint64(63)).astype(bool)
    return np.where(below, -np.log1p(-halves), -np.log(halves))


def integers_below(rng: Randomness, bounds: IntArray) -> IntArray:
    """Return one unbiased integer in 0..b-1 for every b in `bounds`, by rejection."""
    limits = bounds.astype(np.uint64)
    # The smallest 2^64 mod b words are refused, so that b divides the number of those accepted.
    refused_below = (np.uint64(0) - limits) % limits
    words = rng.words(len(limits)).copy()
    while (again := np.flatnonzero(words < refused_below)).size:
        words[again] = rng.words(again.size)
    return (words % limits).astype(np.int64)


def whole_below(rng: Randomness, bound: int) -> int:
    """Return a uniform whole number in 0..bound-1, for a bound of any size.

    Privacy:
        Guarantee: none by itself; the law is exact.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_target.py
    """
    bits = (bound - 1).bit_length()
    words = -(-bits // _WORD_BITS)
    while True:
        drawn = 0
        for word in rng.words(words).tolist():
            drawn = drawn << _WORD_BITS | word
        drawn >>= words * _WORD_BITS - bits
        if drawn < bound:
            return drawn


def discrete_laplace(rng: Randomness, epsilon: Fraction) -> int:
    """Return a whole number x with a chance in proportion to exp(-epsilon |x|) [CKS20].

    Privacy:
        Sensitivity: 1, for a whole number that the draw is added to.
        Guarantee: epsilon-DP for the sum, exactly.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_target.py

    References:
        [CKS20] Canonne, Kamath & Steinke (2020), arXiv:2004.00010, algorithm 2.
    """
    steps, scale = epsilon.numerator, epsilon.denominator
    while True:
        fine = whole_below(rng, scale)
        if not _chance_exp(rng, Fraction(fine, scale)):
            continue
        coarse = 0
        while _chance_exp(rng, Fraction(1)):
            coarse += 1
        size = (fine + scale * coarse) // steps
        negative = bool(whole_below(rng, 2))
        # Otherwise 0 would count twice, once for either sign.
        if size or not negative:
            return -size if negative else size


def _chance_exp(rng: Randomness, x: Fraction) -> bool:
    """Return True with a chance of exp(-x), for x in [0, 1] [CKS20, algorithm 1]."""
    trials = 1
    while whole_below(rng, x.denominator * trials) < x.numerator:
        trials += 1
    return trials % 2 == 1


def _uniforms(words: WordArray, rng: Randomness) -> FloatArray:
    """Turn words of 63 bits into uniforms on (0, 1): 11 bits of exponent, then 52 of mantissa."""
    mantissas = 1.0 + (words & _MANTISSA).astype(np.float64) * 2.0**-52
    leading = (words >> _MANTISSA_BITS) & _EXPONENT
    zeros = _leading_zeros(leading, 11)
    # If all 11 bits are zero, once in 2048 words, the exponent continues in fresh words.
    unfinished = np.flatnonzero(leading == 0)
    while unfinished.size:
        more = rng.words(unfinished.size)
        zeros[unfinished] += _leading_zeros(more, 64)
        unfinished = unfinished[more == 0]
    return np.ldexp(mantissas, -1 - zeros)


def _leading_zeros(words: WordArray, width: int) -> IntArray:
    """Count the zero bits before the first one, in words of `width` bits."""
    high = words >> np.uint64(32)
    low = words & np.uint64(0xFFFFFFFF)
    # Each half is exact as a float, and frexp's exponent is its bit length.
    high_length = np.frexp(high.astype(np.float64))[1]
    low_length = np.frexp(low.astype(np.float64))[1]
    return (width - np.where(high > 0, high_length + 32, low_length)).astype(np.int64)
