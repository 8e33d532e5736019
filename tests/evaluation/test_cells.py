"""One cell of a sweep: its metrics side by side, as plain values."""

import json
from html import unescape

import numpy as np
import pytest

from dpsel.evaluation.metrics import METRICS, Picks, cell_summary, mean_interval
from dpsel.evaluation.report import results_table
from dpsel.evaluation.results import results_frame


def drawn(bound: float | None = None) -> Picks:
    """Four trials of two features; the scores say that 0 and 2 are the best."""
    picks = np.array([[0, 2], [0, 2], [0, 1], [3, 4]])
    return Picks(picks, np.array([9, 4, 7, 0, 1]), bound)


def test_a_cell_has_the_metrics_of_its_picks() -> None:
    found = cell_summary(drawn(0.125), np.array([0, 1, 4]), np.array([0.8, 0.2, 0.4, 0.0, 0.2]))
    # Hits: 1, 1, 2 and 1 of 2.
    low, high = mean_interval(np.array([0.5, 0.5, 1.0, 0.5]))
    assert found == {
        "true_size": 3,
        "accuracy": 0.625,
        "accuracy_low": low,
        "accuracy_high": high,
        "accuracy_sd": 0.25,
        "top": 0.5,
        "great": 0.5,
        # Of three: 0, 1 and 2.
        "good": 0.75,
        "tied": 0.0,
        "relative_correlation": pytest.approx((0.6 + 0.6 + 0.5 + 0.1) / 4 / 0.6, rel=1e-12),
        "jaccard": pytest.approx((1 + 1 / 3 + 0 + 1 / 3 + 0 + 0) / 6, rel=1e-12),
        "bound": 0.125,
        "counts": [[0, 3], [1, 1], [2, 2], [3, 1], [4, 1]],
    }
    assert low < 0.625 < high


def test_a_cell_of_one_trial_has_no_jaccard_and_does_not_spread() -> None:
    one = Picks(np.array([[1, 3]]), np.array([0.5, 2.0, 1.0, 3.0]), None)
    found = cell_summary(one, np.array([3]), np.zeros(4))
    assert (found["accuracy"], found["accuracy_sd"], found["jaccard"]) == (0.5, 0.0, None)
    assert (found["relative_correlation"], found["bound"]) == (None, None)
    assert (found["top"], found["great"], found["good"]) == (1.0, 1.0, 1.0)
    assert found["accuracy_low"] < 0.5 < found["accuracy_high"]


def test_scores_of_each_trial_decide_about_that_trial_s_top() -> None:
    scores = np.array([[9, 0, 9, 0, 0], [0, 9, 0, 9, 0], [9, 9, 0, 0, 0], [0, 0, 0, 9, 9]])
    picks = drawn().picks
    found = cell_summary(Picks(picks, scores, None), np.array([0]), np.ones(5))
    assert (found["top"], found["tied"]) == (0.75, 0.0)


def test_every_pick_is_counted() -> None:
    rng = np.random.default_rng(2)
    picks = np.stack([np.sort(rng.permutation(30)[:4]) for _ in range(50)])
    found = cell_summary(Picks(picks, np.arange(30), None), np.array([0]), np.ones(30))
    counts = dict(map(tuple, found["counts"]))
    assert counts == {f: picks.ravel().tolist().count(f) for f in set(picks.ravel().tolist())}
    assert sum(counts.values()) == 200
    assert list(counts) == sorted(counts)


def test_a_cell_is_plain_enough_for_json() -> None:
    found = cell_summary(drawn(), np.array([0, 1]), np.array([0.8, 0.2, 0.4, 0.0, 0.2]))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert all(type(f) is int and type(c) is int for f, c in found["counts"])
    plain = {key: value for key, value in found.items() if key != "counts"}
    assert {type(value) for value in plain.values()} == {int, float, type(None)}


def test_cells_results_and_report_have_every_metric_of_the_list_in_its_order() -> None:
    columns = [column for metric in METRICS for column in metric.columns]
    found = cell_summary(drawn(), np.array([0, 1]), np.ones(5))
    assert list(found) == ["true_size", *columns, "counts"]
    results = results_frame([])
    first = results.columns.index(columns[0])
    assert results.columns[first : first + len(columns)] == columns
    page = results_table(results)
    places = [page.index(f">{metric.heading}</th>") for metric in METRICS]
    assert places == sorted(places)
    assert all(metric.meaning in unescape(page) for metric in METRICS)
