"""The options of `plan`: each group is a record.

Imports nothing heavy: the command line shows these, and `--help` is instant.
"""

from enum import StrEnum
from pathlib import Path

from dpsel.core.guarantee import Neighbors
from dpsel.evaluation.options import ResultsWriting
from dpsel.options import option, same_as
from dpsel.records import frozen
from dpsel.selection.options import Privacy

GUESSES, TARGET, LIKE, OUTPUT = "Guesses", "Target", "A public stand-in", "Output"


@frozen(kw_only=True)
class Wish:
    """What is to be selected, at which price."""

    k: int | None = same_as(Privacy, "k")
    up_to: int | None = same_as(Privacy, "up_to")
    epsilon: str = option(
        "--epsilon LIST",
        "Privacy losses: numbers, FROM:TO:logN or FROM:TO:linN.",
        "0.5,1,2,5,10",
    )
    find: float = option(
        "--find P", "The share of right picks that is wanted: from which epsilon on?", 0.8
    )
    neighbors: Neighbors = same_as(Privacy, "neighbors")


@frozen(kw_only=True)
class Guesses:
    """What is publicly known, or guessed, of the table."""

    rows: int | None = option(
        "--rows N", "How many rows there are, about.", None, shown=False, panel=GUESSES
    )
    features: int | None = option(
        "--features D", "How many features there are.", None, shown=False, panel=GUESSES
    )
    matter: int | None = option(
        "--matter M", "How many of them matter, about.", None, shown="K", panel=GUESSES
    )
    effect: str | None = option(
        "--effect R",
        "How strongly: a correlation with the target, which features have from half to twice of; "
        "or LOW:HIGH; or one for each, with commas.",
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
        "Guesses of rows, --matter and effects may be wrong by this factor; 1 if they are sure.",
        2.0,
        panel=GUESSES,
    )


@frozen(kw_only=True)
class TargetGuess:
    """What kind of target it is: a number, unless something else is said."""

    share: float | None = option(
        "--share P",
        "Two classes: the share of rows in one of them, about.",
        None,
        shown="the target is a number",
        panel=TARGET,
    )
    classes: int | None = option(
        "--classes N", "Three classes or more: how many.", None, panel=TARGET
    )
    target_known: bool = option(
        "--target-known",
        "The share, or a number that half of the rows are above, is public: stump need not pay.",
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
    target: str | None = option("--target COLUMN", "Its target.", None, panel=LIKE)
    positive: str | None = option(
        "--positive LABEL",
        "For a text target: this label counts 1, any other -1.",
        None,
        panel=LIKE,
    )
    truth: str | None = option(
        "--truth NAMES",
        "Its right features: names with commas.",
        None,
        shown="the K most correlated",
        panel=LIKE,
    )

    @property
    def is_given(self) -> bool:
        """Return whether anything is said of a stand-in; a frame must not be compared."""
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
        "--format", "A table to read, or JSON.", PlanFormat.TEXT, panel=OUTPUT
    )
    report: str | None = option(
        "--report FILE",
        "Write the plan and a figure as one HTML page.",
        None,
        panel=OUTPUT,
    )
    force: bool = same_as(ResultsWriting, "force")


@frozen(kw_only=True)
class Simulation:
    """How a plan is simulated."""

    tables: int | None = option(
        "--tables N",
        "How many tables are simulated for every guess: more take longer, and tell more.",
        None,
        shown="16, or 6 with more than 5000 features",
        panel=OUTPUT,
    )
    seed: int = option(
        "--seed N", "Simulate other tables; the same seed gives the same plan.", 0, panel=OUTPUT
    )
