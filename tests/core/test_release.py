"""The Python face of the mechanism."""

import numpy as np
import pytest

import dpsel
from dpsel.errors import UsageError


def test_a_large_epsilon_finds_the_true_top_k() -> None:
    x = np.random.default_rng(1).permutation(100_000).astype(float)
    for k in (1, 2, 50):
        expected = np.sort(np.argsort(x)[-k:])
        assert np.array_equal(dpsel.top_k(x, k, 1e6), expected)
        assert np.array_equal(dpsel.top_k(x.astype(np.int64), k, 1e6, draws=5), [expected] * 5)


def test_indices_ascend_and_draws_make_rows() -> None:
    one = dpsel.top_k(np.zeros(50), 7, 1.0)
    assert one.shape == (7,)
    assert np.all(np.diff(one) > 0)
    many = dpsel.top_k(np.zeros(50), 7, 1.0, draws=20)
    assert many.shape == (20, 7)
    assert np.all(np.diff(many, axis=1) > 0)


def test_k_may_be_all_features() -> None:
    assert dpsel.top_k([3.0, 1.0, 2.0], 3, 1.0).tolist() == [0, 1, 2]
    assert dpsel.top_k([3.0], 1, 1.0, draws=2).tolist() == [[0], [0]]


def test_a_seed_repeats_a_selection_for_each_sampler() -> None:
    x = np.random.default_rng(0).uniform(0, 10, 30_000)
    for sampler in ("lazy", "direct"):
        first = dpsel.top_k(x, 5, 1.0, seed=4, sampler=sampler)
        assert np.array_equal(first, dpsel.top_k(x, 5, 1.0, seed=4, sampler=sampler))


def test_scaling_scores_and_sensitivity_together_changes_nothing() -> None:
    x = np.arange(40)
    plain = dpsel.top_k(x, 5, 2.0, seed=1, draws=50)
    assert np.array_equal(plain, dpsel.top_k(x * 4.0, 5, 2.0, sensitivity=4, seed=1, draws=50))
    assert np.array_equal(plain, dpsel.top_k(x << 32, 5, 2.0, sensitivity=2**32, seed=1, draws=50))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [1e-300, 1.0, 1e300])
def test_extreme_scores_and_epsilons_give_a_selection_without_warnings(
    gamma: float, epsilon: float
) -> None:
    x = np.array([1.7e308, -1.7e308, 0.0, 5e-324, -0.0, 1.0])
    for sampler in ("lazy", "direct"):
        drawn = dpsel.top_k(x, 3, epsilon, sensitivity=1e-9, gamma=gamma, sampler=sampler, draws=9)
        assert drawn.shape == (9, 3)
    assert dpsel.top_k(np.array([2**64 - 1, 0, 1], dtype=np.uint64), 1, 1e9).tolist() == [0]


def test_a_million_features_and_a_thousand_picks_work() -> None:
    x = np.random.default_rng(2).uniform(0, 100, 1_000_000)
    picked = dpsel.top_k(x, 1_000, 1.0)
    assert len(np.unique(picked)) == 1_000
    assert picked[-1] < 1_000_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be between 1 and 4, the number of features, got 0"),
        ({"k": 5}, "k must be between 1 and 4, the number of features, got 5"),
        ({"epsilon": 0.0}, "epsilon must be a positive, finite number, got 0"),
        ({"epsilon": float("nan")}, "epsilon must be a positive, finite number, got nan"),
        ({"epsilon": float("inf")}, "epsilon must be a positive, finite number, got inf"),
        ({"gamma": 1.5}, "gamma must be between 0 and 1, got 1.5"),
        ({"gamma": float("nan")}, "gamma must be between 0 and 1, got nan"),
        ({"sensitivity": 0}, "sensitivity must be a positive, finite number, got 0"),
        ({"sampler": "quick"}, "sampler must be one of lazy, direct, got quick"),
        (
            {"mechanism": "magic"},
            "mechanism must be one of canonical-lipschitz, margin-lipschitz, peeling, "
            "permute-and-flip, oneshot-laplace, joint, got magic",
        ),
        ({"delta": 0.1}, "delta= does not apply to the mechanism canonical-lipschitz"),
        ({"draws": 0}, "draws must be 1 or more, got 0"),
        ({"scores": [1.0, np.nan]}, "scores must be finite numbers"),
        ({"scores": [[1.0, 2.0]]}, "scores must be a one-dimensional array of numbers"),
        ({"scores": ["a"]}, "scores must be a one-dimensional array of numbers"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], message: str) -> None:
    arguments = {"scores": [1.0, 2.0, 3.0, 4.0], "k": 1, "epsilon": 1.0, **change}
    with pytest.raises(UsageError, match=f"^{message}$"):
        dpsel.top_k(**arguments)  # type: ignore[arg-type]


def test_huge_whole_numbers_are_cut_off_and_not_rounded() -> None:
    # As floats these would be 512 apart; a sensitivity of 1 allows for 1.
    edge = 1 << 62
    near, far = np.array([edge - 1, edge - 257]), np.array([edge, edge - 257])
    for mechanism in ("canonical-lipschitz", "peeling", "joint"):
        one, other = (
            dpsel.top_k(scores, 1, 0.01, seed=5, draws=200, mechanism=mechanism)
            for scores in (near, far)
        )
        assert np.array_equal(one, other)
    for extreme in (np.array([-(2**63), 2**63 - 1]), np.array([0, 2**64 - 1], dtype=np.uint64)):
        assert dpsel.top_k(extreme, 1, 1.0).tolist() == [1]
