"""The options of `select` and `baseline`: each group is a record, declared once.

Imports nothing heavy: the command line shows these, and `--help` is instant.
"""

from collections.abc import Mapping
from dataclasses import MISSING
from enum import StrEnum
from pathlib import Path
from typing import Any

from dpsel.core.guarantee import Neighbors
from dpsel.core.mechanisms import Sampler
from dpsel.options import option, same_as
from dpsel.records import frozen

COLUMNS, PRIVACY, METHOD = "Columns", "Privacy", "Method"
BLOCKS = "Two-stage and LASSO"


class Method(StrEnum):
    """Ways to select, each a score and a mechanism."""

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
"""The score and the mechanism of every method."""


@frozen(kw_only=True)
class FeatureColumns:
    """Which columns are features, and how a target of texts is read."""

    features: tuple[str, ...] = option(
        "--features NAMES",
        "Choose among these columns only: names or globs, with commas or repeated.",
        (),
        shown="all but the target",
        panel=COLUMNS,
    )
    exclude: tuple[str, ...] = option(
        "--exclude NAMES",
        "Leave these columns out: names or globs, with commas or repeated.",
        (),
        shown=False,
        panel=COLUMNS,
    )
    positive: str | None = option(
        "--positive LABEL",
        "For a text target: this label counts 1, any other -1.",
        None,
        panel=COLUMNS,
    )


@frozen(kw_only=True)
class Columns(FeatureColumns):
    """Which columns play which part."""

    target: str = option("--target COLUMN", "The column to predict.")


@frozen(kw_only=True)
class TargetFacts:
    """What is publicly known of the target. Each fact saves what it would cost to find out."""

    classes: str | tuple[str, ...] | None = option(
        "--classes A,B,C",
        "The labels of a target with three classes or more. Public.",
        None,
        panel=COLUMNS,
    )
    share: float | None = option(
        "--share P",
        "With --positive: the public share of rows that have the label, about.",
        None,
        shown="found out for a tenth of epsilon",
        panel=COLUMNS,
    )
    target_center: float | None = option(
        "--target-center C",
        "For a numeric target: a public number that about half of the rows are above.",
        None,
        shown="found out for a part of epsilon",
        panel=COLUMNS,
    )


@frozen(kw_only=True)
class Bounding:
    """Public bounds: of each column, or of all alike."""

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
    """How many features for how much privacy, and whom it protects."""

    epsilon: float = option("--epsilon E", "The privacy loss, such as 1 or 2.")
    k: int | None = option("--k K", "How many features to select.", None)
    up_to: int | None = option(
        "--up-to K", "In place of --k: as many features as epsilon carries, at most K.", None
    )
    rows: int | None = option(
        "--rows N",
        "With --up-to: the public number of rows, about.",
        None,
        shown="counted for a twentieth of epsilon",
        panel=PRIVACY,
    )
    neighbors: Neighbors = option(
        "--neighbors",
        "What one row more or less means: it is there or not, or it has other values.",
        Neighbors.ADD_REMOVE,
        panel=PRIVACY,
    )
    person: str | None = option(
        "--person COLUMN",
        "Protect persons, not rows: the column that says whose row it is.",
        None,
        panel=PRIVACY,
    )
    rows_per_person: int | None = option(
        "--rows-per-person R",
        "At most R rows of a person count. Needs --person.",
        None,
        shown="1",
        panel=PRIVACY,
    )
    seed: int | None = option(
        "--seed N",
        "For tests only: a reproducible draw, which is not private.",
        None,
        panel=PRIVACY,
    )


@frozen(kw_only=True)
class Drawing:
    """How features are drawn."""

    mechanism: str | None = option(
        "--mechanism NAME",
        "How features are drawn: canonical-lipschitz, margin-lipschitz, peeling, "
        "permute-and-flip, oneshot-laplace or joint.",
        None,
        shown="the method's",
        panel=METHOD,
    )
    gamma: float | None = option(
        "--gamma G",
        "Lipschitz only: weight of the worst included score against the best missing one.",
        None,
        shown="0.5",
        panel=METHOD,
    )
    sampler: Sampler | None = option(
        "--sampler",
        "Lipschitz only: lazy is fast, direct the reference; the law is the same.",
        None,
        shown="lazy",
        panel=METHOD,
    )
    delta: float | None = option(
        "--delta D",
        "Peeling and oneshot-laplace: an (epsilon, delta) guarantee, with less noise.",
        None,
        shown="0",
        panel=METHOD,
    )


@frozen(kw_only=True)
class Scoring:
    """How features are scored."""

    method: Method = option(
        "--method NAME",
        "A score and a mechanism by one name: stump (needs no bounds), dp-sis (the paper's), "
        "kendall or dpkendall.",
        Method.STUMP,
        panel=METHOD,
    )
    score: str | None = option(
        "--score NAME",
        "How features are scored: stump, dot, covariance or kendall.",
        None,
        shown="the method's",
        panel=METHOD,
    )
    row_ranks: bool = option(
        "--row-ranks",
        "stump and kendall: score each number by its rank among the features of its row, as for "
        "expression arrays. It costs no epsilon.",
        False,
        panel=METHOD,
    )


class Baseline(StrEnum):
    """What private selection is compared with."""

    TWO_STAGE = "two-stage"
    SIS = "sis"
    LASSO = "lasso"
    DPKENDALL = "dpkendall"


@frozen(kw_only=True)
class BaselinePrivacy:
    """Which baseline, and how private it is."""

    k: int = same_as(Privacy, "k", MISSING)
    method: Baseline = option("--method", "Which method to run.")
    epsilon: float | None = option(
        "--epsilon E", "The privacy loss; needed by private methods.", None
    )
    no_privacy: bool = option(
        "--no-privacy", "Run two-stage without noise. sis and lasso never have any.", False
    )
    neighbors: Neighbors = same_as(Privacy, "neighbors")
    seed: int | None = same_as(Privacy, "seed")

    @property
    def private(self) -> bool:
        """Return whether anything is promised."""
        return self.method in (Baseline.DPKENDALL, Baseline.TWO_STAGE) and not self.no_privacy


@frozen(kw_only=True)
class Blocks:
    """The blocks of rows of two-stage, and the LASSO."""

    blocks: int | None = option(
        "--blocks B",
        "How many blocks of rows vote; must be given under add-remove.",
        None,
        shown="the square root of the number of rows",
        panel=BLOCKS,
    )
    contiguous: bool = option(
        "--contiguous",
        "Cut blocks in the order of rows, as in the paper's experiment.",
        False,
        panel=BLOCKS,
    )
    penalty: float = option(
        "--penalty LAMBDA", "The weight of the L1 norm in a LASSO.", 0.1, panel=BLOCKS
    )


@frozen(kw_only=True)
class Statement:
    """What a record states only if it is asked to."""

    date: str | None = option(
        "--date DAY", "State a day in the record: YYYY-MM-DD, or today (UTC).", None, panel="Output"
    )


class OutputFormat(StrEnum):
    """How a selection is written."""

    JSON = "json"
    NAMES = "names"
    INDICES = "indices"


@frozen(kw_only=True)
class VoteDrawing(Drawing):
    """How features are drawn from votes: as the paper does, unless another way is asked for."""

    mechanism: str | None = same_as(Drawing, "mechanism", "canonical-lipschitz")
