"""The options of `audit`. Each group is a record.

It imports nothing heavy: the command line needs it for `--help`, which must be instant.
"""

from dpsel.core.guarantee import Neighbors
from dpsel.core.mechanisms import Sampler
from dpsel.core.scores import SCORE_NAMES
from dpsel.options import option
from dpsel.records import frozen

WHAT, CLAIM = "What to audit", "Claimed guarantee"
INPUTS, SAMPLING = "Neighboring inputs", "Sampling"


@frozen(kw_only=True)
class Audited:
    """What is audited: a mechanism, a score, or the command that uses both."""

    mechanism: str | None = option(
        "--mechanism NAME",
        "A mechanism of `dpsel select`, or printed-lipschitz: the algorithm as printed in the "
        "paper, a known bad example.",
        None,
        panel=WHAT,
    )
    score: str | None = option(
        "--score NAME",
        f"A score: {', '.join(SCORE_NAMES)}, or one from another package.",
        None,
        panel=WHAT,
    )
    command: bool = option(
        "--command",
        "`dpsel select`, including ledger and output; --score and --mechanism can set its method.",
        False,
        panel=WHAT,
    )
    gamma: float | None = option(
        "--gamma G", "A parameter of the Lipschitz mechanisms.", None, shown="0.5", panel=WHAT
    )
    sampler: Sampler | None = option(
        "--sampler", "A parameter of the Lipschitz mechanisms.", None, shown="lazy", panel=WHAT
    )


@frozen(kw_only=True)
class Claim:
    """The guarantee that is claimed."""

    epsilon: float | None = option(
        "--epsilon E", "The claimed privacy loss.", None, shown="1", panel=CLAIM
    )
    delta: float | None = option(
        "--delta D",
        "The claimed delta, for peeling and oneshot-laplace.",
        None,
        shown="0",
        panel=CLAIM,
    )
    neighbors: Neighbors | None = option(
        "--neighbors HOW",
        "The neighbors to audit --score or --command for: add-remove or replace-one.",
        None,
        shown="both for --score, add-remove for --command",
        panel=CLAIM,
    )
    rows_per_person: int | None = option(
        "--rows-per-person R",
        "Audit --score or --command for persons with R rows, not for single rows.",
        None,
        panel=CLAIM,
    )


@frozen(kw_only=True)
class Inputs:
    """The neighboring inputs to draw from."""

    d: int | None = option(
        "--d D", "The number of features.", None, shown="6; 4 for --command", panel=INPUTS
    )
    k: int | None = option(
        "--k K", "How many features to select.", None, shown="3; 2 for --command", panel=INPUTS
    )
    scores: str | None = option(
        "--scores LIST",
        "Made-up scores in units of their sensitivity, comma-separated. They are printed.",
        None,
        shown="a pair that shows much of the loss",
        panel=INPUTS,
    )
    change: str | None = option(
        "--change LIST",
        "What the neighbor adds to each score: numbers from -1 to 1, comma-separated.",
        None,
        panel=INPUTS,
    )
    worst_case: bool = option(
        "--worst-case",
        "Search for the scores with the largest loss under the exact law.",
        False,
        panel=INPUTS,
    )
    tables: str | None = option(
        "--tables N",
        "How many pairs of tables to try with --score, besides the handmade ones.",
        None,
        shown="1000",
        panel=INPUTS,
    )


@frozen(kw_only=True)
class Effort:
    """How many draws to make, and with which confidence."""

    samples: str | None = option(
        "--samples N",
        "How many draws from each input, such as 1e6.",
        None,
        shown="1e5; 1e3 for --command",
        panel=SAMPLING,
    )
    confidence: float | None = option(
        "--confidence C",
        "The joint confidence of all bounds.",
        None,
        shown="0.999999",
        panel=SAMPLING,
    )
    seed: int | None = option(
        "--seed N",
        "Make the audit reproducible: seeded draws instead of the system's randomness.",
        None,
        panel=SAMPLING,
    )
    threads: int | None = option(
        "--threads N", "How many processes to use.", None, shown="all cores", panel=SAMPLING
    )
