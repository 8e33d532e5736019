"""The k and the epsilons of a sweep: what a list means, and what is refused."""

import math
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpsel.errors import UsageError
from dpsel.evaluation.grid import AskedK, parse_epsilons, parse_ks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", ["5"]),
        ("5,logd", ["5", "logd"]),
        (" 20 , logd , 5 ", ["20", "logd", "5"]),
        ("5,05,5,logd,logd", ["5", "logd"]),
        ("1", ["1"]),
    ],
)
def test_a_list_of_k_keeps_its_order_and_has_each_once(text: str, expected: list[str]) -> None:
    assert [k.text for k in parse_ks(text)] == expected


@pytest.mark.parametrize(
    ("d", "expected"), [(1, 1), (2, 1), (7, 1), (8, 2), (20, 2), (21, 3), (2000, 7), (7129, 8)]
)
def test_logd_is_the_floor_of_the_natural_log_and_at_least_1(d: int, expected: int) -> None:
    assert AskedK("logd").of(d) == expected
    assert AskedK("12").of(d) == 12


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", ""),
        ("5,,6", "5,,6"),
        (",5", ",5"),
        ("5,", "5,"),
        ("five", "five"),
        ("5,LOGD", "LOGD"),
        ("5, -1", "-1"),
        ("+5", "+5"),
        ("5.0", "5.0"),
        ("1e2", "1e2"),
        ("1_0", "1_0"),
        ("nan", "nan"),
        ("3,٣", "٣"),
        ("²", "²"),
        ("5 6", "5 6"),
        ("1:5", "1:5"),
    ],
)
def test_a_k_that_is_no_whole_number_is_refused_and_quoted(text: str, quoted: str) -> None:
    expected = f"k must be a list of whole numbers or logd, got '{quoted}'"
    with pytest.raises(UsageError, match=f"^{re.escape(expected)}$"):
        parse_ks(text)


@pytest.mark.parametrize("text", ["0", "5,0", "000"])
def test_a_k_of_0_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^k must be 1 or more, got 0$"):
        parse_ks(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", (1.0,)),
        ("2, 0.5 ,1", (0.5, 1.0, 2.0)),
        ("1,1.0,1e0", (1.0,)),
        ("1:10:lin10", tuple(float(i) for i in range(1, 11))),
        ("1:4:log3", (1.0, 2.0, 4.0)),
        ("1 : 4 : log3", (1.0, 2.0, 4.0)),
        ("1:2:lin2", (1.0, 2.0)),
        ("1:2:log2", (1.0, 2.0)),
        ("1:10:log3", (1.0, 3.162, 10.0)),
        ("0.001:1:lin4", (0.001, 0.334, 0.667, 1.0)),
        ("1:3:lin3,2.5,1:4:log3", (1.0, 2.0, 2.5, 3.0, 4.0)),
    ],
)
def test_a_list_of_epsilons_is_sorted_and_has_each_once(
    text: str, expected: tuple[float, ...]
) -> None:
    assert parse_epsilons(text) == expected


def test_the_paper_s_range_has_12_points_with_exact_ends_and_even_steps_of_the_log() -> None:
    found = parse_epsilons("0.1:20:log12")
    assert len(found) == 12
    assert (found[0], found[-1]) == (0.1, 20.0)
    # Points are rounded to 4 digits, so off by at most 1 in 2000.
    expected = [0.1 * 200 ** (i / 11) for i in range(12)]
    assert found == pytest.approx(expected, rel=5e-4)
    assert all(point == float(f"{point:.4g}") for point in found)
    assert parse_epsilons("0.123456:20:log12")[0] == 0.123456
    assert parse_epsilons("0.1:19.99999:lin5")[-1] == 19.99999


@pytest.mark.parametrize("points", [2, 3, 999, 1000])
def test_a_range_has_as_many_points_as_it_says(points: int) -> None:
    assert len(parse_epsilons(f"1:1000:log{points}")) == points
    assert len(parse_epsilons(f"1:1000:lin{points}")) == points


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("one", "one"),
        ("0.5, 1x ,2", "1x"),
        ("log12", "log12"),
        ("1;2", "1;2"),
        ("0x10", "0x10"),
        ("--1", "--1"),
        ("²", "²"),
        ("x:2:log3", "x"),
        ("1:y:log3", "y"),
    ],
)
def test_an_epsilon_that_is_no_number_is_refused_and_quoted(text: str, quoted: str) -> None:
    expected = f"epsilon must be a number or a range, got '{quoted}'"
    with pytest.raises(UsageError, match=f"^{re.escape(expected)}$"):
        parse_epsilons(text)


