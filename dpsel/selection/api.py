"""The Python functions `dpsel.select` and `dpsel.baseline`, and the job that a request needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpsel.budget.account import Run, open_account
from dpsel.budget.payment import Payment
from dpsel.cluster.place import Place, Scheduler
from dpsel.core.selection import Selection
from dpsel.dictionary.options import DictionaryFile
from dpsel.options import Dataclass
from dpsel.python import Warner, python_function, record_of
from dpsel.reporter import Reporter
from dpsel.selection.options import (
    Baseline,
    BaselinePrivacy,
    Blocks,
    Bounding,
    ColumnChoice,
    Drawing,
    Method,
    Privacy,
    Scoring,
    Statement,
    TargetFacts,
    VoteDrawing,
    stated_date,
)
from dpsel.selection.request import Request, check_place, make_request, select_run
from dpsel.selection.run import Job, SelectJob, carry_out
from dpsel.tables.formats import Reading
from dpsel.tables.opening import own_names

_RELEASE: tuple[type[Dataclass], ...] = (ColumnChoice, Bounding, Reading, Payment, Statement)
_SELECT = (*_RELEASE, TargetFacts, Privacy, Scoring, Drawing, DictionaryFile, Place)
_BASELINE = (*_RELEASE, BaselinePrivacy, Blocks, VoteDrawing)


@python_function(*_SELECT)
def select(
    table: Any,
    *,
    target: str | int,
    epsilon: float,
    k: int | None = None,
    up_to: int | None = None,
    rows: int | None = None,
    features: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    positive: str | None = None,
    classes: str | Sequence[str] | None = None,
    share: float | None = None,
    target_center: float | None = None,
    bounds: str | Path | Mapping[Any, Any] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    dictionary: str | Path | Mapping[str, Any] | None = None,
    method: str = "stump",
    score: str | None = None,
    row_ranks: bool = False,
    mechanism: str | None = None,
    gamma: float | None = None,
    sampler: str | None = None,
    delta: float | None = None,
    neighbors: str = "add-remove",
    person: str | None = None,
    rows_per_person: int | None = None,
    input_format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
    seed: int | None = None,
    threads: int | None = None,
    ledger: str | None = None,
    ledger_file: str | Path | None = None,
    run_id: str | None = None,
    note: str | None = None,
    date: str | None = None,
    require_ledger: bool = False,
    require_end_to_end: bool = False,
    cluster: str | None = None,
    workers: int | None = None,
) -> Selection:
    """Select the k features of a table that matter most for a target, with differential privacy.

    Notes for the data holder, for example that many cells are outside their bounds, are issued as
    warnings; they are not for release.

    Example:
        selection = dpsel.select("visits.csv", target="came_back", positive="yes", k=3, epsilon=1)
        print(selection.selected_features)

    Privacy:
        Domain: any table of at most 2^31 - 1 rows. A cell that is not a number counts as a word
            for the score `stump`, and as missing for other scores. Column names and types are
            public, and so are all arguments.
        Neighbors: `neighbors`, for one row, or for one `person` with all their rows.
        Sensitivity: that of the score, times `rows_per_person`.
        Guarantee: (epsilon, delta)-DP for the returned record; none with a `seed`.
        Assumes: bounds and classes that were not derived from the data; no observer of the running
            time.
        Tested by: tests/privacy/test_stump_sensitivity.py, tests/privacy/test_stump_release.py,
            tests/privacy/test_dot_sensitivity.py

    Args:
        table: A path, a folder or glob of Parquet or CSV files, `-` for stdin, or a frame of
            polars, pandas or pyarrow.
        target: The column to predict.
        epsilon: The privacy loss.
        k: How many features to select.
        up_to: Instead of `k`: select as many features as epsilon allows, at most this many.
        rows: With `up_to`: the approximate, public number of rows; if not given, it is estimated
            with a twentieth of epsilon.
        features: Names or globs of the columns to choose from; all other columns if empty.
        exclude: Names or globs of columns to leave out.
        positive: The label of the target that counts 1; any other counts -1.
        classes: The labels of a target with three classes or more, as a list or with commas.
        share: With `positive`: the approximate, public share of rows with the label; if not given,
            it is estimated with a tenth of epsilon.
        target_center: For a numeric target: a public number that about half of the rows exceed; if
            not given, a median is estimated with a part of epsilon.
        bounds: Public bounds: `{"age": (0, 120)}`, a TOML or JSON file, or a mapping of its shape.
        lower: The public lower bound of every column, together with `upper`.
        upper: The public upper bound of every column.
        dictionary: Public facts about the columns: a TOML file, or a mapping of that shape; see
            docs/guides/dictionary.md. Other arguments override it.
        method: A name for a score and a mechanism: `stump`, which needs no bounds, `dp-sis`, the
            paper's method, `kendall` or `dpkendall`.
        score: The name of a score other than the method's.
        row_ranks: For stump and kendall: score each number by its rank among the features of its
            row, as for expression arrays. It costs no epsilon.
        mechanism: The name of a mechanism other than the method's.
        gamma: For the Lipschitz mechanisms: the weight of the worst included score, 0 to 1.
        sampler: For the Lipschitz mechanisms: `lazy` or `direct`.
        delta: For peeling and oneshot-laplace: the delta of an (epsilon, delta) guarantee.
        neighbors: `add-remove` or `replace-one`.
        person: The column that identifies the person of a row, to protect persons, not rows.
        rows_per_person: How many rows of each person count, at most; 1 if not given.
        input_format: The format of the file, if its name does not show it.
        separator: The separator of a CSV; detected from the first line if not given.
        decimal: The decimal mark of a CSV, a point or a comma.
        seed: Makes the draw reproducible, for tests; there is then no guarantee.
        threads: How many threads read and compute; all cores if not given.
        ledger: The ledger to charge before a row is read; if not given, the one that the
            environment variable DPSEL_LEDGER names. `dpsel budget init` makes a ledger.
        ledger_file: The file of the ledgers, if it is not the default one.
        run_id: The name of this run. The ledger charges it once, and later runs with the same name
            return the same release, without opening the table.
        note: A line to keep in the ledger, next to the charge.
        date: The day that the record states, `YYYY-MM-DD` or `today`; none if not given.
        require_ledger: Refuse to run without charging a ledger. The environment variable
            DPSEL_REQUIRE_LEDGER does the same.
        require_end_to_end: Refuse a table or arguments whose guarantee would cover the selection
            only. The environment variable DPSEL_REQUIRE_END_TO_END does the same.
        cluster: Where to read the table, if not on this machine: `tcp://HOST:PORT` or
            `tls://HOST:PORT` of a Dask scheduler, or `slurm`. The result is the same; see
            docs/guides/cluster.md.
        workers: How many workers to start on SLURM, or to wait for on another cluster.

    Raises:
        UsageError: If an argument is invalid.
        InputError: If the table, the bounds or the ledger cannot be used.
        BudgetError: If the ledger does not have enough left.
        OutputError: If the ledger cannot be written.
        ClusterError: If the cluster cannot be reached, or is lost.
    """
    # This must come first: before any other name is bound, the locals are the keywords.
    given = {**locals(), "dry_run": False}
    request = make_request(
        record_of(ColumnChoice, given),
        record_of(TargetFacts, given),
        record_of(Bounding, given),
        record_of(Privacy, given),
        record_of(Scoring, given),
        record_of(Drawing, given),
        record_of(Reading, given),
        record_of(DictionaryFile, given),
    )
    scheduler = record_of(Place, given).scheduler()
    check_place(request, scheduler)
    reporter = Warner(*_SELECT)
    job = select_job(table, request, reporter, scheduler)
    return _released(table, select_run(table, request), job, given, reporter)


@python_function(*_BASELINE)
def baseline(
    table: Any,
    *,
    target: str | int,
    k: int,
    method: str,
    epsilon: float | None = None,
    no_privacy: bool = False,
    blocks: int | None = None,
    contiguous: bool = False,
    penalty: float = 0.1,
    features: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    positive: str | None = None,
    bounds: str | Path | Mapping[Any, Any] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    mechanism: str = "canonical-lipschitz",
    gamma: float | None = None,
    sampler: str | None = None,
    delta: float | None = None,
    neighbors: str = "add-remove",
    input_format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
    seed: int | None = None,
    threads: int | None = None,
    ledger: str | None = None,
    ledger_file: str | Path | None = None,
    run_id: str | None = None,
    note: str | None = None,
    date: str | None = None,
    require_ledger: bool = False,
    require_end_to_end: bool = False,
) -> Selection:
    """Select features by the methods that `select` is compared with.

    Privacy:
        Domain: any table of at most 2^31 - 1 rows, as for `select`.
        Neighbors: `neighbors`, for one row.
        Guarantee: (epsilon, delta)-DP for the returned record of `two-stage` and `dpkendall`; none
            with a `seed` or `no_privacy`, and none for `sis` and `lasso`.
        Assumes: see `two_stage_scores` and `kendall_rounds`.
        Tested by: tests/cli/test_baseline.py

    Args:
        table: A path or a frame, as for `select`.
        target: The column to predict.
        k: How many features to select.
        method: `two-stage`, `dpkendall`, `sis` or `lasso`; the last two are not private.
        epsilon: The privacy loss; needed by private methods.
        no_privacy: Run two-stage without noise.
        blocks: For two-stage: how many blocks of rows vote; needed under add-remove.
        contiguous: For two-stage: cut blocks in the order of rows, as in the paper's experiment.
        penalty: The weight of the L1 norm in a LASSO.
        features: Names or globs of the columns to choose from. This and what follows is as for
            `select`.
        exclude: Names or globs of columns to leave out.
        positive: The label of the target that counts 1; any other counts -1.
        bounds: Public bounds: a file, or a mapping.
        lower: The public lower bound of every column, together with `upper`.
        upper: The public upper bound of every column.
        mechanism: How features are drawn from votes.
        gamma: For the Lipschitz mechanisms: the weight of the worst included score, 0 to 1.
        sampler: For the Lipschitz mechanisms: `lazy` or `direct`.
        delta: For peeling and oneshot-laplace: the delta of an (epsilon, delta) guarantee.
        neighbors: `add-remove` or `replace-one`.
        input_format: The format of the file, if its name does not show it.
        separator: The separator of a CSV; detected from the first line if not given.
        decimal: The decimal mark of a CSV, a point or a comma.
        seed: Makes the draw reproducible, for tests; there is then no guarantee.
        threads: How many threads read and compute; all cores if not given.
        ledger: The ledger to charge before a row is read.
        ledger_file: The file of the ledgers, if it is not the default one.
        run_id: The name of this run; later runs with this name return the same release.
        note: A line to keep in the ledger, next to the charge.
        date: The day that the record states, `YYYY-MM-DD` or `today`; none if not given.
        require_ledger: Refuse to run without charging a ledger.
        require_end_to_end: Refuse a guarantee that would cover the selection only.

    Raises:
        DpselError: As `select` does.
    """
    given = {**locals(), "dry_run": False}
    from dpsel.selection.baseline import BaselineJob, baseline_run, make_baseline_request

    request = make_baseline_request(
        record_of(ColumnChoice, given),
        record_of(BaselinePrivacy, given),
        record_of(Blocks, given),
        record_of(Bounding, given),
        record_of(VoteDrawing, given),
        record_of(Reading, given),
    )
    reporter = Warner(*_BASELINE)
    job = BaselineJob(table, request, reporter)
    return _released(table, baseline_run(table, request), job, given, reporter)


def _released(
    table: Any, run: Run, job: Job, given: Mapping[str, Any], warner: Warner
) -> Selection:
    """Carry out a run, and return its selection with column names as they are in the table."""
    day = stated_date(record_of(Statement, given).date)
    account = open_account(run, record_of(Payment, given), warner)
    # A warning that is an error must not come between the charge and the stored release.
    with warner.holding():
        selection = carry_out(job, account, day).selection
    return replace(selection, selected_features=own_names(table, selection.selected_features))


def select_job(
    table: Any, request: Request, reporter: Reporter, scheduler: Scheduler | None
) -> Job:
    """Return the job for a request: by its method, on this machine or on a cluster.

    `check_place` has checked that it can be carried out there.
    """
    if request.method is Method.DPKENDALL:
        return _dpkendall_job(table, request, reporter)
    if scheduler is None and request.stump is None:
        return SelectJob(table, request, reporter)
    # Each job is imported only where it is needed: most runs have no cluster.
    if scheduler is None:
        from dpsel.selection.stump import StumpJob

        return StumpJob(table, request, reporter)
    from dpsel.selection.on_cluster import ClusterJob, StumpClusterJob

    job = ClusterJob if request.stump is None else StumpClusterJob
    return job(table, request, reporter, scheduler)


def _dpkendall_job(table: Any, request: Request, reporter: Reporter) -> Job:
    """Return the job of the method `dpkendall`, which is also a baseline."""
    from dpsel.selection.baseline import BaselineJob, BaselineRequest

    baseline_request = BaselineRequest(request, Baseline.DPKENDALL, private=True, blocks=Blocks())
    return BaselineJob(table, baseline_request, reporter)
