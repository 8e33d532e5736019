"""The audit of a score: neighboring tables must not move it beyond its sensitivity."""

from dpsel import __version__
from dpsel.audit.plan import ScorePlan
from dpsel.core.audit.certificate import Certificate, moves_certificate
from dpsel.core.audit.moves import ScoreMoves, largest_move
from dpsel.core.scores.registry import find_score
from dpsel.run import Reporter

LIBRARIES = ("numpy", "scipy")


def audit_score(plan: ScorePlan, reporter: Reporter) -> Certificate:
    """Search neighboring tables for the largest move of a score.

    Privacy:
        Guarantee: none is needed; the tables are made up.
        Tested by: tests/audit/test_scores.py, tests/audit/test_mutants.py
    """
    kind = find_score(plan.score)
    moves: list[ScoreMoves] = []
    for neighbors in plan.neighbors:
        moves.append(largest_move(kind, neighbors, plan.unit, tables=plan.tables, seed=plan.seed))
        reporter.progress(len(moves) / len(plan.neighbors))
    audited = {"kind": "score", "score": plan.score, "rows_per_unit": plan.unit.rows}
    return moves_certificate(audited, moves, version=__version__, libraries=LIBRARIES)
