"""The positive control: every real mechanism passes, and its exact loss is within the bounds."""

import json
from pathlib import Path

import jsonschema
import pytest

from dpsel.auditing.certificate import Verdict
from dpsel.auditing.mechanism import audit_mechanism
from dpsel.auditing.request import MechanismTarget
from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.errors import UsageError
from tests.audited import audited, caught_by, mechanism_request
from tests.sample_tables import Silent

SCHEMA = json.loads((Path(__file__).parents[2] / "dpsel/auditing/audit.schema.json").read_text())
# By what a draw costs: at most half a second each.
SAMPLES = {"peeling": 100_000, "oneshot-laplace": 100_000, "joint": 1_000}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("d", "k", "epsilon"), [(6, 3, 1.0), (4, 1, 2.0)])
def test_every_mechanism_passes(name: str, d: int, k: int, epsilon: float) -> None:
    samples = SAMPLES.get(name, 20_000)
    certificate = audited(name, samples, d=d, k=k, epsilon=epsilon)
    assert caught_by(certificate) == set()
    assert certificate.verdict is Verdict.PASS
    fields = certificate.fields
    assert fields["lower_bound"] <= fields["exact_loss"] <= epsilon
    assert fields["upper_bound"] is None or fields["exact_loss"] <= fields["upper_bound"]
    jsonschema.validate(certificate.to_dict(), SCHEMA)


@pytest.mark.parametrize("sampler", Sampler)
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_both_samplers_pass_with_every_gamma(sampler: Sampler, gamma: float) -> None:
    certificate = audited(
        "canonical-lipschitz", 30_000, d=4, k=2, epsilon=1.0, sampler=sampler, gamma=gamma
    )
    assert certificate.verdict is Verdict.PASS
    assert certificate.fields["exact_loss"] > 0.7
    assert certificate.fields["lower_bound"] > 0.45


def test_the_system_s_randomness_passes_as_well() -> None:
    certificate = audited("canonical-lipschitz", 20_000, seed=None, sampler=Sampler.DIRECT)
    assert certificate.verdict is Verdict.PASS
    assert not certificate.fields["seeded"]


def test_the_built_in_pair_shows_most_of_its_exact_loss() -> None:
    certificate = audited("canonical-lipschitz", 100_000, sampler=Sampler.DIRECT)
    assert certificate.fields["exact_loss"] == 0.684641
    assert certificate.fields["lower_bound"] > 0.5
    assert certificate.fields["upper_bound"] < 0.9
    assert certificate.fields["outcome"] == {
        "one_of": [[0, 1, 2]],
        "how_many": 1,
        "likelier_under": "first",
    }


@pytest.mark.parametrize(("name", "epsilon"), [("peeling", 0.5), ("oneshot-laplace", 0.2)])
def test_mechanisms_with_a_delta_pass(name: str, epsilon: float) -> None:
    certificate = audited(name, 50_000, d=6, k=3, epsilon=epsilon, delta=0.02)
    assert certificate.verdict is Verdict.PASS
    assert certificate.fields["exact_loss"] <= epsilon
    jsonschema.validate(certificate.to_dict(), SCHEMA)


def test_the_printed_algorithm_fails_by_its_law_and_by_draws() -> None:
    certificate = audited("printed-lipschitz", 30_000)
    assert caught_by(certificate) == {"exact law", "sampling"}
    assert certificate.verdict is Verdict.FAIL
    assert certificate.fields["exact_loss"] == 1.71466
    # By its law alone, where draws are too few to show it.
    few = audited("printed-lipschitz", 100)
    assert caught_by(few) == {"exact law"}
    assert few.explanation == "the exact loss is 1.715, and epsilon is 1."


def test_a_worst_case_has_two_pairs_and_passes() -> None:
    certificate = audited("margin-lipschitz", 20_000, d=3, k=1, worst_case=True)
    assert [pair["name"] for pair in certificate.fields["pairs"]] == ["worst-exact", "worst-shown"]
    assert 0.999 < certificate.fields["exact_loss"] <= 1.0
    assert certificate.verdict is Verdict.PASS


def test_scores_of_one_s_own_are_audited() -> None:
    certificate = audited("peeling", 2_000, scores="3,1,0.5", change="-1,0.5,1", k=2, epsilon=0.5)
    (pair,) = certificate.fields["pairs"]
    assert (pair["name"], pair["scores"]) == ("given", [3.0, 1.0, 0.5])
    assert pair["neighbor"] == [2.0, 1.5, 1.5]


def test_many_features_are_audited_without_a_law() -> None:
    certificate = audited("canonical-lipschitz", 4_000, d=300, k=10)
    assert certificate.verdict is Verdict.PASS
    assert certificate.fields["exact_loss"] is None
    assert certificate.fields["upper_bound"] is None
    assert certificate.fields["pairs"][0]["follows_exact_law"] is None
    jsonschema.validate(certificate.to_dict(), SCHEMA)


def test_all_features_leave_nothing_to_choose() -> None:
    certificate = audited("canonical-lipschitz", 1_000, d=3, k=3)
    assert certificate.verdict is Verdict.PASS
    assert certificate.fields["exact_loss"] == 0.0


def test_too_few_samples_to_show_anything_are_inconclusive() -> None:
    certificate = audited("canonical-lipschitz", 100, epsilon=3.0)
    assert certificate.verdict is Verdict.INCONCLUSIVE
    assert certificate.explanation == (
        "so few samples cannot show a loss above 1.44, and epsilon is 3; take more."
    )


def test_the_number_of_workers_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsel.auditing.mechanism._WORTH_WORKERS", 0)
    monkeypatch.setattr("dpsel.auditing.mechanism._DRAWS_AT_ONCE", 500)
    plans = (mechanism_request("canonical-lipschitz", 4_000, threads=threads) for threads in (1, 2))
    first, second = (audit_mechanism(request, Silent()).to_dict() for request in plans)
    assert first == second


def test_seeds_give_other_draws() -> None:
    first, again, other = (
        audited("canonical-lipschitz", 5_000, seed=seed).to_dict() for seed in (1, 1, 2)
    )
    assert first == again
    assert first["lower_bound"] != other["lower_bound"] or first["pairs"] != other["pairs"]


def test_what_does_not_fit_is_refused_before_any_draw() -> None:
    for name, given, message in (
        ("magic", {}, "mechanism must be one of .*printed-lipschitz, got magic"),
        ("joint", {"gamma": 0.5}, "--gamma does not apply to the mechanism joint"),
        ("printed-lipschitz", {"delta": 0.1}, "no other parameter than --gamma"),
        ("printed-lipschitz", {"d": 40, "k": 9}, "is not known here"),
        ("peeling", {"delta": 1.5}, "delta must be 0 or more and below 1"),
        ("peeling", {"d": 2}, "k must be between 1 and 2"),
    ):
        with pytest.raises(UsageError, match=message):
            mechanism_request(name, 100, **given)


def test_a_target_knows_its_delta() -> None:
    assert MechanismTarget("peeling", {"delta": 0.1}, 1, 1.0).delta == 0.1
    assert MechanismTarget("joint", {}, 1, 1.0).delta == 0.0


@pytest.mark.parametrize("name", MECHANISMS)
def test_scores_so_far_apart_that_an_outcome_is_certain_follow_the_law(name: str) -> None:
    certificate = audited(name, 300, scores="1e300,-1e300,0", change="1,-1,1", k=1)
    assert certificate.verdict is Verdict.PASS
    assert certificate.fields["exact_loss"] == 0.0
