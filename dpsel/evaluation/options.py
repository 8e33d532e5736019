"""The options of `evaluate`, some of which `reproduce` shares: each group is a record.

Imports nothing heavy: the command line shows these, and `--help` is instant.
"""

from enum import StrEnum
from pathlib import PurePath

from dpsel.core.guarantee import Neighbors
from dpsel.errors import UsageError
from dpsel.options import option, same_as
from dpsel.preprocessing.options import Coding, Scale, ScalingMethod
from dpsel.records import frozen
from dpsel.selection.options import COLUMNS, Bounding, Columns, Drawing, Privacy

SWEEP, OUTPUT = "Sweep", "Output"


class ResultsFormat(StrEnum):
    """The formats of the results of an evaluation."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


@frozen(kw_only=True)
class Grid:
    """Which k and epsilons are tried."""

    k: str = option("--k LIST", "How many features to select: numbers and logd, with commas.")
    epsilon: str = option(
        "--epsilon LIST",
        "Privacy losses: numbers, FROM:TO:logN or FROM:TO:linN.",
        "0.1:20:log12",
    )


@frozen(kw_only=True)
class Comparison:
    """Which methods are compared, how often each is run, and what counts as right."""

    trials: int = option("--trials N", "Selections in each cell.", 100, panel=SWEEP)
    method: tuple[str, ...] = option(
        "--method LIST",
        "SCORE/MECHANISM, stump, dp-sis, kendall, two-stage, two-stage/MECHANISM, dpkendall, sis "
        "or lasso; with @max-abs or @robust behind it on data scaled so. With commas or repeated.",
        (),
        shown="stump,dp-sis,two-stage",
        panel=SWEEP,
    )
    truth: str = option(
        "--truth WHAT", "The true features: lasso, sis, or names with commas.", "lasso", panel=SWEEP
    )
    unseen: int | None = option(
        "--unseen FOLDS",
        "Also select inside the training rows of so many folds, and try a ridge model with the "
        "picks on the others: accuracy, or R^2 of a number. 5 takes about 6 times as long.",
        None,
        panel=SWEEP,
    )
    penalty: float = option(
        "--penalty LAMBDA", "The weight of the L1 norm in every LASSO.", 0.1, panel=SWEEP
    )


@frozen(kw_only=True)
class Conditions:
    """Under which conditions the methods are run."""

    scale: Scale = option(
        "--scale",
        "Scale the data as `dpsel preprocess` would; none takes them by their bounds.",
        Scale.NONE,
        panel=SWEEP,
    )
    clip: float = same_as(ScalingMethod, "clip")
    blocks: int | None = option(
        "--blocks B",
        "How many blocks vote in two-stage.",
        None,
        shown="the square root of the number of rows",
        panel=SWEEP,
    )
    delta: float | None = same_as(Drawing, "delta")
    neighbors: Neighbors = same_as(Privacy, "neighbors")


@frozen(kw_only=True)
class EvaluatedColumns(Columns):
    """Which columns play which part, and how the target's labels become numbers."""

    encode_target: bool = same_as(Coding, "encode_target")


@frozen(kw_only=True)
class AssumedBounding(Bounding):
    """Public bounds, or those of a table that is taken as bounded: nothing is promised here."""

    lower: float | None = option(
        "--lower L",
        "Public lower bound of every column.",
        None,
        shown="-1, the table is taken as bounded",
        panel=COLUMNS,
    )
    upper: float | None = option(
        "--upper U", "Public upper bound of every column.", None, shown="1", panel=COLUMNS
    )


@frozen(kw_only=True)
class Sweeping:
    """How a sweep is run; only the seed plays a part in what it finds."""

    seed: int = option(
        "--seed N",
        "The same seed gives the same results, with any number of threads.",
        0,
        panel=SWEEP,
    )
    threads: int | None = option(
        "--threads N",
        "How many cells are worked on at a time.",
        None,
        shown="all cores",
        panel=SWEEP,
    )
    resume: bool = option(
        "--resume", "Go on with a sweep that was killed; without one, begin.", False, panel=SWEEP
    )


@frozen(kw_only=True)
class ResultsWriting:
    """Where the results and the report go."""

    output: str | None = option(
        "--output FILE",
        "Where to write the results: a .parquet, .csv or .json file, or - for stdout.",
        None,
        shown="stdout, unless it is a terminal or there is a --report",
        panel=OUTPUT,
    )
    results_format: ResultsFormat | None = option(
        "--format",
        "The format of the results.",
        None,
        shown="by the name of the file, json for stdout",
        panel=OUTPUT,
    )
    report: str | None = option(
        "--report FILE",
        "Write figures and results as one HTML page.",
        None,
        panel=OUTPUT,
    )
    force: bool = option("--force", "Replace an existing output file.", False, panel=OUTPUT)

    @property
    def places(self) -> list[str]:
        """Return what will be written: the results, the report, or both."""
        return [place for place in (self.output, self.report) if place is not None]

    def format(self) -> ResultsFormat:
        """Return the format of the results: what was asked for, or what the file's name tells."""
        if self.results_format is not None:
            return self.results_format
        if self.output in (None, "-"):
            return ResultsFormat.JSON
        path = PurePath(self.output or "")
        found = path.suffix.lower().removeprefix(".")
        if found not in tuple(ResultsFormat):
            raise UsageError(
                f"{path.name}: cannot tell the format to write; end it with .parquet, .csv or "
                f".json, or say which with --format {'|'.join(ResultsFormat)}"
            )
        return ResultsFormat(found)
