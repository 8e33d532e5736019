"""The audit of a mechanism: many draws from neighboring scores, and the exact law beside them."""

from collections.abc import Sequence

from dpsel.audit.certifying import Drawn, certified
from dpsel.audit.drawing import counted, piece_seed, pieces_of
from dpsel.audit.plan import MechanismPlan
from dpsel.core.audit.certificate import Certificate
from dpsel.core.audit.checks import check_fresh, check_reach
from dpsel.core.audit.pairs import ScorePair, default_pair, given_pair
from dpsel.core.audit.tally import PARTS, Tally
from dpsel.core.audit.targets import Chunk, draw_chunk
from dpsel.core.audit.worst_case import worst_pairs
from dpsel.run import Reporter

_DRAWS_AT_ONCE = 25_000
# Starting workers takes as long as so many draws.
_WORTH_WORKERS = 200_000
LIBRARIES = ("numpy", "scipy")


def audit_mechanism(plan: MechanismPlan, reporter: Reporter) -> Certificate:
    """Draw from neighboring scores, and bound the loss that shows.

    Privacy:
        Guarantee: none is needed; the scores are made up.
        Tested by: tests/audit/test_mechanisms.py, tests/audit/test_mutants.py
    """
    pairs = score_pairs(plan)
    tallies = _drawn(plan, pairs, reporter)
    return mechanism_certificate(plan, pairs, tallies)


def score_pairs(plan: MechanismPlan) -> tuple[ScorePair, ...]:
    """Return the neighboring scores to draw from."""
    target, sampling = plan.target, plan.sampling
    if plan.scores is not None and plan.change is not None:
        return (given_pair(plan.scores, plan.change),)
    if plan.worst_case:
        return worst_pairs(
            target.law,
            plan.d,
            target.k,
            target.epsilon,
            draws=sampling.samples,
            delta=target.delta,
            alpha=sampling.alpha,
            seed=0 if sampling.seed is None else sampling.seed,
        )
    return (
        default_pair(
            target.law,
            plan.d,
            target.k,
            target.epsilon,
            draws=sampling.samples,
            delta=target.delta,
            alpha=sampling.alpha,
        ),
    )


def mechanism_certificate(
    plan: MechanismPlan, pairs: Sequence[ScorePair], tallies: Sequence[Tally]
) -> Certificate:
    """Return what the draws of every pair show."""
    target = plan.target
    drawn = [
        Drawn(
            pair.name,
            {"scores": list(pair.scores), "neighbor": list(pair.neighbor), "sensitivity": 1.0},
            pair.laws(target.law),
            tally,
        )
        for pair, tally in zip(pairs, tallies, strict=True)
    ]
    checks = [check_fresh(target, plan.d), check_reach(target, plan.d)]
    about = {"kind": "mechanism"}
    return certified(about, target, plan.d, plan.sampling, drawn, checks, LIBRARIES)


def _drawn(plan: MechanismPlan, pairs: Sequence[ScorePair], reporter: Reporter) -> list[Tally]:
    """Return what was drawn from every pair."""
    samples, seed = plan.sampling.samples, plan.sampling.seed
    pieces = {
        (number, which, part): [
            Chunk(scores, draws, piece_seed(seed, number, which, part, place))
            for place, draws in enumerate(pieces_of(samples, part, _DRAWS_AT_ONCE))
        ]
        for number, pair in enumerate(pairs)
        for which, scores in enumerate((pair.scores, pair.neighbor))
        for part in range(PARTS)
    }
    few = samples * len(pairs) < _WORTH_WORKERS
    threads = 1 if few else plan.sampling.threads
    return counted(draw_chunk, plan.target, pieces, reporter, threads)
