"""`dpsel audit` as a user runs it: a certificate on stdout, a verdict on stderr, an exit code."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import ROOT, Dpsel, Result
from tests.cli.test_offered_scores import package

SCHEMA = json.loads((ROOT / "dpsel/auditing/audit.schema.json").read_text())
FEW = ("--samples", "2e3", "--seed", 1)

__all__ = ["package"]


def certificate(result: Result) -> Any:
    record = json.loads(result.out)
    jsonschema.validate(record, SCHEMA)
    return record


def test_a_mechanism_passes(dpsel: Dpsel) -> None:
    result = dpsel(
        *("audit", "--mechanism", "canonical-lipschitz", "--epsilon", 1, "--d", 6, "--k", 3), *FEW
    )
    record = certificate(result)
    assert result.code == 0
    assert result.err == f"pass: {record['explanation']}\n"
    assert record["explanation"].endswith("By the exact law it is 0.6846. A pass is no proof.")
    assert record["audited"]["mechanism"]["sampler"] == "lazy"
    assert record["samples"] == 2000


def test_a_known_bad_example_fails_with_a_code_of_its_own(dpsel: Dpsel) -> None:
    result = dpsel("audit", "--mechanism", "printed-lipschitz", "--samples", "3e4", "--seed", 1)
    assert result.code == 1
    record = certificate(result)
    assert record["verdict"] == "fail"
    assert record["exact_loss"] == 1.71466
    assert record["lower_bound"] > 1
    assert result.err.startswith("fail: the loss is at least 1.")


def test_what_is_inconclusive_does_not_end_with_0(dpsel: Dpsel) -> None:
    result = dpsel("audit", "--mechanism", "joint", "--samples", 20, "--epsilon", 5, "--quiet")
    assert (result.code, result.err) == (1, "")
    assert certificate(result)["verdict"] == "inconclusive"


def test_the_same_seed_prints_the_same(dpsel: Dpsel) -> None:
    asked = ("audit", "--mechanism", "peeling", "--worst-case", "--d", 3, "--k", 1, *FEW)
    first, again = dpsel(*asked), dpsel(*asked)
    assert first == again
    assert certificate(first)["exact_loss"] > 0.99


def test_a_score_passes_and_one_of_another_package_too(
    dpsel: Dpsel, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("package")
    for score in ("dot", "above-middle"):
        result = dpsel("audit", "--score", score, "--tables", 20, "--neighbors", "replace-one")
        assert result.code == 0
        (move,) = certificate(result)["largest_moves"]
        assert move["exactly"] == "1"


def test_the_command_passes(dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tests.audited import only

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    only("missing", monkeypatch)
    result = dpsel("audit", "--command", "--score", "covariance", "--samples", 100, "--threads", 1)
    assert result.code == 0
    record = certificate(result)
    assert record["audited"]["score"] == "covariance"
    assert set(record["libraries"]) == {"python", "numpy", "scipy", "polars", "pyarrow"}


def test_a_certificate_is_written_to_a_file(dpsel: Dpsel, tmp_path: Path) -> None:
    place = tmp_path / "certificate.json"
    asked = ("audit", "--mechanism", "canonical-lipschitz", "--output", place, *FEW)
    assert dpsel(*asked).out == ""
    assert json.loads(place.read_text())["verdict"] == "pass"
    again = dpsel(*asked)
    assert (again.code, again.err) == (
        5,
        f"error: {place}: exists already; replace it with --force\n",
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((), "say what to audit: --mechanism NAME, --score NAME, or --command for both together"),
        (
            ("--mechanism", "joint", "--score", "dot"),
            "say what to audit: --mechanism NAME, --score NAME, or --command for both together",
        ),
        (
            ("--score", "dot", "--samples", "10"),
            "--samples does not go with an audit by --score",
        ),
        (
            ("--mechanism", "joint", "--tables", "10"),
            "--tables does not go with an audit by --mechanism",
        ),
        (
            ("--mechanism", "joint", "--samples", "1e6.5"),
            "--samples must be a whole number such as 1e6, got 1e6.5",
        ),
        (
            ("--mechanism", "joint", "--samples", "2.5"),
            "--samples must be a whole number such as 1e6, got 2.5",
        ),
        (
            ("--mechanism", "joint", "--samples", "inf"),
            "--samples must be a whole number such as 1e6, got inf",
        ),
        (("--mechanism", "joint", "--samples", "5"), "samples must be 10 or more, got 5"),
        (
            ("--mechanism", "joint", "--confidence", "1"),
            "confidence must be between 0 and 1, got 1",
        ),
        (("--mechanism", "joint", "--scores", "1,2"), "--scores and --change go together"),
        (
            ("--mechanism", "joint", "--k", 1, "--scores", "1,x", "--change", "1,1"),
            "--scores must be numbers with commas, got 1,x",
        ),
        (
            ("--mechanism", "joint", "--k", 1, "--scores", "1,2", "--change", "1,1", "--d", 2),
            "--scores says what is audited; leave out --worst-case and --d",
        ),
        (
            ("--mechanism", "joint", "--k", 1, "--scores", "1,2", "--change", "1,2"),
            "--change must be between -1 and 1: scores are in units of sensitivity",
        ),
        (
            ("--mechanism", "joint", "--d", 3, "--k", 4),
            "k must be between 1 and 3, the number of features, got 4",
        ),
        (
            ("--mechanism", "joint", "--epsilon", 0),
            "epsilon must be a positive, finite number, got 0",
        ),
        (("--mechanism", "joint", "--seed", -1), "seed must be 0 or more, got -1"),
        (("--score", "magic"), "score must be one of stump, dot, covariance, kendall, got magic"),
        (("--command", "--rows-per-person", 0), "rows-per-person must be 1 or more, got 0"),
        (("--command", "--worst-case"), "--worst-case does not go with an audit by --command"),
        (
            ("--command", "--mechanism", "printed-lipschitz"),
            "`dpsel select` has no mechanism printed-lipschitz",
        ),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(
    dpsel: Dpsel, asked: tuple[object, ...], message: str
) -> None:
    result = dpsel("audit", *asked)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {message}\n"


def test_the_help_shows_an_example_and_the_exit_codes(dpsel: Dpsel) -> None:
    assert "Example: dpsel audit --mechanism" in " ".join(dpsel("audit", "--help").out.split())
    assert "1 an audit did not pass" in " ".join(dpsel("--help").out.split())
