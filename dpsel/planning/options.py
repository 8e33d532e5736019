"""The options of `plan`. Each group is a record.

It imports nothing heavy: the command line needs it for `--help`, which must be instant.
"""

from enum import StrEnum
from pathlib import Path

from dpsel.core.guarantee import Neighbors
from dpsel.evaluation.options import ResultsWriting
from dpsel.options import option, same_as
from dpsel.records import frozen
from dpsel.selection.options import Privacy

GUESSES, TARGET, LIKE, OUTPUT = "Guesses", "Target", "Public stand-in", "Output"


@frozen(kw_only=True)
class Wish:
    """What to select, and at which price."""

    k: int | None = same_as(Privacy, "k")
    up_to: int | None = same_as(Privacy, "up_to")
    epsilon: str = option(
        "--epsilon LIST",
        "Privacy losses: numbers, FROM:TO:logN or FROM:TO:linN.",
        "0.5,1,2,5,10",
    )
    find: float = option(
        "--find P", "Find the smallest epsilon with this share of right picks.", 0.8
    )
    neighbors: Neighbors = same_as(Privacy, "neighbors")


@frozen(kw_only=True)
class Guesses:
    """What is publicly known or guessed about the table."""

    rows: int | None = option(
        "--rows N", "The approximate number of rows.", None, shown=False, panel=GUESSES
    )
    features: int | None = option(
        "--features D", "The number of features.", None, shown=False, panel=GUESSES
    )
    matter: int | None = option(
        "--matter M", "How many of them matter, approximately.", None, shown="K", panel=GUESSES
    )
    effect: str | None = option(
        "--effect R",
        "Their correlation with the target: R for a range from half to twice R, LOW:HIGH for "
        "another range, or one value for each, comma-separated.",
        None,
        shown="0.3",
        panel=GUESSES,
    )
    auc: str | None = option(
        "--auc A",
        "The same for two classes, as areas under the ROC curve, from 0.5 to 1.",
        None,
        panel=GUESSES,
    )
    within: float = option(
        "--within F",
        "The factor by which guesses of rows, --matter and effects may be off; 1 if they are "
        "certain.",
        2.0,
        panel=GUESSES,
    )


@frozen(kw_only=True)
class TargetGuess:
    """The kind of target: a number, unless an option says otherwise."""

    share: float | None = option(
        "--share P",
        "For two classes: the approximate share of rows in one of them.",
        None,
        shown="the target is a number",
        panel=TARGET,
    )
    classes: int | None = option(
        "--classes N", "For three or more classes: how many.", None, panel=TARGET
    )
    target_known: bool = option(
        "--target-known",
        "The share, or a number that half of the rows exceed, is public, so stump does not pay "
        "for it.",
        False,
        panel=TARGET,
    )


@frozen(kw_only=True)
class StandIn:
    """A public or synthetic table that resembles the private one."""

    like: str | Path | object | None = option(
        "--like FILE",
        "Plan with the rows of this table, which must be public or synthetic.",
        None,
        panel=LIKE,
    )
    target: str | None = option("--target COLUMN", "Its target column.", None, panel=LIKE)
    positive: str | None = option(
        "--positive LABEL",
        "For a target of labels: this one counts as 1, any other as -1.",
        None,
        panel=LIKE,
    )
    truth: str | None = option(
        "--truth NAMES",
        "Its right features: comma-separated names.",
        None,
        shown="the K most correlated",
        panel=LIKE,
    )

    @property
    def is_given(self) -> bool:
        """Return whether any option of a stand-in is given."""
        # Never `==` or `!=`: comparing a frame gives another frame.
        return any(value is not None for value in vars(self).values())


class PlanFormat(StrEnum):
    """How a plan is written."""

    TEXT = "text"
    JSON = "json"


@frozen(kw_only=True)
class PlanWriting:
    """Where the plan and the report go."""

    output: str = option(
        "--output FILE", "Where to write the plan; - for stdout.", "-", panel=OUTPUT
    )
    plan_format: PlanFormat = option(
        "--format", "Plain text, or JSON.", PlanFormat.TEXT, panel=OUTPUT
    )
    report: str | None = option(
        "--report FILE",
        "Write the plan and a figure to a single HTML page.",
        None,
        panel=OUTPUT,
    )
    force: bool = same_as(ResultsWriting, "force")


@frozen(kw_only=True)
class Simulation:
    """How a plan is simulated."""

    tables: int | None = option(
        "--tables N",
        "How many tables to simulate for each guess; more take longer and are more precise.",
        None,
        shown="16, or 6 with more than 5000 features",
        panel=OUTPUT,
    )
    seed: int = option(
        "--seed N",
        "Another seed simulates other tables; the same seed gives the same plan.",
        0,
        panel=OUTPUT,
    )
