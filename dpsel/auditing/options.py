"""The options of `audit`: each group is a record.

Imports nothing heavy: the command line shows these, and `--help` is instant.
"""

from dpsel.core.guarantee import Neighbors
from dpsel.core.mechanisms import Sampler
from dpsel.options import option
from dpsel.records import frozen

WHAT, CLAIM = "What is audited", "What it claims"
INPUTS, SAMPLING = "Neighboring inputs", "Sampling"


@frozen(kw_only=True)
class Audited:
    """What is audited: a mechanism, a score, or the command that has both."""

    mechanism: str | None = option(
        "--mechanism NAME",
        "A mechanism of `dpsel select`, or printed-lipschitz: the algorithm as the paper prints "
        "it, a known bad example.",
        None,
        panel=WHAT,
    )
    score: str | None = option(
        "--score NAME",
        "A score: dot, covariance, kendall, or one of another package.",
        None,
        panel=WHAT,
    )
    command: bool = option(
        "--command",
        "`dpsel select`, ledger and output included; --score and --mechanism may say how.",
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
    """What is claimed of it."""

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
        "--neighbors",
        "The relation that --score or --command is audited for.",
        None,
        shown="both for --score, add-remove for --command",
        panel=CLAIM,
    )
    rows_per_person: int | None = option(
        "--rows-per-person R",
        "Audit --score or --command for persons with R rows, not for rows.",
        None,
        panel=CLAIM,
    )


@frozen(kw_only=True)
class Inputs:
    """The neighboring inputs that it is tried on."""

    d: int | None = option(
        "--d D", "How many features there are.", None, shown="6; 4 for --command", panel=INPUTS
    )
    k: int | None = option(
        "--k K", "How many features are selected.", None, shown="3; 2 for --command", panel=INPUTS
    )
    scores: str | None = option(
        "--scores LIST",
        "Made-up scores in units of their sensitivity, with commas. They are printed.",
        None,
        shown="a pair that shows much of the loss",
        panel=INPUTS,
    )
    change: str | None = option(
        "--change LIST",
        "What the neighbor has more of each score: between -1 and 1, with commas.",
        None,
        panel=INPUTS,
    )
    worst_case: bool = option(
        "--worst-case",
        "Search for the scores with the largest loss by the exact law.",
        False,
        panel=INPUTS,
    )
    tables: str | None = option(
        "--tables N",
        "How many pairs of tables to try with --score, besides those made by hand.",
        None,
        shown="1000",
        panel=INPUTS,
    )


@frozen(kw_only=True)
class Effort:
    """How much is drawn, and how sure the audit is to be."""

    samples: str | None = option(
        "--samples N",
        "Draws from each input, such as 1e6.",
        None,
        shown="1e5; 1e3 for --command",
        panel=SAMPLING,
    )
    confidence: float | None = option(
        "--confidence C",
        "How sure all bounds are together.",
        None,
        shown="0.999999",
        panel=SAMPLING,
    )
    seed: int | None = option(
        "--seed N",
        "The same audit again, with seeded draws instead of the system's randomness.",
        None,
        panel=SAMPLING,
    )
    threads: int | None = option(
        "--threads N", "How many processes draw.", None, shown="all cores", panel=SAMPLING
    )
