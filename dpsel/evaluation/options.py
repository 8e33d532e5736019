"""The options of `evaluate`, some of which `reproduce` shares. Each group is a record.

It imports nothing heavy: the command line needs it for `--help`, which must be instant.
"""

from enum import StrEnum
from pathlib import PurePath

from dpsel.core.guarantee import Neighbors
from dpsel.errors import UsageError
from dpsel.options import option, same_as
from dpsel.preprocessing.options import Coding, Scale, ScalingMethod
from dpsel.records import frozen
from dpsel.selection.options import COLUMNS, Bounding, ColumnChoice, Drawing, Privacy

SWEEP, OUTPUT = "Sweep", "Output"


class ResultsFormat(StrEnum):
    """The formats of the results of an evaluation."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


@frozen(kw_only=True)
class Grid:
    """The values of k and epsilon to try."""

    k: str = option("--k LIST", "How many features to select: numbers and logd, comma-separated.")
    epsilon: str = option(
        "--epsilon LIST",
        "Privacy losses: numbers, FROM:TO:logN or FROM:TO:linN.",
        "0.1:20:log12",
    )


@frozen(kw_only=True)
class Comparison:
    """Which methods are compared, how often each is run, and which features count as true."""

    trials: int = option(
        "--trials N", "Selections per cell (data set, method, k and epsilon).", 100, panel=SWEEP
    )
    method: tuple[str, ...] = option(
        "--method LIST",
        "SCORE/MECHANISM, stump, dp-sis, kendall, two-stage, two-stage/MECHANISM, dpkendall, sis "
        "or lasso; append @max-abs or @robust to scale the data. Comma-separated or repeated.",
        (),
        shown="stump,dp-sis,two-stage",
        panel=SWEEP,
    )
    truth: str | None = option(
        "--truth WHAT",
        "The true features: lasso, sis, stump, or comma-separated names.",
        None,
        shown="lasso, or sis if that uses no feature; stump if columns hold words or dates",
        panel=SWEEP,
    )
    unseen: int | None = option(
        "--unseen FOLDS",
        "Also select within the training rows of this many folds, and test a ridge model with "
        "the picks on the other rows: accuracy, or R^2 for a number. 5 takes about 6 times as "
        "long.",
        None,
        panel=SWEEP,
    )
    penalty: float = option(
        "--penalty LAMBDA", "The weight of the L1 norm in every LASSO.", 0.1, panel=SWEEP
    )


@frozen(kw_only=True)
class Conditions:
    """The conditions under which the methods are run."""

    scale: Scale = option(
        "--scale",
        "Scale the data as `dpsel preprocess` would; none uses their bounds.",
        Scale.NONE,
        panel=SWEEP,
    )
    clip: float = same_as(ScalingMethod, "clip")
    blocks: int | None = option(
        "--blocks B",
        "How many blocks of rows vote in two-stage.",
        None,
        shown="the square root of the number of rows",
        panel=SWEEP,
    )
    delta: float | None = same_as(Drawing, "delta")
    neighbors: Neighbors = same_as(Privacy, "neighbors")


@frozen(kw_only=True)
class EvaluatedColumns(ColumnChoice):
    """Which columns play which role, and how the labels of the target become numbers."""

    encode_target: bool = same_as(Coding, "encode_target")


@frozen(kw_only=True)
class AssumedBounding(Bounding):
    """Public bounds; without any, the table is taken as bounded: nothing is guaranteed here."""

    lower: float | None = option(
        "--lower L",
        "Public lower bound of every column.",
        None,
        shown="-1; the table is assumed to be bounded",
        panel=COLUMNS,
    )
    upper: float | None = option(
        "--upper U", "Public upper bound of every column.", None, shown="1", panel=COLUMNS
    )


@frozen(kw_only=True)
class Sweeping:
    """How a sweep is run; of these options only the seed changes the results."""

    seed: int = option(
        "--seed N",
        "The same seed gives the same results, with any number of threads.",
        0,
        panel=SWEEP,
    )
    threads: int | None = option(
        "--threads N",
        "How many cells to run at a time.",
        None,
        shown="all cores",
        panel=SWEEP,
    )
    resume: bool = option(
        "--resume",
        "Continue a sweep that was killed; if there is none, start one.",
        False,
        panel=SWEEP,
    )


@frozen(kw_only=True)
class ResultsWriting:
    """Where the results and the report go."""

    output: str | None = option(
        "--output FILE",
        "Where to write the results: a .parquet, .csv or .json file, or - for stdout.",
        None,
        shown="stdout, unless it is a terminal or --report is given",
        panel=OUTPUT,
    )
    results_format: ResultsFormat | None = option(
        "--format",
        "The format of the results.",
        None,
        shown="from the file name; json for stdout",
        panel=OUTPUT,
    )
    report: str | None = option(
        "--report FILE",
        "Write figures and results to a single HTML page.",
        None,
        panel=OUTPUT,
    )
    force: bool = option("--force", "Replace an existing output file.", False, panel=OUTPUT)

    @property
    def places(self) -> list[str]:
        """Return the files to write: the results, the report, or both."""
        return [place for place in (self.output, self.report) if place is not None]

    def format(self) -> ResultsFormat:
        """Return the format of the results: the one given, or the one the file's name implies."""
        if self.results_format is not None:
            return self.results_format
        if self.output in (None, "-"):
            return ResultsFormat.JSON
        path = PurePath(self.output or "")
        suffix = path.suffix.lower().removeprefix(".")
        if suffix not in tuple(ResultsFormat):
            raise UsageError(
                f"{path.name}: cannot tell the format to write; end it with .parquet, .csv or "
                f".json, or say which with --format {'|'.join(ResultsFormat)}"
            )
        return ResultsFormat(suffix)
