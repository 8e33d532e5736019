"""Groups of columns that count as one feature, scored by the largest score of their columns."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from dpsel.core.arrays import IntArray, NumberArray
from dpsel.core.scores.base import Scores
from dpsel.core.selection import Selection
from dpsel.records import frozen


@frozen
class Features:
    """The features to select from: columns, and groups of columns.

    A group takes the place of its first member.
    """

    names: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The members of each group; no column is in two groups."""
    places: IntArray | None = None
    """For every column, the index of its feature; None if every column is a feature of its own."""

    @staticmethod
    def of(columns: Sequence[str], groups: Mapping[str, Sequence[str]]) -> "Features":
        """Return the features of a table with these columns and groups."""
        if not groups:
            return Features(tuple(columns))
        group_of = {member: group for group, members in groups.items() for member in members}
        # In the order of the first members. No group has the name of a column.
        place_of: dict[str, int] = {}
        places = [place_of.setdefault(group_of.get(name, name), len(place_of)) for name in columns]
        members = {group: tuple(members) for group, members in groups.items()}
        return Features(tuple(place_of), members, np.array(places, dtype=np.int64))

    def largest(self, values: NumberArray) -> NumberArray:
        """Return the largest value of each feature's columns, along the last axis.

        For any numbers |max a_i - max b_i| <= max |a_i - b_i|: let a_j be the largest of the a_i;
        then max a_i - max b_i <= a_j - b_j, and likewise with a and b exchanged. So the largest of
        several scores moves no farther than the score that moves farthest. Which columns are in a
        group is public, and fixed before any row is read.

        Privacy:
            Domain: any numbers, one per column.
            Neighbors: those for which the columns' sensitivity is stated.
            Sensitivity: L-infinity, at most that of the columns' scores.
            Guarantee: none; the result is private input for a mechanism.
            Tested by: tests/privacy/test_groups.py
        """
        if self.places is None:
            return values
        order = np.argsort(self.places, kind="stable")
        starts = np.searchsorted(self.places[order], np.arange(len(self.names)))
        largest: NumberArray = np.maximum.reduceat(values[..., order], starts, axis=-1)
        return largest

    def scores(self, scores: Scores) -> Scores:
        """Return the scores of the features, given those of the columns: see `largest`."""
        return replace(scores, values=self.largest(scores.values))

    def stated(self, selection: Selection) -> Selection:
        """Return the selection with the columns of every group that it names."""
        chosen = [name for name in selection.selected_features if name in self.groups]
        return replace(selection, groups={name: self.groups[name] for name in chosen})
