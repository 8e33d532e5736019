"""The paper's synthetic data: their shapes, their laws, and who finds the true features."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

from dpsel.core.arrays import FloatArray
from dpsel.core.randomness import derived_seed
from dpsel.core.votes import Voting, contiguous_blocks, votes_for_each_k
from dpsel.evaluation.metrics import correlations
from dpsel.paper.synthetic import SIGNALS, Design, screening_design, stability_design
from dpsel.selection.exact import exact_top_k
from dpsel.selection.lasso import PENALTY, block_fit
from tests.chi_square import ALPHA

SEEDS = range(400)
REPETITIONS = 100


@pytest.mark.parametrize(("n", "d"), [(200, 1000), (50, 8), (30, 3), (2, 1)])
def test_a_screening_design_has_its_shape_and_8_signals_or_all(n: int, d: int) -> None:
    design = screening_design(n, d, 1)
    assert design.rows.X.shape == (n, d)
    assert design.rows.X.flags.f_contiguous
    assert design.rows.y.shape == (n,)
    assert design.weights.shape == (d,)
    assert np.count_nonzero(design.weights) == min(8, d)
    assert SIGNALS == 8


@pytest.mark.parametrize("outliers", [False, True])
def test_a_stability_design_has_100_rows_of_100_features_and_5_equal_weights(
    outliers: bool,
) -> None:
    design = stability_design(1, outliers=outliers)
    assert design.rows.X.shape == (100, 100)
    assert design.rows.X.flags.f_contiguous
    assert design.rows.y.shape == (100,)
    assert design.weights.tolist() == [1.0] * 5 + [0.0] * 95


def test_a_seed_gives_the_same_data_again_and_another_seed_others() -> None:
    makers: list[Callable[[int], Design]] = [
        lambda seed: screening_design(40, 20, seed),
        lambda seed: stability_design(seed, outliers=False),
        lambda seed: stability_design(seed, outliers=True),
    ]
    for make in makers:
        first, again, other = make(derived_seed(7, 0)), make(derived_seed(7, 0)), make(8)
        assert np.array_equal(first.rows.X, again.rows.X)
        assert np.array_equal(first.rows.y, again.rows.y)
        assert np.array_equal(first.weights, again.weights)
        assert not np.isin(first.rows.X, other.rows.X).any()


def screening_weights() -> tuple[FloatArray, FloatArray]:
    """Return all weights of many designs, and those of them that are not 0."""
    weights = np.stack([screening_design(20, 30, seed).weights for seed in SEEDS])
    return weights, weights[weights != 0]


def test_four_in_ten_signals_are_negative() -> None:
    signals = screening_weights()[1]
    assert len(signals) == 8 * len(SEEDS)
    negative = int((signals < 0).sum())
    assert stats.binomtest(negative, len(signals), 0.4).pvalue > ALPHA
    for wrong in (0.3, 0.5, 0.6):
        assert stats.binomtest(negative, len(signals), wrong).pvalue < ALPHA


def test_a_signal_is_4_log_n_over_root_n_and_a_half_normal_beyond() -> None:
    signals = np.abs(screening_weights()[1])
    beyond = signals - 4 * math.log(20) / math.sqrt(20)
    assert beyond.min() > 0
    assert stats.kstest(beyond, "halfnorm").pvalue > ALPHA
    assert stats.kstest(beyond * 1.15, "halfnorm").pvalue < ALPHA
    assert stats.kstest(beyond + 0.15, "halfnorm").pvalue < ALPHA


def test_the_places_of_signals_are_uniform() -> None:
    counts = (screening_weights()[0] != 0).sum(axis=0)
    assert uniform_p_value(counts.tolist(), drawn=8) > ALPHA
    # As if a signal in ten were always the first feature.
    moved = [round(0.9 * count) for count in counts.tolist()]
    moved[0] += sum(counts.tolist()) - sum(moved)
    assert uniform_p_value(moved, drawn=8) < ALPHA


def uniform_p_value(counts: Sequence[int], drawn: int) -> float:
    """Pearson's test, where each seed draws so many different places."""
    d, expected = len(counts), sum(counts) / len(counts)
    # Without replacement, counts vary by the factor (d - drawn) / (d - 1) less.
    statistic = sum((count - expected) ** 2 for count in counts) / expected * (d - 1) / (d - drawn)
    return float(stats.chi2.sf(statistic, d - 1))


def deviation_p_value(noise: FloatArray, deviation: float) -> float:
    """Return the two-sided chance of such a spread around 0, if the noise is normal."""
    statistic = float(noise @ noise) / deviation**2
    tail = min(stats.chi2.cdf(statistic, len(noise)), stats.chi2.sf(statistic, len(noise)))
    return float(2 * tail)


