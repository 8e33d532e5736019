"""The positive control for the whole command, on real files."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest

from dpsel.auditing.certificate import Verdict
from dpsel.auditing.file_pairs import FilePair, write_pair
from dpsel.auditing.request import CommandRequest
from dpsel.budget.amounts import Amount
from dpsel.budget.charges import Terms
from dpsel.budget.ledger import LedgerFile
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.errors import InputError, UsageError
from dpsel.system.output import Output
from tests.audited import audit_request, audited_command, caught_by, only

SCHEMA = json.loads((Path(__file__).parents[2] / "dpsel/auditing/audit.schema.json").read_text())


def test_the_command_passes() -> None:
    certificate = audited_command(100)
    assert caught_by(certificate) == set()
    fields = certificate.fields
    assert [pair["name"] for pair in fields["pairs"]] == ["searched", "outlier", "missing", "empty"]
    assert [pair["format"] for pair in fields["pairs"]] == ["parquet", "parquet", "csv", "parquet"]
    # The most that two levels of scores show at d = 4 and k = 2.
    assert fields["exact_loss"] == pytest.approx(0.625, abs=0.01)
    assert fields["audited"]["kind"] == "command"
    jsonschema.validate(certificate.to_dict(), SCHEMA)


@pytest.mark.parametrize(
    ("score", "given"),
    [
        ("covariance", {"neighbors": Neighbors.REPLACE_ONE, "rows_per_person": 2}),
        ("kendall", {"mechanism": "permute-and-flip"}),
    ],
)
def test_the_command_passes_with_other_scores_relations_and_units(
    score: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    only("searched", monkeypatch)
    certificate = audited_command(100, score=score, **given)
    assert caught_by(certificate) == set()
    assert certificate.verdict is Verdict.PASS
    assert 0.25 < certificate.fields["exact_loss"] <= 1.0


def test_the_command_passes_by_stump_as_it_is_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    only("searched", monkeypatch)
    certificate = audited_command(100, score="stump")
    assert caught_by(certificate) == set()
    fields = certificate.fields
    assert fields["audited"]["mechanism"]["name"] == "permute-and-flip"
    # The private median is part of what is drawn, and of no law that is known here.
    assert fields["exact_loss"] is None
    (pair,) = fields["pairs"]
    assert {row[-1] for row in pair["others"]} >= {-1.0, 1.0}


def test_the_same_seed_gives_the_same_certificate_and_none_is_not_seeded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only("missing", monkeypatch)
    first, again = (audited_command(40, confidence=0.9).to_dict() for _ in range(2))
    assert first == again
    unseeded = audited_command(40, confidence=0.9, seed=None)
    assert not unseeded.fields["seeded"]
    assert unseeded.verdict is Verdict.PASS


def test_tables_are_written_as_they_are(tmp_path: Path) -> None:
    others = np.array([[0.5, np.nan, 1.0]])
    pair = FilePair("p", others, (np.array([[1e6, 0.0, -1.0]] * 2), np.empty((0, 3))))
    first, second = write_pair(pair, Unit("person", 1), tmp_path)
    assert pl.read_parquet(first)["x0"].to_list() == [0.5, 1e6, 1e6]
    # Both rows of the unit are one person's.
    assert pl.read_parquet(first)["person"].to_list() == [0, 1, 1]
    assert pl.read_parquet(second).shape == (1, 4)
    text = FilePair("t", others, pair.unit, text=True)
    place, _ = write_pair(text, Unit(), tmp_path)
    assert Path(place).read_text().splitlines()[:2] == ["x0,x1,y", "0.5,,1.0"]


def test_no_ledger_of_the_user_s_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LedgerFile(tmp_path / "ledger.sqlite3")
    limit = Amount(Decimal(1))
    file.make("patients", limit, Terms(Neighbors.ADD_REMOVE), with_folder=False)
    monkeypatch.setenv("DPSEL_LEDGER", "patients")
    monkeypatch.setenv("DPSEL_LEDGER_FILE", str(file.place))
    only("empty", monkeypatch)
    for seed in (None, 1):
        assert audited_command(100, seed=seed).verdict is Verdict.PASS
    assert file.standing("patients").charges == 0


def test_every_run_that_is_counted_is_paid_for_and_writes_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    charged: list[str] = []
    written: list[str] = []
    charge, commit = LedgerFile.charge, Output.commit

    def charging(self: LedgerFile, name: str, *others: Any) -> Any:
        charged.append(name)
        return charge(self, name, *others)

    def committing(self: Output) -> None:
        commit(self)
        written.append(self._place)

    monkeypatch.setattr(LedgerFile, "charge", charging)
    monkeypatch.setattr(Output, "commit", committing)
    only("empty", monkeypatch)
    audited_command(40, seed=None, confidence=0.9)
    # 40 on each of both files; the first, one for its claims, two for the charge, 32 fresh ones.
    assert len(charged) == len(written) == 2 * 40 + 1 + 1 + 2 + 32


def test_a_command_that_releases_nothing_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise InputError("no")

    monkeypatch.setattr("dpsel.selection.api.select_job", refused)
    only("empty", monkeypatch)
    with pytest.raises(UsageError, match="the command that is audited released nothing: no"):
        audited_command(40)


def test_relations_are_known_by_their_names() -> None:
    request = audit_request(command=True, seed=1, neighbors="replace-one")
    assert isinstance(request, CommandRequest)
    assert request.neighbors is Neighbors.REPLACE_ONE
    with pytest.raises(UsageError, match="neighbors must be one of add-remove, replace-one, got x"):
        audit_request(command=True, seed=1, neighbors="x")
