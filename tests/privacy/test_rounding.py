"""The rounding error of a value is below eta, over the whole range of d, k and epsilon.

Every number behind a value is computed a second time with 50 digits, from the same random words:
losses, sizes, draws, the sums of a path of splits, and the noise at its end. Section 7 of
docs/explanation/privacy.md has the argument that these tests check.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from dpsel.core.arrays import FloatArray, WordArray
from dpsel.core.mechanisms import samplers as lazy
from dpsel.core.mechanisms.joint import truncated_exponential
from dpsel.core.mechanisms.lipschitz import float_slack
from dpsel.core.mechanisms.noisy import rounding_cost, single_limit, weighted_scores
from dpsel.core.mechanisms.permute_and_flip import _noise
from dpsel.core.mechanisms.ranking import Ranking
from dpsel.core.mechanisms.samplers import log_node_size
from dpsel.core.mechanisms.subset_classes import LipschitzLosses, largest_noise, log_subsets
from dpsel.core.randomness import SeededRandomness, exponentials
from dpsel.core.scores.base import Scores
from tests.chi_square import ALPHA

mpmath = pytest.importorskip("mpmath", reason="needs mpmath")
mp = mpmath.mp.clone()
mp.dps = 50

_MOST_SPLITS = 40
"""At least two parts each: 2^40 classes are told apart after 40."""

# Up to 2^40 features, which no table has: a terabyte of names.
SIZES = st.integers(1, 40).flatmap(lambda bits: st.integers(1, 1 << bits)).filter(lambda d: d > 1)


def eta(d: int, k: int) -> float:
    return float_slack(d, k) / 4.0


def exact_log_binomial(n: int, r: int) -> Any:
    """log C(n, r) with 50 digits; loggamma loses some to cancellation, so it works with 90."""
    if r == 0 or r == n:
        return mp.mpf(0)
    with mp.workdps(90):
        return mp.loggamma(n + 1) - mp.loggamma(r + 1) - mp.loggamma(n - r + 1)


def exact_log_node_size(h: int, t1: int, t2: int, k: int) -> Any:
    """log(C(t2-h-1, k-h) - C(t1-h-2, k-h)) with 50 digits."""
    with mp.workdps(90):
        whole = exact_log_binomial(t2 - h - 1, k - h)
        if t1 - h - 2 < k - h:
            return whole
        ratio = exact_log_binomial(t1 - h - 2, k - h) - whole
        return whole + mp.log(-mp.expm1(ratio))


class Recorded:
    """Seeded words, remembered, with extreme ones mixed in."""

    private = False

    def __init__(self, seed: int, *, extreme: bool = False) -> None:
        self._rng = SeededRandomness(seed)
        self._extreme = extreme
        self.seen: list[int] = []

    def words(self, count: int) -> WordArray:
        words = self._rng.words(count).copy()
        if self._extreme:
            # Leading zeros in what follows the first bit: the far ends of the noise.
            words[::2] &= np.uint64((1 << 63) | 0xFFFF)
        self.seen += words.tolist()
        return words


def exact_exponential(words: list[int]) -> tuple[Any, list[int]]:
    """One draw of Exp(1) from the words it uses, as `exponentials` documents it."""
    word, rest = words[0], words[1:]
    mantissa = 1 + mp.mpf(word & ((1 << 52) - 1)) / 2**52
    leading = (word >> 52) & 0x7FF
    zeros = 11 - leading.bit_length()
    while leading == 0:
        leading, rest = rest[0], rest[1:]
        zeros += 64 - leading.bit_length()
    half = mp.ldexp(mantissa, -2 - zeros)
    return (-mp.log1p(-half) if word >> 63 else -mp.log(half)), rest


@pytest.mark.parametrize("extreme", [False, True])
def test_exponential_draws_have_a_relative_error_of_a_few_roundings(extreme: bool) -> None:
    worst = 0.0
    for seed in range(2000):
        rng = Recorded(seed, extreme=extreme)
        drawn = float(exponentials(rng, 1)[0])
        exact, left = exact_exponential(rng.seen)
        assert left == []
        worst = max(worst, float(abs(drawn / exact - 1)) * 2**52)
    assert worst < 4


@settings(deadline=None, max_examples=400)
@given(st.floats(-2e6, 4.0))
@example(-40.0)
@example(0.0)
@example(-5e-324)
def test_the_largest_noise_has_an_error_of_a_few_roundings(log_y: float) -> None:
    found = float(largest_noise(np.array([log_y]))[0])
    y = mp.exp(mp.mpf(log_y))
    # -log(1 - exp(-y)), for a y so small that exp(-y) is 1 with any number of digits.
    exact = -mp.log(-mp.expm1(-y))
    # An error e of log_y is one of at most e of the noise, so errors are absolute.
    assert abs(found - exact) <= 4 * 2.0**-52 * (abs(log_y) + 1)


@settings(deadline=None, max_examples=400)
@given(SIZES, st.data())
def test_sizes_of_nodes_have_an_error_of_at_most_32_roundings(d: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, d - 1))
    h = data.draw(st.integers(0, min(k - 1, 1 << 20)))
    t1 = data.draw(st.integers(k + 1, d))
    t2 = data.draw(st.one_of(st.just(t1), st.integers(t1, d)))
    found = float(log_node_size(np.array([h]), np.array([t1]), np.array([t2]), k)[0])
    exact = exact_log_node_size(h, t1, t2, k)
    assert abs(found - exact) <= 32 * 2.0**-52 * (log_subsets(d, k) + 1)


SCORES = st.one_of(
    st.integers(-(2**40), 2**40).map(float),
    st.floats(-1e300, 1e300),
    st.floats(-1.0, 1.0),
)


@settings(deadline=None, max_examples=400)
@given(
    st.lists(SCORES, min_size=3, max_size=9),
    st.floats(1e-300, 1e300),
    st.one_of(st.floats(0.0, 1.0), st.just(2.2250738585e-313)),
    st.booleans(),
    st.data(),
)
def test_losses_have_an_error_of_a_few_roundings(
    scores: list[float], epsilon: float, gamma: float, margin: bool, data: st.DataObject
) -> None:
    d = len(scores)
    k = data.draw(st.integers(1, d - 1))
    losses = LipschitzLosses(Ranking(np.array(scores)), k, gamma, epsilon, margin)
    ordered = sorted(scores, reverse=True)
    h, t = data.draw(st.integers(0, k - 1)), data.draw(st.integers(k + 1, d))
    head = mp.mpf(ordered[h]) - mp.mpf(ordered[k - 1])
    tail = mp.mpf(ordered[k - 1]) - mp.mpf(ordered[t - 1])
    scale = mp.mpf(epsilon) / 2
    exact = min((gamma * tail + (1 - mp.mpf(gamma)) * head) * scale, mp.mpf(losses.cap))
    found = float(losses(np.array([h]), np.array([t]))[0])
    # A number below 2^-1022 has an absolute error; weighted, it is still below 4 roundings of 1.
    tiny = 8 * mp.ldexp(1, -1074) * max(scale, 1)
    assert tiny < 4 * 2.0**-52
    assert abs(found - exact) <= 8 * 2.0**-52 * exact + tiny
    if margin:
        gap = mp.mpf(ordered[k - 1]) - mp.mpf(ordered[k])
        gain = min((1 - mp.mpf(gamma)) * gap * scale, mp.mpf(losses.cap))
        assert abs(losses.top_gain - gain) <= 8 * 2.0**-52 * gain + tiny


def path_error(d: int, k: int, seed: int, *, extreme: bool) -> float:
    """Return the error of the noise at the end of a random path of splits, in units of eta."""
    rng = np.random.default_rng(seed)
    h = int(rng.integers(0, min(k, 1 << 20)))
    t1, t2 = k + 1, d
    words = Recorded(seed, extreme=extreme)
    exact_y = mp.mpf(0)
    log_y: FloatArray = np.array([-np.inf])
    for _ in range(_MOST_SPLITS + 1):
        words.seen.clear()
        size = log_node_size(np.array([h]), np.array([t1]), np.array([t2]), k)
        draw = np.log(exponentials(words, 1)) - size
        log_y = draw if np.isinf(log_y[0]) else np.logaddexp(log_y, draw)
        exact_draw, _ = exact_exponential(words.seen)
        exact_y += exact_draw / mp.exp(exact_log_node_size(h, t1, t2, k))
        if t1 == t2:
            break
        # A part of the node, of any width: the worst case has many splits, and all of them late.
        middle = t1 + (t2 - t1) // 2
        t1, t2 = (t1, middle) if rng.random() < 0.5 else (middle + 1, t2)
    found = float(largest_noise(log_y)[0])
    exact = -mp.log(-mp.expm1(-exact_y))
    return float(abs(found - exact) / eta(d, k))


@pytest.mark.parametrize("extreme", [False, True])
def test_a_value_is_off_by_less_than_a_quarter_of_eta_for_any_d_and_k(extreme: bool) -> None:
    rng = np.random.default_rng(8)
    worst = 0.0
    for case in range(150):
        d = int(2 ** rng.uniform(1, 40)) + 1
        k = min(d - 1, int(2 ** rng.uniform(0, np.log2(d))))
        worst = max(worst, path_error(d, k, case, extreme=extreme))
    # The loss adds eight roundings of a number below B: 8 of the 256 that eta allows for.
    assert worst < 0.25


@pytest.mark.long
def test_a_value_is_off_by_less_than_a_quarter_of_eta_in_many_cases() -> None:
    rng = np.random.default_rng(9)
    worst = 0.0
    for case in range(10_000):
        d = int(2 ** rng.uniform(1, 40)) + 1
        k = min(d - 1, int(2 ** rng.uniform(0, np.log2(d))))
        worst = max(worst, path_error(d, k, case, extreme=bool(case % 2)))
    print(f"largest error: {worst:.4f} eta")  # noqa: T201
    assert worst < 0.25


def test_the_check_notices_sizes_by_log_gamma(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.special import gammaln

    def lossy(h: FloatArray, t1: FloatArray, t2: FloatArray, k: int) -> FloatArray:
        def log_c(n: FloatArray, r: FloatArray) -> FloatArray:
            return np.asarray(gammaln(n + 1.0) - gammaln(r + 1.0) - gammaln(n - r + 1.0))

        whole = log_c(t2 - h - 1, k - h)
        below = np.where(t1 - h - 2 >= k - h, log_c(np.maximum(t1 - h - 2, k - h), k - h), -np.inf)
        return whole + np.log(-np.expm1(np.minimum(below - whole, -1e-300)))

    monkeypatch.setitem(globals(), "log_node_size", lossy)
    worst = max(path_error(1 << 38, 5, seed, extreme=False) for seed in range(20))
    assert worst > 0.25


def exact_shares(h: int, edges: list[int], k: int) -> list[Any]:
    """The borders between the parts of a node, as shares of it, with 50 digits."""
    with mp.workdps(90):
        logs = [
            exact_log_binomial(edge - h - 2, k - h) if edge - h - 2 >= k - h else -mp.inf
            for edge in edges
        ]
        counts = [mp.exp(log - logs[-1]) for log in logs]
        return [(count - counts[0]) / (counts[-1] - counts[0]) for count in counts[1:-1]]


def node(d: int, k: int, h: int, wide: int, parts: int) -> tuple[list[int], FloatArray, list[Any]]:
    """The edges of a node's parts, the borders as the sampler computes them, and the exact ones."""
    t1 = max(k + 1, d - wide + 1)
    edges = t1 + (d - t1 + 1) * np.arange(parts + 1) // parts
    log_size = lazy.log_node_size(np.full(parts, h), edges[:-1], edges[1:] - 1, k)
    borders = np.cumsum(np.exp(log_size - log_size.max()))
    return edges.tolist(), borders[:-1] / borders[-1], exact_shares(h, edges.tolist(), k)


