"""Keys of cells: small unsigned integers that compare exactly as the cells do.

Equal cells of a column have equal keys, and keys of numbers are in the same order as the numbers.
Small keys leave bits free for the group of the row: see `questions.py`.
"""

from dataclasses import field

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, WordArray
from dpsel.records import frozen

# How many cells go through all steps together, so that they stay in the processor's cache.
_CELLS_AT_ONCE = 1 << 15
_ONE = np.uint64(1)
_MAGNITUDE = np.uint64((1 << 63) - 1)
_SIGN = np.uint64(63)
_SINGLE_SIGN = np.uint32(1 << 31)


@frozen
class CellKeys:
    """Keys from 0 on, one row per column, in the order of the cells.

    The key of a missing cell means nothing.
    """

    keys: WordArray = field(repr=False)
    missing: BoolArray | None = field(repr=False)


def number_keys(numbers: FloatArray) -> CellKeys:
    """Return the keys of numbers, given one row per column; NaN is missing.

    The bits of a positive float, read as an integer, are in the order of the floats. Two steps make
    these integers smaller, if a column allows it: trailing bits that are 0 in the whole column, as
    in small integers, are dropped, and so is the gap between 0 and the smallest other magnitude.

    Privacy:
        Domain: any floats.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_stump.py
    """
    missing = None
    if np.isnan(numbers.min(initial=0.0)):
        missing = np.isnan(numbers)
        numbers = np.where(missing, 0.0, numbers)
    if (keys := _single_keys(numbers)) is not None:
        return CellKeys(keys, missing)
    facts = _FloatFacts(numbers)
    keys = np.empty(numbers.shape, dtype=np.uint64)
    for part in _parts(numbers):
        facts.place(numbers[:, part], keys[:, part])
    return CellKeys(keys, missing)


def _single_keys(numbers: FloatArray) -> WordArray | None:
    """Return the keys of numbers that are all exact in single precision, or else None.

    This is for speed: expression arrays are in single precision, and this takes a third of the
    time. The sign bit of positive floats is flipped, and all bits of negative ones, which puts
    their bits in the order of the floats.
    """
    with np.errstate(over="ignore"):
        singles = numbers.astype(np.float32)
    if not np.array_equal(singles, numbers):
        return None
    bits = (singles + np.float32(0)).view(np.uint32)  # -0.0 becomes 0.0
    signs = (bits.view(np.int32) >> np.int32(31)).view(np.uint32)
    bits ^= signs | _SINGLE_SIGN
    return bits.astype(np.uint64)


def word_keys(codes: IntArray, missing: BoolArray) -> CellKeys:
    """Return the keys of words, one row per column: each code minus the column's smallest code.

    Privacy:
        Domain: codes from 0 on; those of missing cells may be anything.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_stump.py
    """
    # Missing cells take the code of a word of the column, so that they do not make keys larger.
    filling = np.take_along_axis(codes, missing.argmin(axis=1)[:, np.newaxis], axis=1)
    codes = np.where(missing, filling, codes)
    smallest = codes.min(axis=1, keepdims=True)
    return CellKeys((codes - smallest).view(np.uint64), missing)


def key_ranks(keys: WordArray) -> WordArray:
    """Return the rank of each key among the distinct keys of its row, from 0 on."""
    ranks = [np.unique(row, return_inverse=True)[1].reshape(-1) for row in keys]
    return np.stack(ranks).astype(np.uint64)


class _FloatFacts:
    """The trailing zero bits and the range of the magnitudes in each column.

    A magnitude is the bits of a float without the sign. Shifted right by `zeros`, magnitudes above
    0 become 1 to `span` after `base` is subtracted, and 0 becomes 0.
    """

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
            # Subtracting 1 turns 0 into the largest integer: the minimum is over the others.
            bits -= _ONE
            np.minimum(below_low, bits.min(axis=1), out=below_low)
        self.negative = (used >> _SIGN).astype(np.bool_)
        self.zeros = _trailing_zeros(used & _MAGNITUDE)
        # In a column that has only zeros, adding 1 wraps around to 0.
        low = (below_low + _ONE) >> self.zeros
        self.base = np.where(low > 0, low - _ONE, low)
        self.span = (self.high >> self.zeros) - self.base

    def place(self, numbers: FloatArray, keys: WordArray) -> None:
        """Write the keys of some rows of all columns."""
        bits = _bits(numbers)
        signs = bits.view(np.int64) >> np.int64(63)
        bits &= _MAGNITUDE
        bits >>= self.zeros[:, np.newaxis]
        np.maximum(bits, self.base[:, np.newaxis], out=bits)
        bits -= self.base[:, np.newaxis]
        # Negate where the number is negative: in two's complement, (m ^ -1) - (-1) = -m.
        bits ^= signs.view(np.uint64)
        bits -= signs.view(np.uint64)
        # Make all keys at least 0.
        offset = np.where(self.negative, self.span, np.uint64(0))
        np.add(bits, offset[:, np.newaxis], out=keys)


def _bits(numbers: FloatArray) -> WordArray:
    """Return the bits of floats as unsigned integers, in a new array; -0.0 becomes 0.0."""
    return np.asarray(numbers + 0.0).view(np.uint64)


def _trailing_zeros(words: WordArray) -> WordArray:
    """Return the number of trailing zero bits of each integer, and 0 for the integer 0."""
    lowest = words & (~words + _ONE)
    exponents: IntArray = np.frexp(lowest.astype(np.float64))[1].astype(np.int64)
    return np.maximum(exponents - 1, 0).astype(np.uint64)


def _parts(numbers: FloatArray) -> list[slice]:
    """Return slices of rows that hold about `_CELLS_AT_ONCE` cells each."""
    width = max(1, _CELLS_AT_ONCE // max(1, len(numbers)))
    return [slice(first, first + width) for first in range(0, numbers.shape[1], width)]
