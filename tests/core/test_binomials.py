"""Log binomials against exact integers."""

import itertools
import math

import numpy as np
import pytest

from dpsel.core.mechanisms.binomials import log_binomial, log_binomial_gap
from dpsel.core.mechanisms.samplers import log_node_size


def one(value: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([value])


def log_of(number: int) -> float:
    return math.log(number) if number else -math.inf


def test_small_binomials_and_their_gaps_are_exact_to_1e_13() -> None:
    for n in (*range(1, 20), 27, 39):
        for r in range(n + 3):
            exact = log_of(math.comb(n, r))
            assert log_binomial(one(n), one(r))[0] == pytest.approx(exact, abs=1e-13)
            for w in range(n + 3) if 1 <= r <= n else ():
                gap = math.comb(n, r) - math.comb(max(0, n - w), r)
                found = log_binomial_gap(one(n), one(r), one(w))[0]
                assert found == pytest.approx(log_of(gap), abs=1e-13)


def test_no_weight_is_off_by_more_than_1e_11_up_to_two_million_features() -> None:
    rng = np.random.default_rng(0)
    for _ in range(400):
        n = int(10 ** rng.uniform(1, 6.3))
        r = min(n, int(10 ** rng.uniform(0, 3.2)))
        w = min(n, int(10 ** rng.uniform(0, 6)))
        exact = math.comb(n, r)
        gap = exact - math.comb(n - w, r)
        assert abs(log_binomial(one(n), one(r))[0] - log_of(exact)) < 1e-11
        assert abs(log_binomial_gap(one(n), one(r), one(w))[0] - log_of(gap)) < 1e-11


def test_the_sizes_of_a_node_s_parts_add_up() -> None:
    k, d = 6, 500
    for h in range(k):
        whole = math.exp(log_node_size(one(h), one(k + 1), one(d), k)[0])
        cuts = [k + 1, 9, 10, 200, 201, d + 1]
        parts = [
            math.exp(log_node_size(one(h), one(a), one(b - 1), k)[0])
            for a, b in itertools.pairwise(cuts)
        ]
        assert sum(parts) == pytest.approx(whole, rel=1e-12)
        assert whole == pytest.approx(math.comb(d - h - 1, k - h), rel=1e-12)