@pytest.mark.parametrize("d", [10**7, 10**8, 10**9, 10**10, 1 << 40])
def test_shares_are_off_by_less_than_a_twentieth_of_the_doubt(d: int) -> None:
    rng = np.random.default_rng(d % 1000)
    shares, worst = [], 0.0
    for case in range(80):
        k = d // 2 if case % 2 else int(d * rng.uniform(0.1, 0.9))
        h = int(rng.integers(0, 50))
        wide = int(10 ** rng.uniform(0.7, 3))
        parts = int(rng.integers(2, min(33, wide)))
        _, found, exact = node(d, k, h, wide, parts)
        off = max(float(abs(a - b)) for a, b in zip(found.tolist(), exact, strict=True))
        doubt = float(lazy.share_doubt(np.array([h]), np.array([d]), k)[0])
        shares.append(off / doubt)
        worst = max(worst, off)
    assert max(shares) < 0.05
    # From 10^8 on a doubt of 1e-9, whatever the size, would not do.
    assert d < 10**8 or worst > 1e-9


def test_a_word_on_the_wrong_side_of_a_border_is_decided_in_whole_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d, k, h = 10**9, 5 * 10**8, 9
    asked: list[int] = []

    def recorded(h: int, edges: list[int], k: int, word: int, rng: object) -> int:
        asked.append(word)
        return 0

    monkeypatch.setattr(lazy, "exact_part", recorded)
    wrong = 0
    for parts in range(2, 20):
        edges, found, exact = node(d, k, h, 40, parts)
        place = int(np.argmax([float(abs(a - b)) for a, b in zip(found, exact, strict=True)]))
        middle = int((found[place] + exact[place]) / 2 * 2**64)
        wrong += abs(float(found[place] - exact[place])) > 2e-9
        part_sizes = lazy.log_node_size(
            np.full(parts, h), np.array(edges[:-1]), np.array(edges[1:]) - 1, k
        )
        words = Recorded(0)
        monkeypatch.setattr(words, "words", lambda _, word=middle: np.array([word], np.uint64))
        lazy._parts_with_smallest(np.array([h]), np.array([edges]), part_sizes[None, :], k, words)
        assert asked.pop() == middle
    assert wrong > 0


