"""Certificates: what was audited and how, what was found, and the verdict that follows from it."""

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from importlib.metadata import version as installed_version
from typing import Any

from dpsel import __version__
from dpsel.auditing.laws import Law
from dpsel.auditing.loss import (
    LossBounds,
    Outcome,
    OutcomeCounts,
    disagreement,
    loss,
    loss_bounds,
    visible_loss,
)
from dpsel.auditing.request import MechanismTarget, Sampling
from dpsel.core.arrays import FloatArray
from dpsel.records import frozen


@frozen
class Check:
    """One check: its name, whether it passed, and what was found."""

    name: str
    passed: bool
    found: str


@frozen
class Drawn:
    """A pair of inputs: as they are printed, their exact laws, and the counts of their draws."""

    name: str
    inputs: Mapping[str, Any]
    laws: tuple[Law, Law] | None
    """None if they are not known."""
    tally: OutcomeCounts


@frozen
class PairFinding:
    """The loss at one pair of inputs: bounds from draws, and the exact loss."""

    name: str
    inputs: Mapping[str, Any]
    """The inputs as they are printed."""
    bounds: LossBounds
    exact: float | None
    """The loss under the exact law; None if the law is not known."""
    contradiction: Outcome | None
    """An outcome whose count contradicts the exact law, if there is one."""

    @staticmethod
    def of(pair: Drawn, *, possible: int, delta: float, alpha: float) -> "PairFinding":
        """Return what the draws from a pair of inputs show, and what their exact laws say.

        Args:
            pair: The draws and the laws.
            possible: The number of possible outcomes.
            delta: The delta of the guarantee.
            alpha: The error probability of all bounds together.
        """
        bounds = loss_bounds(pair.tally, possible, delta, alpha)
        if pair.laws is None:
            return PairFinding(pair.name, pair.inputs, bounds, None, None)
        exact = loss(*pair.laws, delta)
        contradiction = disagreement(pair.tally, pair.laws, possible, alpha)
        return PairFinding(pair.name, pair.inputs, bounds, exact, contradiction)

    def to_dict(self) -> dict[str, Any]:
        """Return what was found, as plain values."""
        return {
            "name": self.name,
            **self.inputs,
            "lower_bound": rounded(self.bounds.lower),
            "upper_bound": rounded(self.bounds.upper),
            "outcome": _outcome(self.bounds),
            "exact_loss": rounded(self.exact),
            "follows_exact_law": None if self.exact is None else self.contradiction is None,
        }


def largest_exact(findings: Sequence[PairFinding]) -> float | None:
    """Return the largest exact loss; None unless the laws of all pairs are known."""
    known = [finding.exact for finding in findings if finding.exact is not None]
    return max(known) if len(known) == len(findings) else None


# Laws come from numerical integration, with errors far below this.
_EXACT_ERROR = 1e-9
NO_PROOF = "A pass is no proof."


class Verdict(StrEnum):
    """The verdict of an audit."""

    PASS = "pass"
    """No violation was found."""

    FAIL = "fail"
    """The guarantee does not hold."""

    INCONCLUSIVE = "inconclusive"
    """No loss above epsilon was shown, but the draws allow no conclusion."""


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
        findings: One finding per pair.
        checks: The checks without statistics.
        epsilon: The claimed epsilon.
        confidence: The joint confidence of all bounds.
        visible: The largest loss that this many draws could show.
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
        if finding.contradiction is not None:
            return Verdict.INCONCLUSIVE, (
                "no loss above epsilon was shown, but the draws do not follow the exact law "
                f"(see {finding.contradiction}), so that nothing said of the law holds for them."
            )
    if visible <= epsilon:
        return Verdict.INCONCLUSIVE, (
            f"so few samples cannot show a loss above {max(0.0, visible):.3g}, and epsilon is "
            f"{epsilon:g}; take more."
        )
    return Verdict.PASS, _passed(findings, epsilon, confidence)


def _passed(findings: Sequence[PairFinding], epsilon: float, confidence: float) -> str:
    """Return what is known about a loss that was not above epsilon."""
    least = max(finding.bounds.lower for finding in findings)
    most = max(finding.bounds.upper for finding in findings)
    at_most = f" and at most {most:.4g}" if math.isfinite(most) else ""
    exact = largest_exact(findings)
    by_law = "" if exact is None else f" By the exact law it is {exact:.4g}."
    return (
        f"no loss above epsilon = {epsilon:g} was found. On these inputs it is at least {least:.4g}"
        f"{at_most}, with confidence {confidence:.10g}.{by_law} {NO_PROOF}"
    )


