"""What a row's target weighs: draws follow their exact laws, and these stay within epsilon."""

import math
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.arrays import FloatArray
from dpsel.core.guarantee import Neighbors, Unit, rows_changed
from dpsel.core.median import (
    TAUS,
    Median,
    MedianLaw,
    Piece,
    _levels,
    _rate,
    key_of,
    mass_below,
    private_median,
)
from dpsel.core.randomness import SeededRandomness, discrete_laplace, whole_below
from dpsel.core.scores.stump import UNIT
from dpsel.core.target import (
    balanced_by_counts,
    balanced_by_share,
    half_splits,
    median_share,
    private_center,
    public_center,
    sign_rule,
)
from dpsel.errors import UsageError
from tests.chi_square import ALPHA, p_value

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
ROW = Unit()
NAN, INF = float("nan"), float("inf")
EVERY_KEY = 1 << 70


def laplace_law(epsilon: float) -> dict[int, float]:
    ratio = math.exp(-epsilon)
    far = math.ceil(40 / epsilon)
    return {x: (1 - ratio) / (1 + ratio) * ratio ** abs(x) for x in range(-far, far + 1)}


def laplace_fit(drawn_with: float, checked_against: float) -> float:
    rng = SeededRandomness(1)
    drawn = Counter(discrete_laplace(rng, Fraction(drawn_with)) for _ in range(8_000))
    return p_value(drawn, laplace_law(checked_against))


@pytest.mark.parametrize("epsilon", [0.1, 0.75, 3.0])
def test_noise_of_counts_is_discrete_laplace(epsilon: float) -> None:
    assert laplace_fit(epsilon, epsilon) > ALPHA


@pytest.mark.parametrize("wrong", [0.6, 1.0, 1.5])
def test_the_check_above_notices_a_wrong_epsilon(wrong: float) -> None:
    assert laplace_fit(wrong, 0.75) < ALPHA


@pytest.mark.parametrize("bound", [1, 3, 17])
def test_whole_numbers_are_uniform(bound: int) -> None:
    rng = SeededRandomness(2)
    drawn = Counter(whole_below(rng, bound) for _ in range(5_000))
    assert set(drawn) == set(range(bound))
    if bound > 1:
        assert p_value(drawn, dict.fromkeys(range(bound), 1 / bound)) > ALPHA


def test_large_whole_numbers_are_uniform() -> None:
    rng = SeededRandomness(3)
    bound = 5 << 100
    drawn = Counter(whole_below(rng, bound) >> 100 for _ in range(5_000))
    assert p_value(drawn, dict.fromkeys(range(5), 1 / 5)) > ALPHA


FINITE = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True)


def mass_at(value: float) -> int:
    return mass_below(key_of(value) + 1) - mass_below(key_of(value))


@given(FINITE)
def test_every_float_has_its_share_of_the_base_measure(value: float) -> None:
    # All floats of one kind have the same mass, or one that halves where 8 + |i| doubles.
    expected = mass_at(1e-200)
    if 2.0**-14 <= abs(value) <= 2.0**30:
        expected += mass_at(math.pi) - mass_at(1e-200)
    for parts, one, limit in ((1, WHOLE_AT_0, 2**53 - 8), (100, HUNDREDTH_AT_0, 2**41 - 8)):
        if abs(value) >= limit:
            continue
        for i in range(math.floor(value * parts) - 1, math.floor(value * parts) + 3):
            if i / parts == value and abs(i) < limit:
                expected += one >> ((8 + abs(i)).bit_length() - 4)
    if value == 0:
        expected += mass_at(0.0) - mass_at(1e-200) - WHOLE_AT_0 - HUNDREDTH_AT_0
    assert mass_at(value) == expected


# 16 is among the whole numbers and the hundredths; 0.07 has the same place among its kind as 0.
HUNDREDTH_AT_0 = mass_at(0.07) - mass_at(math.pi)
WHOLE_AT_0 = mass_at(7.0) - mass_at(math.pi) - (HUNDREDTH_AT_0 >> 6)