@settings(deadline=None, max_examples=300)
@given(st.lists(SCORES, min_size=3, max_size=9), st.floats(1e-300, 1e300), st.integers(0, 10**6))
def test_values_with_noise_on_every_score_have_fewer_than_16_roundings(
    scores: list[float], weight: float, seed: int
) -> None:
    d, k = len(scores), 2
    limit = single_limit(d)
    found = weighted_scores(Scores(np.array(scores), 1.0), k, weight, limit)
    kth = mp.mpf(sorted(scores, reverse=True)[k - 1])
    allowed = rounding_cost(1, limit) / 4.0
    words = Recorded(seed, extreme=bool(seed % 2))
    for score, value in zip(scores, found, strict=True):
        words.seen.clear()
        draw = exponentials(words, 1)
        exact_draw, _ = exact_exponential(words.seen)
        exact = max(-limit, min(limit, (mp.mpf(score) - kth) * mp.mpf(weight)))
        assert abs(float((value - np.log(draw))[0]) - (exact - mp.log(exact_draw))) <= allowed
        assert abs(float((value + draw)[0]) - (exact + exact_draw)) <= allowed


@pytest.mark.parametrize("width", [2.0**-33, 0.3, 3.0, 40.0, 218.0])
def test_times_within_a_step_are_remainders_to_a_few_roundings(width: float) -> None:
    highest = 0.0
    for seed in range(300):
        words = Recorded(seed, extreme=True)
        found = truncated_exponential(words, width)
        drawn, _ = exact_exponential(words.seen)
        assert 0.0 <= found < width
        # Around the step: a rounding may take the one end to the other.
        off = abs(mp.mpf(found) - mp.fmod(drawn, width))
        assert min(off, width - off) <= 4 * 2.0**-52 * drawn
        highest = max(highest, found / width)
    assert highest > 0.05


@pytest.mark.parametrize("width", [0.3, 218.0])
def test_times_within_a_step_follow_the_truncated_law(width: float) -> None:
    rng = SeededRandomness(4)
    drawn = [truncated_exponential(rng, width) for _ in range(10_000)]

    def below(t: FloatArray) -> FloatArray:
        return np.asarray(np.expm1(-np.asarray(t)) / np.expm1(-width))

    assert kstest(drawn, below).pvalue > ALPHA
    wrong = [0.9 * time for time in drawn]
    assert kstest(wrong, below).pvalue < ALPHA


def test_permute_and_flip_has_room_for_thousands_of_splits() -> None:
    for seed, splits in enumerate((1, 20, 300, 3000)):
        words = Recorded(seed)
        y, exact_y = 0.0, mp.mpf(0)
        for width in np.linspace(10**6, 1, splits).astype(int).tolist():
            words.seen.clear()
            y += float(exponentials(words, 1)[0]) / width
            exact_y += exact_exponential(words.seen)[0] / width
        allowed = rounding_cost(1, single_limit(3)) / 4.0
        assert abs(_noise(y) + mp.log(-mp.expm1(-exact_y))) <= allowed