@pytest.mark.parametrize("text", ["", " ", ",", "5,,6", "5,", ",5", ":2:log3", "1::log3"])
def test_an_empty_part_is_no_epsilon(text: str) -> None:
    with pytest.raises(UsageError, match=r"^epsilon must be a number or a range, got"):
        parse_epsilons(text)


@pytest.mark.parametrize(
    "text", ["0", "-1", "-0.0", "nan", "inf", "-inf", "1e400", "1e-400", "1,nan", "0:1:lin3"]
)
def test_an_epsilon_that_is_not_positive_and_finite_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^epsilon must be a positive, finite number, got"):
        parse_epsilons(text)


@pytest.mark.parametrize(
    "part",
    [
        *("1:2", "1:2:", "1:2:3", "1:2:3:4", ":", "::", "1:2:log", "1:2:lin", "1:2:LOG3"),
        *("1:2:log-3", "1:2:log+3", "1:2:log3.0", "1:2:log 3", "1:2:log٣", "1:2:geo3"),
    ],
)
def test_a_range_of_another_shape_is_refused_and_quoted(part: str) -> None:
    expected = f"a range of epsilons is FROM:TO:logN or FROM:TO:linN, got {part}"
    with pytest.raises(UsageError, match=f"^{re.escape(expected)}$"):
        parse_epsilons(f"7,{part},8")


@pytest.mark.parametrize(
    "part", ["2:1:log5", "1:1:lin5", "1:2:log1", "1:2:lin0", "1:2:log1001", "1:2:lin99999999"]
)
def test_a_range_that_does_not_rise_or_has_too_few_or_many_points_is_refused(part: str) -> None:
    expected = f"a range of epsilons rises, with 2 to 1000 points between, got {part}"
    with pytest.raises(UsageError, match=f"^{re.escape(expected)}$"):
        parse_epsilons(f"7,{part},8")


TOKENS = [
    *("1", "5", "0.5", "20", "logd", "log", "lin", "12", ":", ":", ",", " ", "-", "+", "_"),
    *("nan", "inf", "1e400", "٣", "²", "\x00", "\n", "\ud800", ".", "x"),
]
tokens = st.lists(st.sampled_from(TOKENS), max_size=12).map("".join)


@settings(deadline=None)
@given(st.text() | tokens)
@example("")
def test_any_text_is_a_list_or_a_usage_error(text: str) -> None:
    try:
        ks = parse_ks(text)
    except UsageError:
        pass
    else:
        assert all(k.of(100) >= 1 for k in ks)
        assert len(set(ks)) == len(ks) >= 1
    try:
        epsilons = parse_epsilons(text)
    except UsageError:
        pass
    else:
        assert list(epsilons) == sorted(set(epsilons)) != []
        assert all(0 < epsilon < math.inf for epsilon in epsilons)


@given(
    st.floats(1e-3, 1e3),
    st.floats(1.1, 1e3),
    st.integers(2, 50),
    st.sampled_from(["log", "lin"]),
)
def test_a_range_has_its_ends_and_rises_evenly(
    low: float, times: float, points: int, kind: str
) -> None:
    high = low * times
    found = parse_epsilons(f"{low!r}:{high!r}:{kind}{points}")
    assert {low, high} <= set(found)
    space = np.geomspace if kind == "log" else np.linspace
    assert len(found) <= points
    expected = space(low, high, points)
    # Every point is there, off by at most 1 in 2000, which is its rounding to 4 digits.
    nearest = [min(abs(epsilon - point) / point for epsilon in found) for point in expected]
    assert max(nearest) <= 5.0001e-4


def test_points_stay_within_their_range_and_are_finite() -> None:
    for text in ("1.7e308:1.7976931348623157e308:lin1000", "1.23456:1.23459:lin5"):
        low, high = (float(part) for part in text.split(":")[:2])
        found = parse_epsilons(text)
        assert low == found[0] <= found[-1] == high
    assert len(parse_epsilons("5e-324:1.7976931348623157e308:log12")) == 12


@pytest.mark.parametrize("text", ["9" * 5000, "1" * 19])
def test_numbers_without_end_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^k must be a list of whole numbers"):
        parse_ks(text)
    with pytest.raises(UsageError, match=r"^a range of epsilons is"):
        parse_epsilons(f"1:2:log{text}")


@pytest.mark.parametrize("text", ["\u0663", "1_0"])
def test_only_plain_digits_make_an_epsilon(text: str) -> None:
    with pytest.raises(UsageError, match=r"^epsilon must be a number or a range"):
        parse_epsilons(text)
