"""The options of `select` and `baseline`, one record per group.

This module imports nothing heavy, so that `--help` is instant.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from dpsel.core.guarantee import Neighbors
from dpsel.core.mechanisms import MECHANISM_NAMES, Sampler
from dpsel.core.scores import SCORE_NAMES
from dpsel.errors import UsageError
from dpsel.options import one_of, option, same_as
from dpsel.records import frozen

COLUMNS, PRIVACY, METHOD = "Columns", "Privacy", "Method"
BLOCKS = "Two-stage and LASSO"


class Method(StrEnum):
    """Methods of selection; each stands for a score and a mechanism."""

    STUMP = "stump"
    DP_SIS = "dp-sis"
    KENDALL = "kendall"
    DPKENDALL = "dpkendall"


METHODS = {
    Method.STUMP: ("stump", "permute-and-flip"),
    Method.DP_SIS: ("dot", "canonical-lipschitz"),
    Method.KENDALL: ("kendall", "permute-and-flip"),
    Method.DPKENDALL: ("kendall", "dpkendall"),
}
"""The score and the mechanism of each method."""


@frozen(kw_only=True)
class FeatureColumns:
    """Which columns are features, and the label of a text target that counts 1."""

    features: tuple[str, ...] = option(
        "--features NAMES",
        "Select only from these columns: names or globs, comma-separated or repeated.",
        (),
        shown="all but the target",
        panel=COLUMNS,
    )
    exclude: tuple[str, ...] = option(
        "--exclude NAMES",
        "Exclude these columns: names or globs, comma-separated or repeated.",
        (),
        shown=False,
        panel=COLUMNS,
    )
    positive: str | None = option(
        "--positive LABEL",
        "For a target of labels: this one counts as 1, any other as -1.",
        None,
        panel=COLUMNS,
    )


@frozen(kw_only=True)
class ColumnChoice(FeatureColumns):
    """Which columns are the features and the target."""

    target: str = option("--target COLUMN", "The column to predict.")


@frozen(kw_only=True)
class TargetFacts:
    """Public facts about the target. Each saves the epsilon that estimating it would cost."""

    classes: str | tuple[str, ...] | None = option(
        "--classes A,B,C",
        "The labels of a target with three or more classes; the list is public.",
        None,
        panel=COLUMNS,
    )
    share: float | None = option(
        "--share P",
        "With --positive: the approximate share of rows with that label, if it is public.",
        None,
        shown="estimated with a tenth of epsilon",
        panel=COLUMNS,
    )
    target_center: float | None = option(
        "--target-center C",
        "For a numeric target: a public number that about half of the rows exceed.",
        None,
        shown="estimated with part of epsilon",
        panel=COLUMNS,
    )


@frozen(kw_only=True)
class Bounding:
    """Public bounds: column by column, or the same for all columns."""

    bounds: str | Path | Mapping[str, Any] | None = option(
        "--bounds FILE", "Public bounds of the columns, in TOML or JSON.", None, panel=COLUMNS
    )
    lower: float | None = option(
        "--lower L",
        "Public lower bound of every column.",
        None,
        panel=COLUMNS,
    )
    upper: float | None = option(
        "--upper U", "Public upper bound of every column.", None, panel=COLUMNS
    )


@frozen(kw_only=True)
class Privacy:
    """How many features at which epsilon, and whom the guarantee protects."""

    epsilon: float = option("--epsilon E", "The privacy loss, such as 1 or 2.")
    k: int | None = option("--k K", "How many features to select.", None)
    up_to: int | None = option(
        "--up-to K",
        "Instead of --k: select as many features as epsilon can pay for, at most K.",
        None,
    )
    rows: int | None = option(
        "--rows N",
        "With --up-to: the approximate number of rows, if it is public.",
        None,
        shown="estimated with a twentieth of epsilon",
        panel=PRIVACY,
    )
    neighbors: Neighbors = option(
        "--neighbors HOW",
        "How neighboring tables differ: by one row more or less (add-remove), or by the values of "
        "one row (replace-one).",
        Neighbors.ADD_REMOVE,
        panel=PRIVACY,
    )
    person: str | None = option(
        "--person COLUMN",
        "Protect persons, not rows: the column that identifies the person.",
        None,
        panel=PRIVACY,
    )
    rows_per_person: int | None = option(
        "--rows-per-person R",
        "Use at most R rows per person. Needs --person.",
        None,
        shown="1",
        panel=PRIVACY,
    )
    seed: int | None = option(
        "--seed N",
        "For tests only: make the draw reproducible; the result is not private.",
        None,
        panel=PRIVACY,
    )


@frozen(kw_only=True)
class Drawing:
    """How features are drawn from their scores."""

    mechanism: str | None = option(
        "--mechanism NAME",
        f"How to draw features: {one_of(MECHANISM_NAMES)}.",
        None,
        shown="from --method",
        panel=METHOD,
    )
    gamma: float | None = option(
        "--gamma G",
        "Lipschitz only: the weight of the worst included score against the best excluded one.",
        None,
        shown="0.5",
        panel=METHOD,
    )
    sampler: Sampler | None = option(
        "--sampler",
        "Lipschitz only: lazy is fast, direct is the reference; both draw from the same law.",
        None,
        shown="lazy",
        panel=METHOD,
    )
    delta: float | None = option(
        "--delta D",
        "For peeling and oneshot-laplace: an (epsilon, delta) guarantee, with less noise.",
        None,
        shown="0",
        panel=METHOD,
    )

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the mechanism; None where none was given."""
        names = [about.name for about in fields(Drawing) if about.name != "mechanism"]
        return {name: getattr(self, name) for name in names}


