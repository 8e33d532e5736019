"""The Python function `dpsel.evaluate`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpsel.cluster.place import Place
from dpsel.evaluation.data import named_tables
from dpsel.evaluation.options import (
    AssumedBounding,
    Comparison,
    Conditions,
    EvaluatedColumns,
    Grid,
    ResultsWriting,
    Sweeping,
)
from dpsel.evaluation.request import make_evaluate_request
from dpsel.evaluation.run import Evaluation, open_evaluation
from dpsel.options import Dataclass
from dpsel.python import Warner, python_function, record_of
from dpsel.tables.formats import FileFormat

_EVALUATE: tuple[type[Dataclass], ...] = (
    *(EvaluatedColumns, Grid, Comparison, Conditions, AssumedBounding, FileFormat, Sweeping),
    *(Place, ResultsWriting),
)


@python_function(*_EVALUATE)
def evaluate(
    tables: Any,
    *,
    target: str | int,
    k: int | str | Sequence[int],
    epsilon: float | str | Sequence[float] = "0.1:20:log12",
    trials: int = 100,
    method: str | Sequence[str] = (),
    truth: str | Sequence[str] | None = None,
    unseen: int | None = None,
    penalty: float = 0.1,
    scale: str = "none",
    clip: float = 0.75,
    blocks: int | None = None,
    delta: float | None = None,
    neighbors: str = "add-remove",
    features: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    positive: str | None = None,
    encode_target: bool = False,
    bounds: str | Path | Mapping[Any, Any] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    input_format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
    seed: int = 0,
    threads: int | None = None,
    cluster: str | None = None,
    workers: int | None = None,
    output: str | Path | None = None,
    results_format: str | None = None,
    report: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
) -> Evaluation:
    """Try private selection on your own data: what does each method find at each epsilon?

    It runs every method many times for every k and epsilon, and compares the picks with the
    features that count as true. The result is not private: it is for the data holder only.

    Privacy:
        Guarantee: none; everything returned is for the data holder only, and says so.
        Tested by: tests/cli/test_evaluate.py

    Args:
        tables: A path or a frame; several in a list, or in a mapping from names to tables.
        target: The column to predict.
        k: How many features to select: numbers, or a text such as `"5,logd"`.
        epsilon: Privacy losses: numbers, or a text such as `"0.1:20:log12"`.
        trials: Selections in each cell.
        method: Names of methods, or `SCORE/MECHANISM`; stump, dp-sis and two-stage if empty.
        truth: The true features: `lasso`, `sis`, `stump`, or names; `lasso` if not given, `sis`
            if that uses no feature, and `stump` for a table with columns of words or dates.
        unseen: How many folds: also select within the training rows and test a model on the rest.
        penalty: The weight of the L1 norm in every LASSO.
        scale: Scale the data as `preprocess` would: `none`, `max-abs` or `robust`.
        clip: With `scale="robust"`: clip at this many robust standard deviations.
        blocks: The number of blocks that vote in two-stage.
        delta: For peeling and oneshot-laplace.
        neighbors: `add-remove` or `replace-one`.
        features: Names or globs of the columns to choose from; all others if empty.
        exclude: Names or globs of columns to leave out.
        positive: The label of the target that counts as 1; any other counts as -1.
        encode_target: Code the target's labels as 0, 1, 2, ...
        bounds: Public bounds: a file, or a mapping, as for `select`.
        lower: The public lower bound of every column; -1 if not given.
        upper: The public upper bound of every column; 1 if not given.
        input_format: The format of the files, if their names do not show it.
        separator: The separator of a CSV, if its first line does not show it.
        decimal: The decimal sign of a CSV: a point or a comma.
        seed: The same seed gives the same results, with any number of threads.
        threads: How many cells are computed at a time; all cores if not given.
        cluster: Where to run, if not on this machine: see docs/guides/cluster.md.
        workers: How many workers to start on SLURM, or to wait for on other clusters.
        output: Also write the results to this file, .parquet, .csv or .json.
        results_format: The format of that file, if its name does not show it.
        report: Also write figures and results to this HTML page.
        force: Replace existing files.
        resume: Continue a sweep that was killed; it is kept beside `output` or `report`.

    Raises:
        UsageError: If an argument is invalid.
        InputError: If a table cannot be used.
        OutputError: If a file cannot be written.
        ClusterError: If the cluster cannot be reached or is lost.
    """
    given = locals()
    request = make_evaluate_request(
        record_of(EvaluatedColumns, given),
        record_of(Grid, given),
        record_of(Comparison, given),
        record_of(Conditions, given),
        record_of(AssumedBounding, given),
        record_of(FileFormat, given),
        record_of(Sweeping, given),
    )
    scheduler = record_of(Place, given).scheduler()
    several = isinstance(tables, list | tuple | Mapping)
    named = named_tables(tables if several else [tables])
    writing = record_of(ResultsWriting, given)
    with open_evaluation(named, request, writing, resume=resume) as run:
        evaluation = run.run(scheduler, Warner(*_EVALUATE))
        run.write(evaluation)
    return evaluation
