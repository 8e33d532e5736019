"""Numbers of any type as small whole numbers in the same order, exactly."""

from dataclasses import dataclass, field

import numpy as np

from dpsel.core.arrays import BoolArray, IntArray, NumberArray, WordArray
from dpsel.errors import UsageError

# So many cells go through all steps at once, while they are in the processor's cache.
_CELLS_AT_ONCE = 1 << 15
_ONE = np.uint64(1)
_MAGNITUDE = np.uint64((1 << 63) - 1)
_INFINITY = np.uint64(0x7FF0 << 48)
_SIGN = np.uint64(63)


@dataclass(frozen=True)
class CellKeys:
    """Keys from 0 to `largest`, a row for every column: equal and smaller where the numbers are.

    The key of a missing cell means nothing.
    """

    keys: WordArray = field(repr=False)
    largest: WordArray = field(repr=False)
    missing: BoolArray | None = field(repr=False)


def cell_keys(numbers: NumberArray, missing: BoolArray | None = None) -> CellKeys:
    """Return the keys of numbers, a row for every column; NaN and NaT are missing.

    No number is rounded: integers beyond 2^53 stay apart.

    Privacy:
        Domain: floats, integers, booleans, dates, or objects that can be compared.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_stump.py
    """
    kind = numbers.dtype.kind
    if kind == "f" and numbers.dtype.itemsize <= 8:
        return _float_keys(numbers, missing)
    if kind in "mM":
        no_time = np.isnat(numbers)
        missing = no_time if missing is None else missing | no_time
        return _integer_keys(numbers.view(np.int64), missing)
    if kind in "iub":
        return _integer_keys(numbers, missing)
    if kind not in "OSUf":
        raise UsageError(f"numbers cannot be of the type {numbers.dtype}")
    return _rank_keys(numbers, missing)


def key_ranks(keys: WordArray) -> WordArray:
    """Return each row's keys as numbers below its length, in the same order."""
    ranks = [np.unique(row, return_inverse=True)[1].reshape(-1) for row in keys]
    return np.stack(ranks).astype(np.uint64)


def _integer_keys(numbers: NumberArray, missing: BoolArray | None) -> CellKeys:
    """Return how far each integer is above the smallest of its column."""
    if numbers.dtype != np.uint64:
        numbers = numbers.astype(np.int64, copy=False)
    if missing is not None and missing.any():
        # Something that is there, so that nothing missing makes the keys larger.
        filling = np.take_along_axis(numbers, missing.argmin(axis=1)[:, np.newaxis], axis=1)
        numbers = np.where(missing, filling, numbers)
    smallest = numbers.min(axis=1).view(np.uint64)
    # Differences of words are right even where those of integers overflow.
    largest = numbers.max(axis=1).view(np.uint64) - smallest
    return CellKeys(numbers.view(np.uint64) - smallest[:, np.newaxis], largest, missing)


def _rank_keys(numbers: NumberArray, missing: BoolArray | None) -> CellKeys:
    """Return ranks, by comparing whatever the numbers are."""
    keys = np.zeros(numbers.shape, dtype=np.int64)
    for column, values in enumerate(numbers):
        there = np.ones(len(values), dtype=np.bool_) if missing is None else ~missing[column]
        keys[column, there] = np.unique(values[there], return_inverse=True)[1].reshape(-1)
    return _integer_keys(keys, None if missing is None else missing.astype(np.bool_))


def _float_keys(numbers: NumberArray, missing: BoolArray | None) -> CellKeys:
    """Return keys from the bits of floats, without the gaps that a column does not use.

    The bits of positive floats, as integers, are in their order. Bits at the end that are 0 in
    a whole column go, as in integers, and so does the gap between 0 and the smallest magnitude.
    """
    if missing is not None and missing.any():
        numbers = np.where(missing, 0.0, numbers)
    facts = _FloatFacts(numbers)
    if (facts.high > _INFINITY).any():
        no_number = np.isnan(numbers)
        missing = no_number if missing is None else missing | no_number
        numbers = np.where(no_number, 0.0, numbers)
        facts = _FloatFacts(numbers)
    keys = np.empty(numbers.shape, dtype=np.uint64)
    for part in _parts(numbers):
        facts.place(numbers[:, part], keys[:, part])
    return CellKeys(keys, np.where(facts.negative, facts.span * np.uint64(2), facts.span), missing)


class _FloatFacts:
    """What the magnitudes in each column have in common: bits at the end, and their range."""

    def __init__(self, numbers: NumberArray) -> None:
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

    def place(self, numbers: NumberArray, keys: WordArray) -> None:
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


def _bits(numbers: NumberArray) -> WordArray:
    """Return the bits of floats as words of their own; -0.0 becomes 0.0."""
    return np.asarray(numbers + np.float64(0.0)).view(np.uint64)


def _trailing_zeros(words: WordArray) -> WordArray:
    """Return how many bits at the end are 0; none where all are."""
    lowest = words & (~words + _ONE)
    exponents: IntArray = np.frexp(lowest.astype(np.float64))[1].astype(np.int64)
    return np.maximum(exponents - 1, 0).astype(np.uint64)


def _parts(numbers: NumberArray) -> list[slice]:
    """Return slices of rows, of about as many cells as go at once."""
    width = max(1, _CELLS_AT_ONCE // max(1, len(numbers)))
    return [slice(first, first + width) for first in range(0, numbers.shape[1], width)]
