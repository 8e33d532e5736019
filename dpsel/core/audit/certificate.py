"""Certificates: what was audited, how, and what was found, as plain values."""

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from typing import Any

from dpsel.core.arrays import FloatArray
from dpsel.core.audit.checks import Check
from dpsel.core.audit.findings import PairFinding
from dpsel.core.audit.intervals import LossBounds
from dpsel.core.audit.moves import ScoreMoves
from dpsel.core.audit.verdict import Verdict, judge_loss, judge_moves

SCHEMA_ID = "dpsel.audit/1"
_DIGITS = 6
# More outcomes or rows than this are counted, not listed.
_MOST_LISTED = 20


@dataclass(frozen=True)
class Certificate:
    """A verdict with all that it rests on."""

    verdict: Verdict
    explanation: str
    fields: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, in the order they are printed."""
        return {
            "schema": SCHEMA_ID,
            "verdict": str(self.verdict),
            "explanation": self.explanation,
            **self.fields,
        }


def loss_certificate(
    audited: Mapping[str, Any],
    findings: Sequence[tuple[Mapping[str, Any], PairFinding]],
    checks: Sequence[Check],
    *,
    samples: int,
    seeded: bool,
    epsilon: float,
    confidence: float,
    visible: float,
    version: str,
    libraries: Sequence[str],
) -> Certificate:
    """Return the certificate of a mechanism or a command; findings come with their inputs."""
    found = [finding for _, finding in findings]
    verdict, why = judge_loss(
        found, checks, epsilon=epsilon, confidence=confidence, visible=visible
    )
    largest = max(found, key=lambda finding: finding.bounds.lower)
    known = [finding.exact for finding in found if finding.exact is not None]
    return Certificate(
        verdict,
        why,
        {
            "audited": dict(audited),
            "samples": samples,
            "seeded": seeded,
            "confidence": confidence,
            "lower_bound": _number(largest.bounds.lower),
            "upper_bound": _number(max(finding.bounds.upper for finding in found)),
            "outcome": _outcome(largest.bounds),
            "exact_loss": _number(max(known)) if len(known) == len(found) else None,
            "pairs": [_pair(inputs, finding) for inputs, finding in findings],
            "checks": [vars(check) for check in checks],
            **_made_by(version, libraries),
        },
    )


def moves_certificate(
    audited: Mapping[str, Any],
    moves: Sequence[ScoreMoves],
    *,
    version: str,
    libraries: Sequence[str],
) -> Certificate:
    """Return the certificate of a score."""
    verdict, why = judge_moves(moves)
    return Certificate(
        verdict,
        why,
        {
            "audited": dict(audited),
            "largest_moves": [_move(found) for found in moves],
            **_made_by(version, libraries),
        },
    )


def plain_cells(rows: FloatArray) -> list[list[float | str]] | None:
    """Return rows as plain values, None if they are many; what JSON has no number for, as text."""
    if len(rows) > _MOST_LISTED:
        return None
    return [[cell if math.isfinite(cell) else str(cell) for cell in row] for row in rows.tolist()]


def _made_by(version: str, libraries: Sequence[str]) -> dict[str, Any]:
    """Return what the audit was made with."""
    installed = {name: installed_version(name) for name in libraries}
    return {
        "version": version,
        "libraries": {"python": platform.python_version(), **installed},
    }


def _pair(inputs: Mapping[str, Any], finding: PairFinding) -> dict[str, Any]:
    """Return what was found at one pair."""
    return {
        "name": finding.name,
        **inputs,
        "lower_bound": _number(finding.bounds.lower),
        "upper_bound": _number(finding.bounds.upper),
        "outcome": _outcome(finding.bounds),
        "exact_loss": _number(finding.exact),
        "follows_exact_law": None if finding.exact is None else finding.stranger is None,
    }


def _outcome(bounds: LossBounds) -> dict[str, Any]:
    """Return the outcomes that attain a lower bound."""
    listed = [
        list(outcome) if isinstance(outcome, tuple) else outcome
        for outcome in bounds.outcomes[:_MOST_LISTED]
    ]
    return {
        "one_of": listed,
        "how_many": len(bounds.outcomes),
        "likelier_under": ("first", "second")[bounds.likelier],
    }


def _move(found: ScoreMoves) -> dict[str, Any]:
    """Return the largest move under one relation, with the tables that show it."""
    return {
        "neighbors": str(found.neighbors),
        "share_of_sensitivity": _number(float(found.share)),
        "exactly": str(found.share),
        "pairs_of_tables": found.tables,
        "tables": {
            "name": found.pair.name,
            "bounds": found.pair.bounds,
            "other_rows": len(found.pair.others),
            "others": plain_cells(found.pair.others),
            "unit_in_first": plain_cells(found.pair.unit[0]),
            "unit_in_second": plain_cells(found.pair.unit[1]),
        },
    }


def _number(value: float | None) -> float | None:
    """Return a number with as many digits as mean something; None if it is infinite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{_DIGITS}g}")
