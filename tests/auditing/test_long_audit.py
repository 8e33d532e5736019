"""A million draws of every mechanism, and thousands of audits for their false alarms: minutes.

pytest -m long tests/auditing
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpsel.auditing.certificate import Verdict
from dpsel.auditing.loss import PARTS, OutcomeCounts
from dpsel.auditing.mechanism import (
    DrawTask,
    audit_mechanism,
    draw_some,
    mechanism_certificate,
    score_pairs,
)
from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.system.threads import plan_threads
from tests.audited import audited, audited_command, caught_by, mechanism_request
from tests.auditing.test_mutants import Weaker
from tests.sample_tables import Silent

pytestmark = pytest.mark.long

# A draw of these takes longer.
SAMPLES = {"joint": 30_000, "permute-and-flip": 200_000}
PLACES = [(which, part) for which in (0, 1) for part in range(PARTS)]


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("d", "k"), [(6, 3), (8, 2), (3, 1)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_a_million_draws_show_no_loss_above_epsilon(
    name: str, d: int, k: int, epsilon: float
) -> None:
    request = mechanism_request(
        name, SAMPLES.get(name, 1_000_000), d=d, k=k, epsilon=epsilon, threads=plan_threads(None)
    )
    certificate = audit_mechanism(request, Silent())
    assert caught_by(certificate) == set()
    assert certificate.fields["exact_loss"] > 0.3 * epsilon


@pytest.mark.parametrize("name", MECHANISMS)
def test_worst_cases_show_no_loss_above_epsilon(name: str) -> None:
    threads = plan_threads(None)
    request = mechanism_request(
        name, SAMPLES.get(name, 1_000_000), worst_case=True, threads=threads
    )
    certificate = audit_mechanism(request, Silent())
    assert caught_by(certificate) == set()
    assert certificate.fields["exact_loss"] > 0.8


@pytest.mark.parametrize("sampler", Sampler)
@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_every_gamma_and_sampler_passes(sampler: Sampler, gamma: float) -> None:
    given: dict[str, Any] = {"sampler": sampler, "gamma": gamma, "threads": plan_threads(None)}
    request = mechanism_request("canonical-lipschitz", 1_000_000, d=7, k=3, **given)
    assert caught_by(audit_mechanism(request, Silent())) == set()


def test_an_epsilon_that_is_off_by_a_fifth_is_caught() -> None:
    class Off(Weaker):
        factor = 1.2

    given: dict[str, Any] = {"sampler": Sampler.DIRECT, "worst_case": True}
    # At d = 6 and k = 3 the loss of canonical-lipschitz is at most 0.83 epsilon, so that 1.2 times
    # as much is no breach; but it is not the law. With a margin the loss is tight, and it is one.
    found = audited("canonical-lipschitz", 1_000_000, target=Off, **given)
    assert caught_by(found) == {"fit to the law"}
    found = audited("margin-lipschitz", 1_000_000, target=Off, **given)
    assert caught_by(found) == {"sampling", "fit to the law"}


def test_right_mechanisms_are_refused_no_more_often_than_said() -> None:
    """Draw 400 small audits at a confidence of 0.8, where false alarms would be seen."""
    request = mechanism_request(
        "margin-lipschitz", 4_000, d=2, k=1, confidence=0.8, sampler=Sampler.DIRECT
    )
    pairs = score_pairs(request)
    alarms = []
    for seed in range(400):
        tally = OutcomeCounts.of(
            {
                (which, part): draw_some(
                    request.target,
                    DrawTask(
                        (pairs[0].scores, pairs[0].neighbor)[which], 1_000, 1_000 * seed + number
                    ),
                )
                for number, (which, part) in enumerate(PLACES)
            }
        )
        alarms.append(mechanism_certificate(request, pairs, [tally]).verdict is not Verdict.PASS)
    # The exact loss is epsilon itself here: no pair is harder on a right mechanism.
    assert stats.binom.sf(np.sum(alarms) - 1, 400, 0.2) > 1e-7


@pytest.mark.parametrize("score", ["dot", "covariance", "kendall", "stump"])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_thousands_of_runs_of_the_command_show_no_loss_above_epsilon(
    score: str, neighbors: str
) -> None:
    certificate = audited_command(
        1_000, score=score, neighbors=neighbors, threads=plan_threads(None)
    )
    assert caught_by(certificate) == set()


def test_thousands_of_runs_that_a_ledger_pays_for_show_no_loss_above_epsilon() -> None:
    certificate = audited_command(1_000, seed=None, threads=plan_threads(None))
    assert caught_by(certificate) == set()
