"""Groups of columns that count as one feature, by the largest score of their members."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, NumberArray
from dpsel.core.release import Selection, StumpColumns
from dpsel.core.scores.base import Scores
from dpsel.core.scores.stump import WeightRule
from dpsel.records import frozen


@frozen
class Features:
    """What is selected from: columns, and groups of columns.

    A group stands where its first member stood.
    """

    names: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The members of each group; no column is in two."""
    places: IntArray | None = None
    """For every column the feature that it belongs to; None if every column is one."""

    @staticmethod
    def of(columns: Sequence[str], groups: Mapping[str, Sequence[str]]) -> "Features":
        """Return the features of columns, of which some are in groups."""
        if not groups:
            return Features(tuple(columns))
        group_of = {member: group for group, members in groups.items() for member in members}
        # In the order of the first members; names of groups are none of columns.
        found: dict[str, int] = {}
        places = [found.setdefault(group_of.get(name, name), len(found)) for name in columns]
        members = {group: tuple(members) for group, members in groups.items()}
        return Features(tuple(found), members, np.array(places, dtype=np.int64))

    def largest(self, values: NumberArray) -> NumberArray:
        """Return for every feature the largest value of its columns, along the last axis.

        For any numbers |max a_i - max b_i| <= max |a_i - b_i|: let a_j be the largest of the a_i;
        then max a_i - max b_i <= a_j - b_j, and the same the other way round. So the largest of
        some scores moves no farther than the one of them that moves farthest. Which columns are in
        a group is public, and fixed before a row is read.

        Privacy:
            Domain: any numbers, one a column.
            Neighbors: those for which the columns' sensitivity is stated.
            Sensitivity: L-infinity, at most that of the columns' scores.
            Guarantee: none; the result is private input for a mechanism.
            Tested by: tests/privacy/test_groups.py
        """
        if self.places is None:
            return values
        order = np.argsort(self.places, kind="stable")
        starts = np.searchsorted(self.places[order], np.arange(len(self.names)))
        found: NumberArray = np.maximum.reduceat(values[..., order], starts, axis=-1)
        return found

    def scores(self, scores: Scores) -> Scores:
        """Return the scores of the features, from those of the columns: see `largest`."""
        return replace(scores, values=self.largest(scores.values))

    def stated(self, selection: Selection) -> Selection:
        """Return a selection that says which columns are in the groups it names."""
        chosen = [name for name in selection.selected_features if name in self.groups]
        return replace(selection, groups={name: self.groups[name] for name in chosen})


@frozen
class GroupedColumns:
    """Columns to be scored by `stump`, of which some are in groups. Private."""

    columns: StumpColumns
    features: Features

    def target(self) -> FloatArray:
        """Return the target of all rows that count."""
        return self.columns.target()

    def scores(self, rule: WeightRule) -> IntArray:
        """Return the scores of all features, a row for every round: see `Features.largest`."""
        found: IntArray = self.features.largest(self.columns.scores(rule))
        return found
