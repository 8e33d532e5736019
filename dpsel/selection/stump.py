"""`select` by the score `stump`: any columns as they are, no bounds, no preprocessing."""

from dataclasses import replace

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.batch import Batch
from dpsel.core.groups import GroupedColumns
from dpsel.core.picks import rows_needed
from dpsel.core.release import DrawnBy, Selection, StumpRequest, release_stump
from dpsel.core.scores.stump import UNIT, Cells, WeightRule, stump_scores, stump_sensitivity
from dpsel.selection.run import TableJob, covered
from dpsel.tables.opening import unchanged
from dpsel.tables.table import Table
from dpsel.tables.whole_columns import WholeColumns


class StumpJob(TableJob):
    """A job whose columns are scored one by one, once the target's weights are known."""

    def read(self, table: Table) -> "ColumnsToScore":
        """Return what reads the target, and then the columns."""
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
        return ColumnsToScore(table, columns, len(self._layout.names))

    def release(self, private: "ColumnsToScore") -> Selection:
        """Find the weights, score, and draw."""
        request = self._request
        assert isinstance(request.stump, StumpRequest)
        selection = release_stump(
            GroupedColumns(private, self._features),
            self._features.names,
            request.stump,
            request.guarantee,
            DrawnBy(request.score, request.mechanism, request.parameters),
            request.seed,
        )
        selection = self._features.stated(selection)
        self._tell(private)
        if selection.guarantee is None:
            return selection
        return replace(
            selection, guarantee=covered(selection.guarantee, private.columns.provenance)
        )

    def _hint(self) -> None:
        """Tell the holder, from public numbers, how many rows it takes."""
        k, d = self._request.k, len(self._features.names)
        guarantee = self._request.guarantee
        moved = stump_sensitivity(guarantee.neighbors, guarantee.unit) // UNIT
        rows = moved * rows_needed(k, d, guarantee.epsilon)
        self._reporter.hint(
            f"to select {k} of {d} features at epsilon {guarantee.epsilon:g} better than by chance "
            f"takes about {rows:,} rows"
        )

    def _tell(self, private: "ColumnsToScore") -> None:
        """Tell the holder what was wrong with the rows and the target."""
        request, target = self._request, self._request.wanted.target
        for note in private.columns.notes:
            self._reporter.note(note)
        if request.coding.positive is not None and not private.columns.label_seen:
            self._reporter.note(f"no row has the label '{request.coding.positive}' in '{target}'")
        elif private.missing_targets > _MOST:
            self._reporter.note(
                f"{private.missing_targets:.0%} of the cells of '{target}' are missing or no "
                "numbers; name a label with --positive, or all with --classes"
            )


# So large a share of targets without a use is a mistake, most likely.
_MOST = 0.5


class ColumnsToScore:
    """The columns of a table, which are private, for `release_stump`."""

    def __init__(self, table: Table, columns: WholeColumns, features: int) -> None:
        """Read nothing yet."""
        self._table = table
        self._features = features
        self.columns = columns
        self.missing_targets = 0.0

    def target(self) -> FloatArray:
        """Return the target of all rows that count."""
        with unchanged(self._table.sources):
            y = self.columns.target()
        self.missing_targets = float(np.isnan(y).mean()) if len(y) else 0.0
        return y

    def scores(self, rule: WeightRule) -> IntArray:
        """Return the scores of all columns, a row for every round.

        Privacy:
            Guarantee: none; the scores are private input for a mechanism.
            Tested by: tests/cli/test_stump.py
        """
        weights = rule.weights(self.columns.target())

        def scored(batch: Batch) -> tuple[int, IntArray]:
            return batch.first_feature, stump_scores(Cells.of(np.asarray(batch.X)), weights)

        values = np.zeros((len(rule.values), self._features), dtype=np.int64)
        with unchanged(self._table.sources):
            for first, found in self.columns.reduce(scored):
                values[:, first : first + found.shape[1]] = found
        return values