SCHEMA_ID = "dpsel.audit/1"
_DIGITS = 6
# If there are more outcomes than this, the rest are counted, not listed; more rows are left out.
_MOST_LISTED = 20


@frozen
class Certificate:
    """The verdict of an audit, with everything it is based on."""

    verdict: Verdict
    explanation: str
    fields: Mapping[str, Any]

    def __repr__(self) -> str:
        """Return the verdict, and why."""
        return f"Certificate: {self.verdict}\n  {self.explanation}"

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, in the order they are printed."""
        return {
            "schema": SCHEMA_ID,
            "verdict": str(self.verdict),
            "explanation": self.explanation,
            **self.fields,
        }


def certified(
    about: Mapping[str, Any],
    target: MechanismTarget,
    d: int,
    sampling: Sampling,
    drawn: Sequence[Drawn],
    checks: Sequence[Check],
    libraries: Sequence[str],
) -> Certificate:
    """Return the certificate of a mechanism or a command, from the draws of all pairs."""
    possible, alpha = math.comb(d, target.k), sampling.alpha / len(drawn)
    findings = [
        PairFinding.of(pair, possible=possible, delta=target.delta, alpha=alpha) for pair in drawn
    ]
    outcomes = [outcome for pair in drawn for outcome in pair.tally.outcomes]
    checks = [*checks, check_sets(outcomes, d, target.k)]
    visible = visible_loss(sampling.samples, possible, target.delta, alpha)
    verdict, why = judge_loss(
        findings,
        checks,
        epsilon=target.epsilon,
        confidence=sampling.confidence,
        visible=visible,
    )
    largest = max((finding.bounds for finding in findings), key=lambda bounds: bounds.lower)
    fields = {
        "audited": {**about, **target.to_dict(d)},
        "samples": sampling.samples,
        "seeded": sampling.seed is not None,
        "confidence": sampling.confidence,
        "lower_bound": rounded(largest.lower),
        "upper_bound": rounded(max(finding.bounds.upper for finding in findings)),
        "outcome": _outcome(largest),
        "exact_loss": rounded(largest_exact(findings)),
        "pairs": [finding.to_dict() for finding in findings],
        "checks": [vars(check) for check in checks],
        **made_by(libraries),
    }
    return Certificate(verdict, why, fields)


def check_sets(outcomes: Iterable[Outcome], d: int, k: int) -> Check:
    """Check that every outcome is a set: k different indices, ascending."""
    for outcome in outcomes:
        if not _is_set(outcome, d, k):
            return Check("sets", False, f"{outcome} is not a set of {k} ascending indices")
    return Check("sets", True, f"every outcome is a set of {k} ascending indices")


def _is_set(outcome: Outcome, d: int, k: int) -> bool:
    """Return whether an outcome is one of the k-subsets."""
    if not isinstance(outcome, tuple) or len(outcome) != k:
        return False
    return list(outcome) == sorted(set(outcome)) and outcome[0] >= 0 and outcome[-1] < d


def plain_cells(rows: FloatArray) -> list[list[float | str]] | None:
    """Return rows as plain values, or None if there are many; NaN and infinities as text."""
    if len(rows) > _MOST_LISTED:
        return None
    return [[cell if math.isfinite(cell) else str(cell) for cell in row] for row in rows.tolist()]


def made_by(libraries: Sequence[str]) -> dict[str, Any]:
    """Return the versions of dpsel, Python and the libraries that the audit used."""
    installed = {name: installed_version(name) for name in libraries}
    return {
        "version": __version__,
        "libraries": {"python": platform.python_version(), **installed},
    }


def _outcome(bounds: LossBounds) -> dict[str, Any]:
    """Return the outcomes that attain a lower bound, as plain values."""
    listed = [
        list(outcome) if isinstance(outcome, tuple) else outcome
        for outcome in bounds.outcomes[:_MOST_LISTED]
    ]
    return {
        "one_of": listed,
        "how_many": len(bounds.outcomes),
        "likelier_under": ("first", "second")[bounds.likelier],
    }


def rounded(value: float | None) -> float | None:
    """Return a number with 6 significant digits; None if it is infinite or NaN."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{_DIGITS}g}")