def test_the_base_measure_has_the_parts_it_says() -> None:
    total = mass_below(EVERY_KEY)
    assert mass_below(-EVERY_KEY) == 0
    zero = mass_at(0.0) - mass_at(1e-200) - WHOLE_AT_0 - HUNDREDTH_AT_0
    assert zero / total == pytest.approx(0.1, rel=0.01)
    assert mass_at(1e-200) * 2**64 / total == pytest.approx(0.2, rel=0.01)
    plain = (mass_at(math.pi) - mass_at(1e-200)) * 2 * 44 * 2**52
    assert plain / total == pytest.approx(0.2, rel=0.03)
    # Octaves of equal mass: 50 of them for whole numbers, 38 for hundredths, on both sides.
    assert WHOLE_AT_0 * 8 * 2 * 50 / total == pytest.approx(0.3, rel=0.03)
    assert HUNDREDTH_AT_0 * 8 * 2 * 38 / total == pytest.approx(0.2, rel=0.03)


def law_of(y: list[float], epsilon: Fraction, steps: int) -> list[Piece]:
    return MedianLaw(np.array(y, dtype=np.float64), epsilon, steps).pieces


def as_table(pieces: list[Piece]) -> dict[tuple[int, int], float]:
    """Return the chance of each piece, and within it of each run of taus."""
    total = sum(piece.weight for piece in pieces)
    law: dict[tuple[int, int], float] = {}
    for index, piece in enumerate(pieces):
        mass = mass_below(piece.last) - mass_below(piece.first)
        law |= {
            (index, run): mass * count * level / total
            for run, (count, level) in enumerate(piece.runs)
        }
    return law


def run_at(piece: Piece, tau: int) -> int:
    """Return the run of taus that one is in."""
    return int(np.searchsorted(np.cumsum([count for count, _ in piece.runs]), tau, side="right"))


def level_at(piece: Piece, tau: int) -> int:
    return piece.runs[run_at(piece, tau)][1]


def place_of(pieces: list[Piece], median: Median) -> tuple[int, int]:
    key = key_of(median.value)
    index = next(i for i, piece in enumerate(pieces) if piece.first <= key < piece.last)
    return index, run_at(pieces[index], median.below)


def median_fit(y: list[float], drawn_with: float, checked_against: float) -> float:
    rng = SeededRandomness(4)
    pieces = law_of(y, Fraction(checked_against), 1)
    law = MedianLaw(np.array(y, dtype=np.float64), Fraction(drawn_with), 1)
    drawn = Counter(place_of(pieces, law.draw(rng)) for _ in range(2_000))
    return p_value(drawn, as_table(pieces))


TABLES: list[list[float]] = [
    [0.0],
    [1.0, 2.0, 2.0, 2.5, 1e6],
    [NAN, INF, -INF, 0.25, -3.0, -0.0],
]


@pytest.mark.parametrize("y", TABLES)
def test_medians_follow_their_law(y: list[float]) -> None:
    assert median_fit(y, 1.0, 1.0) > ALPHA


@pytest.mark.parametrize("wrong", [0.5, 2.0])
def test_the_check_of_medians_notices_a_wrong_epsilon(wrong: float) -> None:
    assert median_fit([1.0, 2.0, 2.0, 2.5, 1e6], wrong, 1.0) < ALPHA


def test_the_median_is_one_draw_of_its_law() -> None:
    y = np.array([1.0, 2.0, NAN, 3.0])
    law = MedianLaw(y, Fraction(1), 2)
    for seed in range(20):
        alone = private_median(y, Fraction(1), 2, SeededRandomness(seed))
        assert alone == law.draw(SeededRandomness(seed))


def test_medians_within_a_gap_follow_the_base_measure() -> None:
    rng = SeededRandomness(5)
    law_of_none = MedianLaw(np.zeros(0), Fraction(1), 1)
    values = [law_of_none.draw(rng).value for _ in range(2_000)]
    borders = [-1e9, -100.0, -1.0, 0.0, 5e-324, 0.5, 1.0, math.nextafter(1.0, 2.0), 30.0, 1e5]
    cuts = [0, *(mass_below(key_of(border)) for border in borders), mass_below(EVERY_KEY)]
    law = {i: (b - a) / cuts[-1] for i, (a, b) in enumerate(pairwise(cuts))}
    drawn = Counter(int(np.searchsorted(borders, value, side="right")) for value in values)
    assert p_value(drawn, law) > ALPHA


