"""The Python face of `dpsel select`."""

import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpsel.budget.account import carry_out, open_purse
from dpsel.budget.place import REQUIRE_END_TO_END, REQUIRE_LEDGER, Demands, is_demanded
from dpsel.cluster.place import plan_cluster
from dpsel.core.release import Selection
from dpsel.selection.request import make_request, select_order
from dpsel.selection.run import run_select_on


def select(
    table: Any,
    *,
    target: str,
    k: int,
    epsilon: float,
    features: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    positive: str | None = None,
    bounds: str | Path | Mapping[str, Any] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    score: str = "dot",
    mechanism: str = "canonical-lipschitz",
    gamma: float | None = None,
    sampler: str | None = None,
    delta: float | None = None,
    neighbors: str = "add-remove",
    person: str | None = None,
    rows_per_person: int | None = None,
    input_format: str | None = None,
    separator: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    ledger: str | None = None,
    ledger_file: str | Path | None = None,
    run_id: str | None = None,
    require_ledger: bool = False,
    require_end_to_end: bool = False,
    cluster: str | None = None,
    workers: int | None = None,
) -> Selection:
    """Select the k features of a table that matter most for a target, with differential privacy.

    What the data's holder should know, such as many cells outside their bounds, is said as a
    warning; it is not for release.

    Privacy:
        Domain: any table of at most 2^31 - 1 rows; a cell that is no number counts as the middle
            of its bounds. Column names and types are public, and so are all arguments.
        Neighbors: `neighbors`, for one row, or for one `person` with all rows.
        Sensitivity: that of the score on bounded rows, times `rows_per_person`.
        Guarantee: (epsilon, delta)-DP for the returned record; none with a `seed`.
        Assumes: bounds that were not read off the data; no observer of the running time.
        Tested by: tests/privacy/test_dot_sensitivity.py

    Args:
        table: A path, a folder or glob of Parquet files, `-` for stdin, or a frame of polars,
            pandas or pyarrow.
        target: The column to predict.
        k: How many features to select.
        epsilon: The privacy loss.
        features: Names or globs of the columns to choose from; all others if empty.
        exclude: Names or globs of columns to leave out.
        positive: The label of the target that counts 1; any other counts -1.
        bounds: Public bounds: a TOML or JSON file, or a mapping of that shape.
        lower: The public lower bound of every column, together with `upper`.
        upper: The public upper bound of every column.
        score: The name of the score.
        mechanism: The name of the mechanism.
        gamma: For the Lipschitz mechanisms: the weight of the worst included score, 0 to 1.
        sampler: For the Lipschitz mechanisms: `lazy` or `direct`.
        delta: For peeling and oneshot-laplace: the delta of an (epsilon, delta) guarantee.
        neighbors: `add-remove` or `replace-one`.
        person: The column that says whose row it is, to protect persons instead of rows.
        rows_per_person: At most so many rows of a person count; 1 if not given.
        input_format: The format of the file, if its name does not tell.
        separator: What separates the cells of a CSV.
        seed: Makes the draw reproducible, for tests; nothing is then guaranteed.
        threads: How many threads read and compute; all cores if not given.
        ledger: The ledger that is charged, before a row is read; that of the environment's
            DPSEL_LEDGER if not given. `dpsel budget init` makes one.
        ledger_file: The file of the ledgers, if it is not in its usual place.
        run_id: The name of this run: under it the ledger returns the same release ever after, and
            charges it once. The table is then not looked at.
        require_ledger: Refuse a run that no ledger is charged for; also if the environment's
            DPSEL_REQUIRE_LEDGER says so.
        require_end_to_end: Refuse a table or arguments whose guarantee would cover the selection
            only; also if DPSEL_REQUIRE_END_TO_END says so.
        cluster: Where to read the table, if not here: `tcp://HOST:PORT` or `tls://HOST:PORT` of a
            Dask scheduler, or `slurm`. The result is the same; see docs/cluster.md.
        workers: For SLURM how many to start, else how many to wait for.

    Raises:
        UsageError: If an argument does not fit.
        InputError: If the table, the bounds or the ledger cannot be used.
        BudgetError: If the ledger has not enough left.
        OutputError: If the ledger cannot be written.
        ClusterError: If the cluster cannot be reached, or is lost.
    """
    plan = make_request(
        target=target,
        k=k,
        epsilon=epsilon,
        features=(features,) if isinstance(features, str) else tuple(features),
        exclude=(exclude,) if isinstance(exclude, str) else tuple(exclude),
        positive=positive,
        bounds=bounds,
        lower=lower,
        upper=upper,
        score=score,
        mechanism=mechanism,
        gamma=gamma,
        sampler=sampler,
        delta=delta,
        neighbors=neighbors,
        person=person,
        rows_per_person=rows_per_person,
        input_format=input_format,
        separator=separator,
        seed=seed,
        threads=threads,
        demands=Demands(
            is_demanded(require_ledger, REQUIRE_LEDGER),
            is_demanded(require_end_to_end, REQUIRE_END_TO_END),
        ),
    )
    place = plan_cluster(cluster, workers)
    payer = _Warner()
    purse = open_purse(
        select_order(table, plan), payer, ledger=ledger, ledger_file=ledger_file, run_id=run_id
    )
    return carry_out(
        lambda charge: run_select_on(place, table, plan, payer, charge), purse, payer
    ).selection


class _Warner:
    """Turns notes into Python warnings."""

    def note(self, message: str) -> None:
        """Warn, at the line that called `select`."""
        level, frame = 1, sys._getframe()
        while frame.f_back is not None and frame.f_globals["__name__"].startswith("dpsel."):
            level, frame = level + 1, frame.f_back
        warnings.warn(message, UserWarning, stacklevel=level)

    def warn(self, message: str) -> None:
        """Warn, like any note."""
        self.note(message)

    def receipt(self, message: str) -> None:
        """Say nothing: it went as it was asked for."""

    def size(self, file_bytes: int) -> None:
        """Say nothing."""

    def progress(self, done: float) -> None:
        """Say nothing."""
