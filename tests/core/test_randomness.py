"""Draws from words: the right law, and full precision at both ends."""

import hashlib

import numpy as np
import pytest
from scipy import stats

from dpsel.core.arrays import WordArray
from dpsel.core.mechanisms.subset_classes import largest_noise
from dpsel.core.randomness import (
    SeededRandomness,
    SystemRandomness,
    derived_seed,
    exponentials,
    integers_below,
    make_randomness,
    seeded_generator,
)
from dpsel.errors import UsageError
from tests.chi_square import ALPHA

BELOW_MEDIAN = 1 << 63


class Scripted:
    """Randomness that says what it is told."""

    private = False

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def words(self, count: int) -> WordArray:
        taken, self._words = self._words[:count], self._words[count:]
        assert len(taken) == count
        return np.array(taken, dtype=np.uint64)


def test_exponentials_follow_the_exponential_law() -> None:
    drawn = exponentials(make_randomness(3), 400_000)
    assert stats.kstest(drawn, "expon").pvalue > ALPHA
    assert stats.kstest(drawn * 1.03, "expon").pvalue < ALPHA


def test_small_exponentials_follow_the_uniform_law_on_a_log_scale() -> None:
    drawn = exponentials(make_randomness(4), 2_000_000)
    small = drawn[drawn < 2.0**-10]
    assert stats.kstest(-np.expm1(-small) / -np.expm1(-(2.0**-10)), "uniform").pvalue > ALPHA


def test_exponentials_reach_far_below_the_smallest_53_bit_uniform() -> None:
    # Bit 63: below the median. Eleven zero exponent bits, then 64 more, then the first one.
    tiny = exponentials(Scripted(BELOW_MEDIAN, 0, 1 << 63), 1)[0]
    assert tiny == pytest.approx(2.0 ** -(1 + 1 + 11 + 64), rel=1e-15)
    assert largest_noise(np.log(np.array([tiny])))[0] > 53.3


def test_exponentials_reach_far_above_what_a_53_bit_uniform_gives() -> None:
    huge = exponentials(Scripted(0, 0, 0, 1 << 63), 1)[0]
    assert huge == pytest.approx((1 + 1 + 11 + 128) * np.log(2), rel=1e-15)
    assert np.isfinite(exponentials(Scripted(0, *[0] * 14, 1), 1)[0])


def test_no_exponential_is_0_or_infinite() -> None:
    extremes = [0, BELOW_MEDIAN, BELOW_MEDIAN - 1, (1 << 64) - 1]
    for word in extremes:
        drawn = exponentials(Scripted(word, 1 << 63), 1)[0]
        assert 0 < drawn < np.inf


def test_the_largest_of_m_draws_has_the_law_of_the_largest_of_m_draws() -> None:
    for m in (1, 2, 1000):
        noise = largest_noise(np.log(exponentials(make_randomness(m), 200_000)) - np.log(m))
        assert stats.kstest(noise, lambda x, m=m: (-np.expm1(-x)) ** m).pvalue > ALPHA


def test_the_noise_of_a_class_of_10_to_the_500_subsets_is_finite_and_centred() -> None:
    log_m = 500 * np.log(10)
    noise = largest_noise(np.log(exponentials(make_randomness(9), 200_000)) - log_m)
    assert stats.kstest(noise - log_m, "gumbel_r").pvalue > ALPHA


def test_integers_are_unbiased() -> None:
    bounds = np.full(300_000, 7)
    counts = np.bincount(integers_below(make_randomness(2), bounds), minlength=7)
    assert stats.chisquare(counts).pvalue > ALPHA


def test_integers_refuse_the_words_that_would_favour_the_small_ones() -> None:
    # 2^64 = 1 (mod 3) and 4 (mod 6): words below that are drawn again.
    assert integers_below(Scripted(0, 3, 4, 9), np.array([3, 6])).tolist() == [1, 3]
    assert integers_below(Scripted(17), np.array([1])).tolist() == [0]


def test_the_system_s_randomness_does_not_repeat() -> None:
    assert not np.array_equal(SystemRandomness().words(4), SystemRandomness().words(4))
    assert make_randomness(None).private
    assert not make_randomness(0).private


def test_a_seed_gives_the_same_draws_again() -> None:
    first = exponentials(make_randomness(11), 5)
    assert np.array_equal(first, exponentials(make_randomness(11), 5))
    assert not np.array_equal(first, exponentials(make_randomness(12), 5))
    with pytest.raises(UsageError, match="seed must be 0 or more, got -1"):
        make_randomness(-1)
    with pytest.raises(TypeError):
        SeededRandomness(None)  # type: ignore[arg-type]


def test_a_derived_seed_depends_on_the_seed_and_all_names_of_the_part_alone() -> None:
    parts = [
        *(("golub", "dp-sis", 5, 1.0), ("golub", "dp-sis", 5, 2.0), ("golub", "dp-sis", 1.0, 5)),
        *(("golub", "dp-sis", 51, 0), ("golub", "dp-sis", 5, 10), ("golubdp-sis", 5, 10)),
        *(("golub",), ("golu", "b"), (), ("",), ("", ""), (None,)),
    ]
    found = {(seed, part): derived_seed(seed, *part) for seed in (0, 1, 10) for part in parts}
    assert len(set(found.values())) == len(found) == 36
    for (seed, part), derived in reversed(found.items()):
        assert derived_seed(seed, *part) == derived
        assert 0 <= derived < 1 << 64
        assert len(make_randomness(derived).words(2)) == 2
    # Names, not objects: another process, or a number read from a file, finds the same.
    assert derived_seed(1, "5", "1.0") == derived_seed(1, 5, 1.0)


def test_a_derived_seed_stays_the_same_in_every_version() -> None:
    # The first 8 bytes of sha256(b"['7', 'golub', '3']"), as other tools find it.
    assert derived_seed(7, "golub", 3) == int.from_bytes(
        hashlib.sha256(b"['7', 'golub', '3']").digest()[:8], "big"
    )


def test_derived_seeds_are_uniform_and_start_streams_that_are_not_alike() -> None:
    seeds = np.array([derived_seed(3, "cell", i) for i in range(20_000)], dtype=np.uint64)
    for shift in (0, 28, 60):
        counts = np.bincount(((seeds >> np.uint64(shift)) & np.uint64(15)).astype(np.int64))
        assert stats.chisquare(counts).pvalue > ALPHA
    firsts = np.concatenate([exponentials(make_randomness(int(seed)), 1) for seed in seeds])
    assert stats.kstest(firsts, "expon").pvalue > ALPHA
    assert abs(stats.spearmanr(firsts[:-1], firsts[1:]).pvalue) > ALPHA
    assert stats.kstest(firsts * 1.1, "expon").pvalue < ALPHA


def test_a_generator_for_synthetic_data_gives_the_same_numbers_again() -> None:
    first = seeded_generator(derived_seed(2, "X")).standard_normal(4)
    assert np.array_equal(first, seeded_generator(derived_seed(2, "X")).standard_normal(4))
    assert not np.array_equal(first, seeded_generator(derived_seed(2, "Y")).standard_normal(4))


def test_a_derived_seed_takes_names_apart_and_takes_names_that_are_not_text() -> None:
    assert derived_seed(0, "a\x1fb") != derived_seed(0, "a", "b")
    assert derived_seed(0, "t\udcff.csv") != derived_seed(0, "t\udcfe.csv")
