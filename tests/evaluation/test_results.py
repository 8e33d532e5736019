"""The conclusion of an evaluation, in words: at the head of the report and of the terminal."""

from typing import Any

import pytest

from dpsel.evaluation.report import report_html
from dpsel.evaluation.results import conclusions
from tests.tidy_results import HOSTILE, cell, frame, tidy


def curve(method: str, shares: dict[float, float], **changes: Any) -> list[dict[str, Any]]:
    return [cell(method=method, epsilon=e, accuracy=a, **changes) for e, a in shares.items()]


def test_it_says_what_the_best_method_finds_and_where_it_finds_nothing() -> None:
    rows = [
        *curve("stump", {0.1: 0.02, 0.2: 0.05, 0.5: 0.4, 2.0: 0.82, 10.0: 1.0}),
        *curve("dp-sis", {0.1: 0.02, 0.2: 0.02, 0.5: 0.1, 2.0: 0.3, 10.0: 0.99}),
        *curve("lasso", {0.1: 1.0, 10.0: 1.0}, private=False),
    ]
    assert conclusions(rows) == [
        "golub, k = 5: at epsilon 2 about 4 of 5 picks are right, by stump; below 0.5 they are "
        "random."
    ]
    assert conclusions(reversed(rows)) == conclusions(rows)


@pytest.mark.parametrize(
    ("shares", "changes", "words"),
    [
        ({1.0: 0.3, 8.0: 0.42}, {}, "even at epsilon 8 about 2 of 5 picks are right, by m."),
        (
            {1.0: 0.0, 8.0: 0.04},
            {},
            "even at epsilon 8 hardly any of 5 picks are right, by m; at no epsilon are they "
            "better than random.",
        ),
        ({1.0: 1.0}, {}, "at epsilon 1 all of 5 picks are right, by m."),
        # Two features are true: no more can be found.
        (
            {1.0: 0.39},
            {"true_size": 2, "relative_correlation": None},
            "at epsilon 1 about 2 of 5 picks are right (at most 2 can be), by m.",
        ),
        # Then other picks may be just as good.
        (
            {1.0: 0.39},
            {"true_size": 2, "relative_correlation": 0.987},
            "at epsilon 1 about 2 of 5 picks are right (at most 2 can be; the picks correlate with "
            "the target 99 % as much as the best do), by m.",
        ),
        (
            {0.1: 0.05, 1.0: 0.9},
            {"k": 1, "k_asked": "1"},
            "at epsilon 1 in 90 % of the trials the pick is right, by m; below 1 it is random.",
        ),
    ],
)
def test_it_stays_true_at_the_edges(
    shares: dict[float, float], changes: dict[str, Any], words: str
) -> None:
    (found,) = conclusions(curve("m", shares, **changes))
    assert found.partition(": ")[2] == words


def test_without_a_truth_or_a_private_method_there_is_nothing_to_conclude() -> None:
    assert conclusions(curve("m", {1.0: 0.0}, true_size=0)) == []
    assert conclusions(curve("lasso", {1.0: 1.0}, private=False)) == []


def test_the_report_begins_with_it_and_names_stay_names() -> None:
    results = frame(curve("stump", {1.0: 0.9}, dataset=HOSTILE))
    words = conclusions(results.iter_rows(named=True))
    text = report_html("Title", [("version", "1")], results, [], [], words)
    body = text[text.index("<main>") :]
    assert body.index("at epsilon 1 about 4 of 5 picks are right") < body.index("What was run")
    assert "<script>" not in body
    assert len(conclusions(tidy().iter_rows(named=True))) == 4
