"""Audits as tests run them: seeded, in this process, and sure beyond one error in ten million."""

from dataclasses import fields, replace
from typing import Any

import pytest

from dpsel.auditing.certificate import Certificate, Verdict
from dpsel.auditing.command import audit_command
from dpsel.auditing.file_pairs import FilePair, file_pairs
from dpsel.auditing.mechanism import audit_mechanism
from dpsel.auditing.options import Audited, Claim, Effort, Inputs
from dpsel.auditing.request import (
    AuditRequest,
    CommandRequest,
    MechanismRequest,
    MechanismTarget,
    make_audit_request,
)
from dpsel.auditing.score import ScoreMoves, search_largest_move
from dpsel.cli.app import run
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores.registry import ScoreKind
from tests.sample_tables import Silent

CONFIDENCE = 1 - 1e-7
"""A right mechanism fails for one seed in ten million."""


def audit_request(**given: Any) -> AuditRequest:
    """Return the request of these options, by the names of their fields."""
    records = Audited, Claim, Inputs, Effort
    own = [{f.name for f in fields(record)} & given.keys() for record in records]
    assert set().union(*own) == given.keys()
    audited, claim, inputs, effort = (
        record(**{name: given[name] for name in names})
        for record, names in zip(records, own, strict=True)
    )
    return make_audit_request(audited, claim, inputs, effort)


def mechanism_request(
    name: str, samples: int, *, seed: int | None = 1, **given: Any
) -> MechanismRequest:
    asked = {"mechanism": name, "samples": str(samples), "confidence": CONFIDENCE, "threads": 1}
    request = audit_request(**{**asked, "seed": seed, **given})
    assert isinstance(request, MechanismRequest)
    return request


def audited(
    name: str, samples: int, *, target: type[MechanismTarget] | None = None, **given: Any
) -> Certificate:
    """Audit a mechanism, or one that draws as `target` does."""
    request = mechanism_request(name, samples, **given)
    if target is not None:
        request = replace(request, target=target(**vars(request.target)))
    return audit_mechanism(request, Silent())


def audited_command(samples: int, *, seed: int | None = 1, **given: Any) -> Certificate:
    """Audit the whole command."""
    asked = {"samples": str(samples), "confidence": CONFIDENCE, "threads": 1}
    request = audit_request(**{**asked, "command": True, "seed": seed, **given})
    assert isinstance(request, CommandRequest)
    return audit_command(request, Silent(), run)


def only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command on one of the pairs of tables only, which saves time."""
    if name != "searched":
        monkeypatch.setattr("dpsel.auditing.file_pairs._STARTS", 1)
        monkeypatch.setattr("dpsel.auditing.file_pairs._STEPS", 0)

    def chosen(*arguments: Any, **options: Any) -> list[FilePair]:
        return [pair for pair in file_pairs(*arguments, **options) if pair.name == name]

    monkeypatch.setattr("dpsel.auditing.command.file_pairs", chosen)


def moves(kind: ScoreKind, neighbors: Neighbors, rows: int = 1, tables: int = 100) -> ScoreMoves:
    """Audit a score under one relation."""
    unit = Unit("person" if rows > 1 else "row", rows)
    return search_largest_move(kind, neighbors, unit, tables=tables, seed=1)


def caught_by(certificate: Certificate) -> set[str]:
    """Return the layers of an audit that something did not get through."""
    fields = certificate.fields
    epsilon = fields["audited"]["epsilon"]
    found = {f"check: {check['name']}" for check in fields["checks"] if not check["passed"]}
    if fields["lower_bound"] is None or fields["lower_bound"] > epsilon:
        found.add("sampling")
    if fields["exact_loss"] is not None and fields["exact_loss"] > epsilon:
        found.add("exact law")
    if any(pair["follows_exact_law"] is False for pair in fields["pairs"]):
        found.add("fit to the law")
    assert bool(found) == (certificate.verdict is not Verdict.PASS)
    return found
