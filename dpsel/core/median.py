"""A private median, drawn exactly, without bounds on the numbers; it also says how to split ties.

The outcome is (v, j): a float v, and tau = j / 2^32 for j in 0..2^32, the share of the rows at v
that count as below it. Let x = #{y < v} + tau #{y = v} - n / 2, the distance from an even split in
rows, and c = floor(2 |x|). The outcome has the weight base(v) g(c):

- base is a public measure on all finite floats, in whole numbers. Of its mass, 0.2 is spread
  evenly over all floats, 0.2 over those with 2^-14 <= |v| <= 2^30, 0.3 lies on whole numbers and
  0.2 on hundredths, in proportion to about 1 / (8 + |i|), and 0.1 on zero;
- g(0) = 2^96 and g(c + 1) = ceil(r g(c)), with a fraction r that is not below exp(-epsilon / 2 s).

Adding or removing a row moves 2 x by at most 1, and c too; s is the most that one unit moves c.
Since g falls by no more than a factor r per step, each weight, and the sum of all weights, changes
by a factor between r^s and r^-s. So the chance of any outcome changes by at most
r^-2s <= exp(epsilon).
"""

import math
import struct
from bisect import bisect_right
from collections.abc import Iterator
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from itertools import accumulate

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.randomness import Randomness, whole_below
from dpsel.records import frozen

TAUS = 1 << 32
"""tau is a multiple of 1 / TAUS: however many rows are tied, some tau splits them evenly."""

_STARTING_BITS = 96
_RATE_BITS = 64
_LARGEST = 0x7FEFFFFFFFFFFFFF
"""The bits of the largest finite float."""


@frozen
class Median:
    """Where the target's weights change sign, and the share of rows there that count as below."""

    value: float
    below: int
    """The share tau, in units of 1 / TAUS."""


def private_median(y: FloatArray, epsilon: Fraction, steps: int, rng: Randomness) -> Median:
    """Draw a median of the numbers in `y`; NaN does not count.

    Privacy:
        Domain: any floats, any number of them.
        Neighbors: tables of which one unit moves 2 |x| by at most `steps`: 1 for a row under
            add-remove, 2 under replace-one, times the rows of a person.
        Guarantee: epsilon-DP for the median, exactly.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_target.py
    """
    return MedianLaw(y, epsilon, steps).draw(rng)


@frozen
class Piece:
    """Consecutive floats, with keys from `first` to below `last`, that share the same weights."""

    first: int
    last: int
    runs: tuple[tuple[int, int], ...]
    """Runs of consecutive taus, from 0 on: the length of each run and its g(c)."""

    @property
    def weight(self) -> int:
        """The weight of all outcomes in this piece."""
        return (mass_below(self.last) - mass_below(self.first)) * self._weight_of_a_float

    @property
    def _weight_of_a_float(self) -> int:
        """The weight of one float with all its taus, per unit of its mass."""
        return sum(count * level for count, level in self.runs)

    def outcome(self, drawn: int) -> Median:
        """Return the outcome at position `drawn`, from 0 to below `weight`."""
        place, rest = divmod(drawn, self._weight_of_a_float)
        ends = list(accumulate(count * level for count, level in self.runs))
        run = bisect_right(ends, rest)
        before = sum(count for count, _ in self.runs[:run])
        count, level = self.runs[run]
        mass = mass_below(self.first) + place
        below = before + (rest - ends[run] + count * level) // level
        return Median(_float_of(_key_at(mass, self.first, self.last)), below)


class MedianLaw:
    """The law of the median of one table. Private: only for drawing from it, and for tests."""

    def __init__(self, y: FloatArray, epsilon: Fraction, steps: int) -> None:
        """Compute the pieces of the law, on each of which the weights are constant."""
        self.pieces = list(_pieces(y, epsilon, steps))
        self._ends = list(accumulate(piece.weight for piece in self.pieces))

    def draw(self, rng: Randomness) -> Median:
        """Draw one median.

        Privacy:
            Guarantee: that of `private_median`.
            Tested by: tests/privacy/test_target.py
        """
        drawn = whole_below(rng, self._ends[-1])
        index = bisect_right(self._ends, drawn)
        piece = self.pieces[index]
        return piece.outcome(drawn - self._ends[index] + piece.weight)


