"""At most R rows per person, which turns a guarantee for rows into one for persons."""

from collections.abc import Hashable, Sequence
from dataclasses import field

import numpy as np

from dpsel.core.arrays import BoolArray, IntArray
from dpsel.errors import InputError
from dpsel.records import frozen


class PersonLimit:
    """Keeps the first R rows of every person, over all batches of a table.

    A row without a person is left out, since no person's limit covers it. Which rows of a person
    are kept depends on that person's rows alone, so adding or removing a person changes at most R
    rows.
    """

    def __init__(self, rows: int) -> None:
        """Allow at most `rows` rows per person."""
        self._rows = rows
        self._seen: dict[Hashable, int] = {}

    def keep(self, persons: Sequence[Hashable], codes: IntArray) -> BoolArray:
        """Return which rows of the next batch are kept.

        Privacy:
            Neighbors: all rows of one person, added, removed or replaced.
            Guarantee: none; the kept rows are private input for a score.
            Tested by: tests/core/test_persons.py

        Args:
            persons: The distinct persons of the batch.
            codes: For every row, the index of its person in `persons`, or -1 for none.
        """
        counts = np.bincount(codes[codes >= 0], minlength=len(persons))
        left = np.zeros(len(persons) + 1, dtype=np.int64)
        for place, person in enumerate(persons):
            seen = self._seen.get(person, 0)
            left[place] = self._rows - seen
            self._seen[person] = min(self._rows, seen + int(counts[place]))
        keep: BoolArray = _occurrence(codes) < left[codes]
        return keep


@frozen
class RowMask:
    """Which rows are kept, one bit per row. Private, so not in `repr`."""

    rows: int = field(repr=False)
    bits: bytes = field(repr=False)

    @staticmethod
    def of(masks: Sequence[BoolArray]) -> "RowMask":
        """Return the mask of the rows of several batches, in their order."""
        mask = np.concatenate([np.zeros(0, dtype=np.bool_), *masks])
        return RowMask(len(mask), np.packbits(mask).tobytes())

    def unpacked(self) -> BoolArray:
        """Return one truth value per row."""
        bits = np.frombuffer(self.bits, dtype=np.uint8)
        return np.unpackbits(bits, count=self.rows).astype(np.bool_)


class KeptRows:
    """Keeps the rows that an earlier pass over the whole table has chosen."""

    def __init__(self, mask: RowMask) -> None:
        """Start at the first row of `mask`."""
        self._mask = mask.unpacked()
        self._rows_read = 0

    def next(self, rows: int) -> BoolArray:
        """Return which of the next `rows` rows are kept."""
        kept = self._mask[self._rows_read : self._rows_read + rows]
        self._rows_read += rows
        if len(kept) < rows:
            raise InputError("the table has changed since its persons were counted")
        return kept

    def check_all_given(self) -> None:
        """Refuse a table with fewer rows than the mask."""
        if self._rows_read != len(self._mask):
            raise InputError("the table has changed since its persons were counted")


def _occurrence(codes: IntArray) -> IntArray:
    """Return, for every row, how many earlier rows of the batch have the same code."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    occurrence = np.empty_like(codes)
    occurrence[order] = np.arange(len(codes)) - np.searchsorted(ordered, ordered)
    return occurrence
