"""From findings to a verdict, and to words that say no more than was found."""

import math
from collections.abc import Sequence
from enum import StrEnum

from dpsel.core.audit.checks import Check
from dpsel.core.audit.findings import PairFinding
from dpsel.core.audit.moves import ScoreMoves

# Laws are integrated with errors far below this.
_EXACT_ERROR = 1e-9
_NO_PROOF = "A pass is no proof."


class Verdict(StrEnum):
    """What an audit comes to."""

    PASS = "pass"
    """Nothing was found."""

    FAIL = "fail"
    """The guarantee does not hold."""

    INCONCLUSIVE = "inconclusive"
    """No loss above epsilon was shown, but the audit could not have its say."""


def judge_loss(
    findings: Sequence[PairFinding],
    checks: Sequence[Check],
    *,
    epsilon: float,
    confidence: float,
    visible: float,
) -> tuple[Verdict, str]:
    """Return the verdict on a mechanism or a command, and why.

    Args:
        findings: One for every pair.
        checks: The plain checks.
        epsilon: What is claimed.
        confidence: Of all bounds together.
        visible: The largest loss that so many draws could show.
    """
    shown = max(findings, key=lambda finding: finding.bounds.lower)
    if shown.bounds.lower > epsilon:
        return Verdict.FAIL, (
            f"the loss is at least {shown.bounds.lower:.4g}, with confidence {confidence:.10g}, "
            f"and epsilon is {epsilon:g}; it shows at the pair {shown.name}."
        )
    exact = max((finding.exact for finding in findings if finding.exact is not None), default=0.0)
    if exact > epsilon + _EXACT_ERROR:
        return Verdict.FAIL, f"the exact loss is {exact:.4g}, and epsilon is {epsilon:g}."
    for check in checks:
        if not check.passed:
            return Verdict.FAIL, f"{check.found}."
    for finding in findings:
        if finding.stranger is not None:
            return Verdict.INCONCLUSIVE, (
                "no loss above epsilon was shown, but the draws do not follow the exact law "
                f"(see {finding.stranger}), so that nothing said of the law holds for them."
            )
    if visible <= epsilon:
        return Verdict.INCONCLUSIVE, (
            f"so few samples cannot show a loss above {max(0.0, visible):.3g}, and epsilon is "
            f"{epsilon:g}; take more."
        )
    return Verdict.PASS, _passed(findings, epsilon, confidence)


def _passed(findings: Sequence[PairFinding], epsilon: float, confidence: float) -> str:
    """Return what is known of the loss that was not above epsilon."""
    least = max(finding.bounds.lower for finding in findings)
    most = max(finding.bounds.upper for finding in findings)
    at_most = f" and at most {most:.4g}" if math.isfinite(most) else ""
    known = [finding.exact for finding in findings if finding.exact is not None]
    by_law = f" By the exact law it is {max(known):.4g}." if len(known) == len(findings) else ""
    return (
        f"no loss above epsilon = {epsilon:g} was found. On these inputs it is at least {least:.4g}"
        f"{at_most}, with confidence {confidence:.10g}.{by_law} {_NO_PROOF}"
    )


def judge_moves(moves: Sequence[ScoreMoves]) -> tuple[Verdict, str]:
    """Return the verdict on a score, and why."""
    for found in moves:
        if found.failure is not None:
            return Verdict.FAIL, f"{found.failure}."
    largest = max(moves, key=lambda found: found.share)
    tried = sum(found.tables for found in moves)
    share = f"{float(largest.share):.4g} times"
    if largest.share > 1:
        return Verdict.FAIL, (
            f"one unit moves a score by {share} the stated sensitivity, under {largest.neighbors}."
        )
    return Verdict.PASS, (
        f"over {tried} pairs of tables no unit moved a score by more than {share} the stated "
        f"sensitivity. {_NO_PROOF}"
    )