def test_medians_reach_as_far_as_the_law_is_cut() -> None:
    # The levels end long before the outermost of these rows: all beyond are one piece.
    y = np.arange(-5000.0, 5001.0)
    pieces = law_of(y.tolist(), Fraction(1), 1)
    assert len(pieces) < 1000
    assert pieces[0].first == key_of(-np.finfo(float).max)
    assert pieces[-1].last == key_of(np.finfo(float).max) + 1
    assert all(a.last == b.first for a, b in pairwise(pieces))
    lowest = min(level for piece in pieces for _, level in piece.runs)
    assert pieces[0].runs == pieces[-1].runs == ((TAUS + 1, lowest),)
    # What the definition says, at single values.
    full = {piece.first: piece for piece in pieces if len(piece.runs) > 1}
    middle, half = full[key_of(0.0)], TAUS // 2
    assert level_at(middle, half) == 2**96
    assert level_at(middle, 0) == level_at(middle, TAUS) < 2**96
    ten, minus_ten = full[key_of(10.0)], full[key_of(-10.0)]
    assert level_at(ten, half) == level_at(minus_ten, half) < level_at(middle, 0)


def test_the_law_is_that_of_all_rows_where_many_are_tied_at_the_cut() -> None:
    y = np.random.default_rng(8).permutation(np.repeat(np.arange(-60.0, 61.0), 25))
    y[7] = np.nan
    levels = _levels(_rate(Fraction(1), 1), len(y))
    pieces = law_of(y.tolist(), Fraction(1), 1)
    gaps = [piece for piece in pieces if len(piece.runs) == 1]
    assert 5 < len(gaps) < 60
    for piece in gaps:
        below = sum(key_of(value) < piece.last for value in y[y == y].tolist())
        distance = abs(2 * below - (len(y) - 1))
        assert piece.runs == ((TAUS + 1, levels[min(distance, len(levels) - 1)]),)


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=1, max_size=40),
    st.fractions(Fraction(1, 20), Fraction(4)),
    st.integers(0, TAUS),
)
def test_runs_of_taus_are_what_the_definition_says(
    y: list[float], epsilon: Fraction, tau: int
) -> None:
    pieces = law_of(y, epsilon, 1)
    levels = _levels(_rate(epsilon, 1), 10**6)
    for value in set(y):
        piece = next(p for p in pieces if p.first <= key_of(value) < p.last)
        assert sum(count for count, _ in piece.runs) == TAUS + 1
        for j in (0, tau, TAUS // 3, TAUS // 2, TAUS):
            twice = Fraction(2 * sum(v < value for v in y) - len(y))
            c = math.floor(abs(twice + Fraction(2 * j, TAUS) * y.count(value)))
            assert level_at(piece, j) == levels[min(c, len(levels) - 1)]


@pytest.mark.parametrize("epsilon", ["1/3", "3", "50"])
def test_many_rows_at_one_value_are_split_evenly(epsilon: str) -> None:
    # With taus of few digits none came near the middle, and the draw was from the base measure.
    y = np.repeat([0.0, 1.0, 2.0], [350_000, 450_000, 200_000])
    for seed in range(20):
        found = private_median(y, Fraction(epsilon), 1, SeededRandomness(seed))
        assert found.value == 1.0
        assert found.below / TAUS == pytest.approx(1 / 3, abs=1e-3)


CELLS = [-1.0, 0.0, 0.5, INF, NAN]


def chances_at(pieces: list[Piece], keys: list[int]) -> FloatArray:
    """Return for some floats the chance of each outcome, without their base measure."""
    total = sum(piece.weight for piece in pieces)
    found = []
    for key in keys:
        piece = next(piece for piece in pieces if piece.first <= key < piece.last)
        found += [level_at(piece, TAUS * j // 64) / total for j in range(65)]
    return np.array(found)


def largest_loss(epsilon: Fraction, steps: int, *, replaced: bool) -> float:
    """Return the largest loss over all tables of few rows, and all outcomes that differ."""
    keys = [key_of(v) + move for v in (-1.0, 0.0, 0.5) for move in (-1, 0, 1)]
    chances = {
        rows: chances_at(law_of([CELLS[row] for row in rows], epsilon, steps), keys)
        for n in range(4)
        for rows in combinations_with_replacement(range(len(CELLS)), n)
    }
    losses = [0.0]
    for rows in chances:
        for place in range(len(rows)):
            rest = rows[:place] + rows[place + 1 :]
            more = [tuple(sorted((*rest, row))) for row in range(len(CELLS))]
            for other in more if replaced else [rest]:
                losses.append(float(np.abs(np.log(chances[rows] / chances[other])).max()))
    return max(losses)


@pytest.mark.parametrize(("steps", "replaced"), [(1, False), (2, True)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_over_all_small_tables_the_median_s_loss_is_at_most_epsilon(
    epsilon: Fraction, steps: int, replaced: bool
) -> None:
    loss = largest_loss(epsilon, steps, replaced=replaced)
    # The chances are exact up to the last digits of a float.
    assert 0.6 * float(epsilon) < loss <= float(epsilon) * (1 + 1e-12)


def test_the_check_above_notices_a_median_that_pays_for_add_remove_only() -> None:
    assert largest_loss(Fraction(3), 1, replaced=True) > 3


@given(st.fractions(Fraction(1, 10**6), 1000), st.integers(1, 50))
def test_levels_fall_by_no_more_than_epsilon_allows(epsilon: Fraction, steps: int) -> None:
    rate = _rate(epsilon, steps)
    exponent = epsilon / (2 * steps)
    exact = Context(prec=80).exp(-Decimal(exponent.numerator) / Decimal(exponent.denominator))
    assert Fraction(exact) <= Fraction(rate, 1 << 64) <= Fraction(exact) + Fraction(2, 1 << 64)
    if exponent > Fraction(1, 1000):
        levels = _levels(rate, 10**6)
        for a, b in pairwise(levels):
            assert b << 64 >= a * rate
        assert -(-levels[-1] * rate >> 64) == levels[-1]
        for most in (0, 1, 50):
            assert _levels(rate, most) == levels[: most + 1]


def test_a_tiny_epsilon_takes_no_more_levels_than_there_are_rows() -> None:
    # All of them would be some 10^14.
    rate = _rate(Fraction(1, 10**12), 1)
    assert len(_levels(rate, 50)) == 51
    law = MedianLaw(np.arange(50.0), Fraction(1, 10**12), 1)
    assert {level for piece in law.pieces for _, level in piece.runs} <= {*_levels(rate, 50)}


def zero_inflated(rng: np.random.Generator) -> FloatArray:
    return np.maximum(0.0, rng.standard_normal(2000) - 0.4)


@pytest.mark.parametrize("make", ["normal", "years", "offset", "zero", "skewed"])
def test_signs_at_the_median_are_balanced(make: str) -> None:
    rng = np.random.default_rng(6)
    y = {
        "normal": rng.standard_normal(2000),
        "years": np.floor(1990 + 15 * rng.standard_normal(2000)),
        "offset": 1e6 + rng.standard_normal(2000),
        "zero": zero_inflated(rng),
        "skewed": np.exp(5 * rng.standard_normal(2000)),
    }[make]
    y[:100] = np.nan
    center = private_center(y, 0.5, ADD, ROW, SeededRandomness(7))
    weights = sign_rule(center).weights(y)
    rows = weights.values[0][weights.groups]
    assert not rows[:100].any()
    # The law gives this distance less than exp(-0.5 * 150) times the base measure's worst gap.
    assert abs(int(rows.sum())) < 300 * UNIT
    assert np.abs(rows).sum() > 800 * UNIT


def test_signs_are_what_the_centre_says() -> None:
    y = np.array([1.0, 2.0, 3.0, NAN, INF, -INF, 2.0])
    weights = sign_rule(Median(2.0, TAUS // 4)).weights(y)
    half = UNIT // 2
    expected = [-UNIT, half, UNIT, 0, UNIT, -UNIT, half]
    assert weights.values[0][weights.groups].tolist() == expected
    public = sign_rule(public_center(2.0)).weights(y)
    assert public.values[0][public.groups].tolist() == [-UNIT, 0, UNIT, 0, UNIT, -UNIT, 0]
    for value in (NAN, INF):
        with pytest.raises(UsageError):
            public_center(value)


@pytest.mark.parametrize(("share", "expected"), [("1/2", [-1.0, 1.0]), ("1/5", [-0.25, 1.0])])
def test_a_public_share_balances_two_classes(share: str, expected: list[float]) -> None:
    values = balanced_by_share(Fraction(share))
    assert (values[0] / UNIT).tolist() == [0.0, *expected]
    mirrored = balanced_by_share(1 - Fraction(share))
    assert mirrored[0].tolist() == [0, -values[0, 2], -values[0, 1]]


@pytest.mark.parametrize("share", [0, 1, -1, 2])
def test_a_share_that_leaves_no_class_is_refused(share: int) -> None:
    with pytest.raises(UsageError):
        balanced_by_share(Fraction(share))


def counts_law(
    counts: tuple[int, int], epsilon: float, factor: int
) -> dict[tuple[int, ...], float]:
    """Return the chance of each pair of weights."""
    pseudo = factor / Fraction(epsilon)
    noise = {x: chance for x, chance in laplace_law(epsilon / factor).items() if abs(x) < 40}
    law: dict[tuple[int, ...], float] = {}
    for (a, p), (b, q) in product(noise.items(), noise.items()):
        first, second = (max(0, c + x) + pseudo for c, x in zip(counts, (a, b), strict=True))
        larger = max(first, second)
        key = (0, -math.floor(UNIT * second / larger), math.floor(UNIT * first / larger))
        law[key] = law.get(key, 0.0) + p * q
    return law


@pytest.mark.parametrize(("neighbors", "factor"), [(ADD, 1), (REPLACE, 2)])
def test_weights_from_counts_follow_their_law_and_it_stays_within_epsilon(
    neighbors: Neighbors, factor: int
) -> None:
    rng = SeededRandomness(8)
    classes = np.array([1, 2, 1, 0, 1])
    drawn = Counter(
        tuple(balanced_by_counts(classes, 2.0, neighbors, ROW, rng)[0].tolist())
        for _ in range(3_000)
    )
    law = counts_law((3, 1), 2.0, factor)
    assert p_value(drawn, law) > ALPHA
    neighboring = [(2, 1), (4, 1), (3, 0), (3, 2)] if factor == 1 else [(2, 2), (4, 0)]
    for counts in neighboring:
        other = counts_law(counts, 2.0, factor)
        for key, chance in law.items():
            if chance > 1e-12:
                assert math.exp(-2.000001) < chance / other[key] < math.exp(2.000001)


def test_a_person_s_rows_all_count() -> None:
    assert rows_changed(ADD, Unit("person", 5)) == 5
    assert rows_changed(REPLACE, Unit("person", 5)) == 10
    # Noise five times as large: the weights of 300 and 100 rows are seldom near 1/3 any more.
    classes = np.repeat([1, 2], [300, 100])
    spread = [
        np.std(
            [
                balanced_by_counts(classes, 0.1, ADD, unit, SeededRandomness(i))[0, 1]
                for i in range(99)
            ]
        )
        for unit in (ROW, Unit("person", 5))
    ]
    assert spread[1] > 1.5 * spread[0]


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.1, 10.0])
@pytest.mark.parametrize("counts", [(0, 0), (0, 5), (98, 2), (1000, 1), (5, 10**5)])
def test_weights_never_collapse(counts: tuple[int, int], epsilon: float) -> None:
    classes = np.repeat([1, 2], counts)
    for seed in range(20):
        _, first, second = balanced_by_counts(classes, epsilon, ADD, ROW, SeededRandomness(seed))[
            0
        ].tolist()
        assert first < 0 < second
        assert max(-first, second) == UNIT


def test_weights_from_many_rows_are_those_of_the_true_share() -> None:
    classes = np.repeat([1, 2], [98_000, 2_000])
    for seed in range(20):
        values = balanced_by_counts(classes, 0.1, ADD, ROW, SeededRandomness(seed))
        # 20 % of 2000 rows are 40 times the noise: one seed in exp(39).
        assert values[0, 1] / UNIT == pytest.approx(-2 / 98, rel=0.2)
        assert values[0, 2] == UNIT


@pytest.mark.parametrize("classes", [3, 4, 5, 7, 10, 13, 40, 100])
def test_half_splits_separate_all_pairs(classes: int) -> None:
    rounds = math.ceil(math.log2(classes)) + 3
    values = half_splits(classes, rounds)
    assert not values[:, 0].any()
    signs = np.sign(values[:, 1:])
    assert (np.count_nonzero(signs > 0, axis=1) == classes // 2).all()
    assert (np.abs(values[:, 1:]) == UNIT).all()
    apart = (signs[:, :, np.newaxis] != signs[:, np.newaxis, :]).sum(axis=0)
    assert apart[~np.eye(classes, dtype=bool)].min() >= 1


def test_three_classes_are_each_set_against_the_others() -> None:
    signs = np.sign(half_splits(3, 6)[:, 1:])
    assert sorted(map(tuple, signs.tolist())) == sorted([(1, -1, -1), (-1, 1, -1), (-1, -1, 1)] * 2)


@pytest.mark.parametrize("classes", [0, 2, 257])
def test_other_numbers_of_classes_are_refused(classes: int) -> None:
    with pytest.raises(UsageError):
        half_splits(classes, 3)


def test_the_median_s_share_is_what_the_formula_says() -> None:
    assert float(median_share(5, 10)) == pytest.approx(1 / 3)
    assert float(median_share(10, 1000)) == pytest.approx(5 / (10 * math.log(1002)))
