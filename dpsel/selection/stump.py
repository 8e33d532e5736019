"""`select` by the score `stump`, which takes raw columns without bounds or preprocessing."""

from dataclasses import replace

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.batch import Batch
from dpsel.core.epsilon_parts import rows_needed
from dpsel.core.groups import Features
from dpsel.core.guarantee import Guarantee
from dpsel.core.release import DrawnBy, release_stump
from dpsel.core.scores.stump import UNIT, WeightRule, matrix_scores, stump_sensitivity
from dpsel.core.selection import Selection, listed
from dpsel.selection.run import Job
from dpsel.tables.opening import unchanged
from dpsel.tables.table import Table
from dpsel.tables.whole_columns import WholeColumns

# Beyond this epsilon, the odds of a guess about one row may change by a factor above 10^8.
_HARDLY_PRIVATE = 20.0


class StumpJob(Job):
    """A job that first finds the weights of the target, and then scores column by column."""

    def read(self, table: Table) -> "ColumnsToScore":
        """Return the columns; they are read only when `release` needs them."""
        self._hint()
        request = self._request
        limit = request.person_limit()
        columns = WholeColumns(
            table,
            self._layout,
            request.coding,
            limit,
            request.threads,
            self._reporter,
            row_ranks=request.row_ranks,
        )
        return ColumnsToScore(table, columns, self._features)

    def release(self, private: "ColumnsToScore") -> Selection:
        """Find the weights of the target, score the columns, and draw."""
        request = self._request
        assert request.stump is not None
        selection = release_stump(
            private,
            self._features.names,
            request.stump,
            request.guarantee,
            DrawnBy(request.score, request.mechanism, request.parameters),
            request.seed,
        )
        selection = self._features.stated(selection)
        self._note_problems(private)
        if selection.guarantee is None:
            return selection
        return replace(selection, guarantee=self._guarantee(private.columns.provenance))

    def _hint(self) -> None:
        """Tell the holder, from public numbers, about how many rows the selection needs."""
        k, d = self._request.k, len(self._features.names)
        if k == d and self._request.stump is not None and not self._request.stump.up_to:
            self._reporter.hint(f"k is {k}, the number of features: all of them are selected")
            return
        guarantee, epsilon = self._request.guarantee, self._request.guarantee.epsilon
        moved = stump_sensitivity(guarantee.neighbors, guarantee.unit) // UNIT
        rows = moved * rows_needed(k, d, epsilon)
        self._reporter.hint(
            f"to select {k} of {d} features at epsilon {epsilon:g} better than by chance "
            f"takes about {rows:,} row{'' if rows == 1 else 's'}{_hardly_private(guarantee)}"
        )

    def _note_problems(self, private: "ColumnsToScore") -> None:
        """Tell the holder about problems with the rows and the target."""
        for note in private.columns.notes:
            self._reporter.note(note)
        y = private.columns.target()  # It was read before.
        if len(y):
            self._note_classes(y)
        self._warn_of_target(
            rows=len(y) > 0,
            label_seen=private.columns.label_seen,
            unusable=private.missing_targets,
        )

    def _note_classes(self, y: FloatArray) -> None:
        """Tell the holder which of the classes no row has: a slip, or a rare class."""
        classes = self._request.coding.classes or ()
        if not classes:
            return
        counts = np.bincount(y[~np.isnan(y)].astype(np.intp), minlength=len(classes))
        unseen = [f"'{label}'" for label, rows in zip(classes, counts, strict=True) if not rows]
        if unseen:
            labels = "label" if len(unseen) == 1 else "labels"
            target = self._request.wanted.target
            self._reporter.note(f"no row has the {labels} {listed(unseen)} in '{target}'")


def _hardly_private(guarantee: Guarantee) -> str:
    """Return what to say about an epsilon that hardly protects."""
    if guarantee.epsilon <= _HARDLY_PRIVATE:
        return ""
    return (
        f"; but this epsilon hardly protects: one {guarantee.unit.name} may make a result "
        f"exp({guarantee.epsilon:g}) times as likely; usual are 0.1 to 10"
    )


class ColumnsToScore:
    """The columns of a table as `release_stump` needs them. Private."""

    def __init__(self, table: Table, columns: WholeColumns, features: Features) -> None:
        """Keep the columns, and the features that they make up; read nothing yet."""
        self._table = table
        self._features = features
        self.columns = columns
        self.missing_targets = 0.0

    def target(self) -> FloatArray:
        """Return the target of every row that counts."""
        with unchanged(self._table.sources):
            y = self.columns.target()
        self.missing_targets = float(np.isnan(y).mean()) if len(y) else 0.0
        return y

    def scores(self, rule: WeightRule) -> IntArray:
        """Return the scores of all features, one row per round: see `Features.largest`."""
        scores: IntArray = self._features.largest(self._column_scores(rule))
        return scores

    def _column_scores(self, rule: WeightRule) -> IntArray:
        """Return the scores of all columns, one row per round.

        Privacy:
            Guarantee: none; the scores are private input for a mechanism.
            Tested by: tests/cli/test_stump.py
        """
        weights = rule.weights(self.columns.target())

        def scored(batch: Batch) -> tuple[slice, IntArray]:
            return batch.features, matrix_scores(np.asarray(batch.X), weights)

        values = np.zeros((len(rule.values), self.columns.count), dtype=np.int64)
        with unchanged(self._table.sources):
            for features, scores in self.columns.reduce(scored):
                values[:, features] = scores
        return values
