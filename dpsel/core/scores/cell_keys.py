"""Numbers and words as small whole numbers: numbers in the same order, exactly."""

from dataclasses import field

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, WordArray
from dpsel.records import frozen

# So many cells go through all steps at once, while they are in the processor's cache.
_CELLS_AT_ONCE = 1 << 15
_ONE = np.uint64(1)
_MAGNITUDE = np.uint64((1 << 63) - 1)
_INFINITY = np.uint64(0x7FF0 << 48)
_SIGN = np.uint64(63)


@frozen
class CellKeys:
    """Keys from 0 on, a row for every column: equal and smaller where the cells are.

    The key of a missing cell means nothing.
    """

    keys: WordArray = field(repr=False)
    missing: BoolArray | None = field(repr=False)


def number_keys(numbers: FloatArray) -> CellKeys:
    """Return the keys of numbers, a row for every column; NaN is missing.

    They come from the bits of floats, without the gaps that a column does not use. The bits of
    positive floats, as integers, are in their order. Bits at the end that are 0 in a whole column
    go, as in integers, and so does the gap between 0 and the smallest magnitude.

    Privacy:
        Domain: any floats.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_stump.py
    """
    missing = None
    facts = _FloatFacts(numbers)
    if (facts.high > _INFINITY).any():
        missing = np.isnan(numbers)
        numbers = np.where(missing, 0.0, numbers)
        facts = _FloatFacts(numbers)
    keys = np.empty(numbers.shape, dtype=np.uint64)
    for part in _parts(numbers):
        facts.place(numbers[:, part], keys[:, part])
    return CellKeys(keys, missing)


def word_keys(codes: IntArray, missing: BoolArray) -> CellKeys:
    """Return the keys of words, a row for every column: how far above the smallest each code is.

    Privacy:
        Domain: codes from 0 on; those of missing cells may be anything.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_stump.py
    """
    # Something that is there, so that nothing missing makes the keys larger.
    filling = np.take_along_axis(codes, missing.argmin(axis=1)[:, np.newaxis], axis=1)
    codes = np.where(missing, filling, codes)
    smallest = codes.min(axis=1, keepdims=True)
    return CellKeys((codes - smallest).view(np.uint64), missing)


def key_ranks(keys: WordArray) -> WordArray:
    """Return each row's keys as numbers below its length, in the same order."""
    ranks = [np.unique(row, return_inverse=True)[1].reshape(-1) for row in keys]
    return np.stack(ranks).astype(np.uint64)


class _FloatFacts:
    """What the magnitudes in each column have in common: bits at the end, and their range."""

    def __init__(self, numbers: FloatArray) -> None:
        count = len(numbers)
        used = np.zeros(count, dtype=np.uint64)
        self.high = np.zeros(count, dtype=np.uint64)
        below_low = np.full(count, np.iinfo(np.uint64).max, dtype=np.uint64)
        for part in _parts(numbers):
            bits = _bits(numbers[:, part])
            used |= np.bitwise_or.reduce(bits, axis=1)
            bits &= _MAGNITUDE
            np.maximum(self.high, bits.max(axis=1), out=self.high)
            # One less, so that 0 is the largest of all, and only a nonzero magnitude counts.
            bits -= _ONE
            np.minimum(below_low, bits.min(axis=1), out=below_low)
        self.negative = (used >> _SIGN).astype(np.bool_)
        self.zeros = _trailing_zeros(used & _MAGNITUDE)
        # Where all are 0, the smallest magnitude is 0 too.
        low = (below_low + _ONE) >> self.zeros
        self.base = np.where(low > 0, low - _ONE, low)
        self.span = (self.high >> self.zeros) - self.base

    def place(self, numbers: FloatArray, keys: WordArray) -> None:
        """Write the keys of some rows."""
        bits = _bits(numbers)
        signs = bits.view(np.int64) >> np.int64(63)
        bits &= _MAGNITUDE
        bits >>= self.zeros[:, np.newaxis]
        np.maximum(bits, self.base[:, np.newaxis], out=bits)
        bits -= self.base[:, np.newaxis]
        # A sign of -1 turns a magnitude into its negative.
        bits ^= signs.view(np.uint64)
        bits -= signs.view(np.uint64)
        offset = np.where(self.negative, self.span, np.uint64(0))
        np.add(bits, offset[:, np.newaxis], out=keys)


def _bits(numbers: FloatArray) -> WordArray:
    """Return the bits of floats as words of their own; -0.0 becomes 0.0."""
    return np.asarray(numbers + 0.0).view(np.uint64)


def _trailing_zeros(words: WordArray) -> WordArray:
    """Return how many bits at the end are 0; none where all are."""
    lowest = words & (~words + _ONE)
    exponents: IntArray = np.frexp(lowest.astype(np.float64))[1].astype(np.int64)
    return np.maximum(exponents - 1, 0).astype(np.uint64)


def _parts(numbers: FloatArray) -> list[slice]:
    """Return slices of rows, of about as many cells as go at once."""
    width = max(1, _CELLS_AT_ONCE // max(1, len(numbers)))
    return [slice(first, first + width) for first in range(0, numbers.shape[1], width)]