def _pieces(y: FloatArray, epsilon: Fraction, steps: int) -> Iterator[Piece]:
    """Yield the pieces of the law in ascending order."""
    known = y[~np.isnan(y)]
    n = len(known)
    levels = _levels(_rate(epsilon, steps), n)
    farthest = len(levels) - 1
    # Beyond these ranks the level is always the last one.
    first, last = max(0, (n - farthest) // 2), min(n, (n + farthest) // 2 + 1)
    if first < last:
        # Only the values between them are sorted.
        ends = np.partition(known, (first, last - 1))[[first, last - 1]]
        first = int(np.count_nonzero(known < ends[0]))
        known = known[(known >= ends[0]) & (known <= ends[1])]
    values, counts = np.unique(known, return_counts=True)
    key = -_LARGEST
    below = first
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        here = key_of(value)
        yield Piece(key, here, ((TAUS + 1, levels[min(abs(2 * below - n), farthest)]),))
        yield Piece(here, here + 1, tuple(_runs(2 * below - n, 2 * count, levels)))
        key, below = here + 1, below + count
    yield Piece(key, _LARGEST + 1, ((TAUS + 1, levels[min(abs(2 * below - n), farthest)]),))


def _runs(first: int, step: int, levels: list[int]) -> Iterator[tuple[int, int]]:
    """Yield runs of taus with the same g(c), where 2 x goes from `first` to `first + step`.

    In units of 1 / TAUS, 2 x is `start + step * j` for tau = j / TAUS.
    """
    start, farthest, j = first * TAUS, len(levels) - 1, 0
    while j <= TAUS:
        here = start + step * j
        c = min(abs(here) // TAUS, farthest)
        if here < 0:  # The last tau with the same c while 2 x is below 0.
            last = (-c * TAUS - start) // step
        elif c == farthest:
            last = TAUS
        else:
            last = ((c + 1) * TAUS - start - 1) // step
        last = min(last, TAUS)
        yield last - j + 1, levels[c]
        j = last + 1


def _rate(epsilon: Fraction, steps: int) -> int:
    """Return r in units of 2^-64, rounded up so that it is not below exp(-epsilon / 2 steps)."""
    context = Context(prec=60, rounding=ROUND_DOWN)
    exponent = epsilon / (2 * steps)
    low = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    # Decimal's exp is accurate to one unit in the last place; this margin is far larger.
    above = Fraction(context.exp(-low)) + Fraction(1, 10**40)
    return min(1 << _RATE_BITS, math.ceil(above * (1 << _RATE_BITS)))


def _levels(rate: int, most: int) -> list[int]:
    """Return g(0), g(1), ..., up to g(most) or until g no longer changes.

    `most` is the number of rows, since no value is farther from the middle. With a small epsilon
    that limit is reached long before g stops changing.
    """
    levels = [1 << _STARTING_BITS]
    while len(levels) <= most and (level := -(-levels[-1] * rate >> _RATE_BITS)) < levels[-1]:
        levels.append(level)
    return levels


def key_of(value: float) -> int:
    """Return a whole number for a float, in the same order: the bits of |value|, with its sign."""
    bits: int = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
    return -bits if value < 0 else bits


def _float_of(key: int) -> float:
    """Return the float with this key."""
    size: float = struct.unpack("<d", struct.pack("<q", abs(key)))[0]
    return -size if key < 0 else size


def _key_at(mass: int, first: int, last: int) -> int:
    """Return the key at a position of the base measure, counted from the smallest float."""
    while last - first > 1:
        middle = (first + last) // 2
        if mass_below(middle) <= mass:
            first = middle
        else:
            last = middle
    return first


@frozen
class _Spaced:
    """Multiples i / `parts`, weighted by about 1 / (8 + |i|): halved whenever 8 + |i| doubles."""

    parts: int
    halvings: int

    def below(self, value: float) -> int:
        """Return the weight of all multiples below a finite float."""
        limit = (1 << (self.halvings + 1)) - 8
        if abs(value) >= limit:
            return 2 * self._half(limit) - self._half(1) if value > 0 else 0
        index = math.ceil(value * self.parts)
        # Correct the index by comparing floats, as outcomes are compared.
        while (index - 1) / self.parts >= value:
            index -= 1
        while index / self.parts < value:
            index += 1
        index = max(1 - limit, min(limit, index))
        if index <= 0:
            return self._half(limit) - self._half(1 - index)
        return self._half(limit) - self._half(1) + self._half(index)

    def _half(self, count: int) -> int:
        """Return the weight of the indices 0 to count - 1."""
        power = (count + 8).bit_length() - 1
        return ((power - 3) << self.halvings) + (
            (count + 8 - (1 << power)) << (self.halvings - power) if power <= self.halvings else 0
        )

    def total(self) -> int:
        """Return the weight of all multiples."""
        return self.below(math.inf)


_WHOLE = _Spaced(1, 52)
_HUNDREDTHS = _Spaced(100, 40)
_PLAIN = (key_of(2.0**-14), key_of(2.0**30))
_FLOATS = 2 * _LARGEST + 1
# Each float has a mass of 1, which makes up 2 of the 10 parts of the whole mass. The other 8 parts:
# 2 for floats of ordinary size, 3 for whole numbers, 2 for hundredths and 1 for zero.
_PLAIN_MASS = _FLOATS // (2 * (_PLAIN[1] - _PLAIN[0] + 1))
_WHOLE_MASS = 3 * _FLOATS // (2 * _WHOLE.total())
_HUNDREDTH_MASS = _FLOATS // _HUNDREDTHS.total()
_ZERO_MASS = _FLOATS // 2


def mass_below(key: int) -> int:
    """Return the base measure of all finite floats with smaller keys; it is public."""
    key = max(-_LARGEST, min(_LARGEST + 1, key))
    least, most = _PLAIN
    plain = max(0, min(key, 1 - least) + most) if key <= 0 else most - least + 1
    plain += max(0, min(key, most + 1) - least)
    # The key after the largest float is that of infinity.
    spaced = _WHOLE_MASS * _WHOLE.below(_float_of(key))
    spaced += _HUNDREDTH_MASS * _HUNDREDTHS.below(_float_of(key))
    return key + _LARGEST + _PLAIN_MASS * plain + spaced + (_ZERO_MASS if key > 0 else 0)