def test_the_noise_of_a_screening_design_is_normal_with_a_deviation_of_1_5() -> None:
    design = screening_design(20_000, 12, 3)
    noise = design.rows.y - design.rows.X @ design.weights
    assert deviation_p_value(noise, 1.5) > ALPHA
    assert deviation_p_value(noise, 1.45) < ALPHA
    assert deviation_p_value(noise, 1.55) < ALPHA
    assert stats.kstest(noise / 1.5, "norm").pvalue > ALPHA
    # It tells nothing of the features: beyond this, a correlation of 0 is one in 1e7 for each.
    reach = stats.norm.isf(ALPHA / 2 / 12) / math.sqrt(20_000)
    assert correlations(design.rows.X, noise).max() < reach


@pytest.mark.parametrize("stability", [False, True])
def test_features_are_standard_normal(stability: bool) -> None:
    if stability:
        X = np.stack([stability_design(seed, outliers=True).rows.X for seed in range(5)]).ravel()
    else:
        X = screening_design(500, 100, 4).rows.X.ravel()
    assert len(X) == 50_000
    assert stats.kstest(X, "norm").pvalue > ALPHA
    assert stats.kstest(X * 1.05, "norm").pvalue < ALPHA


def residuals(*, outliers: bool) -> tuple[FloatArray, FloatArray]:
    """Return what the first and what the last five features leave of the target, by row."""
    first, last = [], []
    for seed in range(50):
        rows = stability_design(seed, outliers=outliers).rows
        first.append(rows.y - rows.X[:, :5].sum(axis=1))
        last.append(rows.y - rows.X[:, -5:].sum(axis=1))
    return np.stack(first), np.stack(last)


def test_every_tenth_row_follows_the_last_five_features_and_no_other_does() -> None:
    first, last = residuals(outliers=True)
    tenth = np.arange(100) % 10 == 9
    for noise in (first[:, ~tenth].ravel(), last[:, tenth].ravel()):
        assert deviation_p_value(noise, 0.1) > ALPHA
        assert np.abs(noise).max() < 0.1 * stats.norm.isf(ALPHA / 2 / len(noise))
    # The other five features leave sums of ten standard normals, and the noise.
    for left in (last[:, ~tenth].ravel(), first[:, tenth].ravel()):
        assert deviation_p_value(left, math.sqrt(10.01)) > ALPHA
        assert deviation_p_value(left, 0.1) < ALPHA
    assert contiguous_blocks(100, 10)[tenth].tolist() == list(range(10))


def test_without_outliers_every_row_follows_the_first_five_features() -> None:
    first, last = residuals(outliers=False)
    assert deviation_p_value(first.ravel(), 0.1) > ALPHA
    assert deviation_p_value(first.ravel(), 0.11) < ALPHA
    assert deviation_p_value(last.ravel(), math.sqrt(10.01)) > ALPHA


def test_outliers_change_the_target_of_every_tenth_row_and_nothing_else() -> None:
    plain, changed = stability_design(5, outliers=False), stability_design(5, outliers=True)
    assert np.array_equal(plain.rows.X, changed.rows.X)
    differs = np.flatnonzero(plain.rows.y != changed.rows.y)
    assert differs.tolist() == list(range(9, 100, 10))


def found_by_sis_and_by_votes(*, outliers: bool) -> tuple[list[int], list[int]]:
    """Return how many of the five true features each method finds, once a repetition.

    Without privacy: SIS takes the five largest |correlations|; two-stage lets ten blocks vote for
    the whole support of their LASSO, and takes the five with the most votes. Ties go to the
    smaller index, and so to the true features: that can only help two-stage.
    """
    by_sis, by_votes = [], []
    blocks = contiguous_blocks(100, 10)
    with block_fit(PENALTY) as fit:
        for repetition in range(REPETITIONS):
            rows = stability_design(derived_seed(1, repetition), outliers=outliers).rows
            (votes,) = votes_for_each_k(rows.X, rows.y, blocks, [100], Voting(10, fit))
            by_sis.append(int((exact_top_k(correlations(rows.X, rows.y), 5) < 5).sum()))
            by_votes.append(int((exact_top_k(votes, 5) < 5).sum()))
    return by_sis, by_votes


def sign_p_value(better: Sequence[int], worse: Sequence[int]) -> float:
    """Return the chance of so many wins if both were equally good; ties do not count."""
    wins = sum(a > b for a, b in zip(better, worse, strict=True))
    losses = sum(a < b for a, b in zip(better, worse, strict=True))
    return float(stats.binomtest(wins, wins + losses, 0.5, alternative="greater").pvalue)


@pytest.mark.parametrize("outliers", [False, True])
def test_sis_finds_more_of_the_true_features_than_two_stage_without_privacy(
    outliers: bool,
) -> None:
    by_sis, by_votes = found_by_sis_and_by_votes(outliers=outliers)
    assert sign_p_value(by_sis, by_votes) < 1e-20
    # With the roles swapped there is nothing to see, and neither beats itself on other data.
    assert sign_p_value(by_votes, by_sis) > 0.999
    assert sign_p_value(by_sis[::2], by_sis[1::2]) > 1e-6
    # Two-stage is no straw man: it finds more than five of a hundred features at random would.
    assert sum(by_votes) > 200