@frozen(kw_only=True)
class Scoring:
    """How features are scored."""

    method: Method = option(
        "--method NAME",
        "The score and mechanism to use: stump (needs no bounds), dp-sis (from the paper), "
        "kendall or dpkendall.",
        Method.STUMP,
        panel=METHOD,
    )
    score: str | None = option(
        "--score NAME",
        f"How to score features: {one_of(SCORE_NAMES)}.",
        None,
        shown="from --method",
        panel=METHOD,
    )
    row_ranks: bool = option(
        "--row-ranks",
        "For stump and kendall: score each number by its rank among the features of its row, as "
        "for expression arrays. Costs no epsilon.",
        False,
        panel=METHOD,
    )


class Baseline(StrEnum):
    """Methods that private selection is compared with."""

    TWO_STAGE = "two-stage"
    SIS = "sis"
    LASSO = "lasso"
    DPKENDALL = "dpkendall"


@frozen(kw_only=True)
class BaselinePrivacy:
    """Which baseline to run, and its privacy."""

    k: int = same_as(Privacy, "k", MISSING)
    method: Baseline = option(
        "--method NAME", "The method to run: two-stage, dpkendall, sis or lasso."
    )
    epsilon: float | None = option(
        "--epsilon E", "The privacy loss; required by private methods.", None
    )
    no_privacy: bool = option(
        "--no-privacy", "Run two-stage without noise. sis and lasso never add any.", False
    )
    neighbors: Neighbors = same_as(Privacy, "neighbors")
    seed: int | None = same_as(Privacy, "seed")

    @property
    def private(self) -> bool:
        """Return whether the method gives a guarantee."""
        return self.method in (Baseline.DPKENDALL, Baseline.TWO_STAGE) and not self.no_privacy


@frozen(kw_only=True)
class Blocks:
    """The blocks of rows in two-stage, and the penalty of the LASSO."""

    blocks: int | None = option(
        "--blocks B",
        "How many blocks of rows vote; required under add-remove.",
        None,
        shown="the square root of the number of rows",
        panel=BLOCKS,
    )
    contiguous: bool = option(
        "--contiguous",
        "Cut blocks in row order, as in the paper's experiment.",
        False,
        panel=BLOCKS,
    )
    penalty: float = option(
        "--penalty LAMBDA", "The weight of the L1 norm in a LASSO.", 0.1, panel=BLOCKS
    )


@frozen(kw_only=True)
class Statement:
    """What a record states only on request."""

    date: str | None = option(
        "--date DAY",
        "State a date in the record: YYYY-MM-DD, or today (UTC).",
        None,
        panel="Output",
    )


def stated_date(day: str | None) -> str | None:
    """Return the day that the record states; None if not requested. The clock is public."""
    if day is None:
        return None
    if day == "today":
        return datetime.now(UTC).date().isoformat()
    try:
        if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", day):
            return date.fromisoformat(day).isoformat()
    except ValueError:
        pass
    raise UsageError(f"--date must be a day such as 2024-05-01, or today, got {day}")


class OutputFormat(StrEnum):
    """How a selection is written."""

    JSON = "json"
    NAMES = "names"
    INDICES = "indices"


@frozen(kw_only=True)
class VoteDrawing(Drawing):
    """How features are drawn from votes; by default as in the paper."""

    mechanism: str | None = same_as(Drawing, "mechanism", "canonical-lipschitz")
