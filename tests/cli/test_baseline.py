"""`dpsel baseline`, beside straightforward references."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import linear_model

from dpsel.core.randomness import SeededRandomness
from tests.cli.conftest import ROOT, Dpsel

BOUNDED = ROOT / "sample_data" / "synthetic_bounded.parquet"
RAW = ROOT / "sample_data" / "synthetic_raw.csv"
UNIT = ("--lower", -1, "--upper", 1)
PLANTED = [1, 3, 7, 8, 13, 15, 30, 33]
SHARED = ROOT.parent / "shared" / "data"


def record(dpsel: Dpsel, method: str, *options: object, table: Path = BOUNDED) -> dict[str, Any]:
    bounds = UNIT if table == BOUNDED and method != "dpkendall" else ()
    asked = ("--target", "y", "--k", 8, "--method", method, *bounds, *options)
    result = dpsel("baseline", table, *asked)
    assert result.code == 0, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


def sample() -> tuple[Any, Any]:
    frame = pl.read_parquet(BOUNDED)
    whole = np.rint(frame.to_numpy() * 65536) / 65536
    return whole[:, :-1], whole[:, -1]


def top(values: Any, k: int) -> list[int]:
    return sorted(np.argsort(-values, kind="stable")[:k].tolist())


def test_sis_takes_the_largest_scores_without_privacy(dpsel: Dpsel) -> None:
    found = record(dpsel, "sis")
    X, y = sample()
    assert found["selected_indices"] == top(np.abs(X.T @ y), 8) == PLANTED
    assert found["guarantee"] is None
    assert found["no_guarantee_because"] == "the method was run without privacy"


@pytest.mark.parametrize("method", ["sis", "lasso", "two-stage"])
def test_a_raw_table_is_refused_in_words_that_a_user_of_baseline_knows(
    method: str, dpsel: Dpsel
) -> None:
    private = ("--epsilon", 1, "--blocks", 5) if method == "two-stage" else ()
    refused = dpsel("baseline", RAW, "--target", "y", "--k", 2, "--method", method, *private)
    assert refused.code == 2
    assert refused.err.splitlines()[-1] == (
        f"error: the method {method} needs public bounds: give --bounds FILE, or --lower and "
        "--upper, or a table that `dpsel preprocess` wrote; `dpsel select` needs none"
    )


@pytest.mark.parametrize("method", ["dpkendall", "sis", "two-stage"])
def test_a_target_without_numbers_or_without_the_label_is_noted_by_baselines_too(
    method: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    (path := tmp_path / "t.csv").write_text("x,y\n1,ill\n2,well\n3,ill\n")
    private = {"dpkendall": ("--epsilon", 1), "sis": UNIT}
    options = private.get(method, ("--epsilon", 1, "--blocks", 2, *UNIT))
    asked = ("baseline", path, "--target", "y", "--k", 1, "--method", method, *options)
    # `baseline` has no --classes, which `select` would offer here.
    assert dpsel(*asked).err.splitlines()[-1] == (
        "note: 100% of the cells of 'y' are missing or not numbers; if they are labels, name one "
        "with --positive"
    )
    assert dpsel(*asked, "--positive", "il").err.splitlines()[-1] == (
        "note: no row has the label 'il' in 'y' (upper and lower case differ), so the picks are no "
        "better than chance"
    )
    path.write_text("x,y\n")
    assert dpsel(*asked).err.splitlines()[-1] == (
        "note: there are no rows, so the picks are no better than chance"
    )


def test_a_note_says_when_a_tie_was_broken_by_the_order_of_columns(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    # All cells are above 1, and so is the target: after clipping all columns are alike.
    frame = pl.DataFrame({f"x{i}": [2.0 + i, 3.0, 4.0] for i in range(5)})
    frame.with_columns(y=pl.Series([9.0, 8.0, 7.0])).write_parquet(path := tmp_path / "t.parquet")
    for method, tied in (("sis", 5), ("lasso", 5)):
        result = dpsel("baseline", path, "--target", "y", "--k", 3, "--method", method, *UNIT)
        assert json.loads(result.out)["selected_indices"] == [0, 1, 2]
        assert "of the features' cells 100.0% were clipped to their bounds" in result.err
        assert (
            f"note: {tied} features tie for the last of the 3 places by {method}: nothing tells "
            "them apart, and the first columns were taken\n"
        ) in result.err
    ask = ("baseline", path, "--target", "y", "--k", 3, "--method", "sis", *UNIT)
    assert "tie" not in dpsel(*ask, "--quiet").err
    bounded = dpsel("baseline", BOUNDED, "--target", "y", "--k", 8, "--method", "sis", *UNIT)
    assert "tie" not in bounded.err
    assert "clipped" not in bounded.err


def test_lasso_takes_the_largest_coefficients(dpsel: Dpsel) -> None:
    X, y = sample()
    for penalty in (0.1, 0.01):
        expected = np.abs(linear_model.Lasso(alpha=penalty).fit(X, y).coef_)
        found = record(dpsel, "lasso", "--penalty", penalty)
        assert found["selected_indices"] == top(expected, 8)
        assert found["guarantee"] is None


def test_two_stage_without_privacy_counts_the_votes_of_blocks(dpsel: Dpsel) -> None:
    X, y = sample()
    votes = np.zeros(40)
    for rows in np.array_split(np.arange(1000), 31):
        coefficients = np.abs(linear_model.Lasso(alpha=0.01).fit(X[rows], y[rows]).coef_)
        for i in np.argsort(-coefficients, kind="stable")[:8]:
            votes[i] += coefficients[i] > 0
    options = ("--no-privacy", "--contiguous", "--penalty", 0.01)
    found = record(dpsel, "two-stage", *options)
    assert found["selected_indices"] == top(votes, 8)
    assert found["guarantee"] is None


@pytest.mark.parametrize("mechanism", ["canonical-lipschitz", "peeling", "oneshot-laplace"])
@pytest.mark.parametrize(
    "relation",
    [
        ("--blocks", 30),
        ("--neighbors", "replace-one"),
        ("--neighbors", "replace-one", "--contiguous"),
    ],
)
def test_two_stage_is_private_under_both_relations(
    mechanism: str, relation: tuple[object, ...], dpsel: Dpsel
) -> None:
    options = ("--epsilon", 1000, "--mechanism", mechanism, "--penalty", 0.01)
    found = record(dpsel, "two-stage", *options, *relation)
    assert len(set(found["selected_indices"]) & set(PLANTED)) >= 7
    assert found["score"] == "two-stage"
    assert found["mechanism"]["name"] == mechanism
    assert found["guarantee"]["epsilon"] == 1000.0


def test_dpkendall_takes_raw_tables(dpsel: Dpsel) -> None:
    found = record(dpsel, "dpkendall", "--epsilon", 400, table=RAW)
    assert len(set(found["selected_indices"]) & set(PLANTED)) >= 7
    assert found["mechanism"] == {"name": "dpkendall"}
    assert found["guarantee"]["end_to_end"] is True


def test_a_seed_repeats_the_run(dpsel: Dpsel) -> None:
    for method, options in (("two-stage", ("--blocks", 9)), ("dpkendall", ())):
        asked = (method, "--epsilon", 1, "--seed", 4, *options)
        first, second = record(dpsel, *asked), record(dpsel, *asked)
        assert first == second
        assert first["guarantee"] is None


def test_the_noise_of_one_seed_is_not_the_blocks_of_another(
    dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams: list[int] = []
    begin = SeededRandomness.__init__

    def watched(self: SeededRandomness, seed: int) -> None:
        streams.append(seed)
        begin(self, seed)

    monkeypatch.setattr(SeededRandomness, "__init__", watched)
    for seed in (1, 2):
        record(dpsel, "two-stage", "--epsilon", 5, "--blocks", 10, "--seed", seed)
    assert len(streams) == len(set(streams)) == 4


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("--epsilon is needed; or run two-stage with --no-privacy", ("two-stage",)),
        (
            "under add-remove the number of rows is private, so --blocks B is needed; or use "
            "--neighbors replace-one",
            ("two-stage", "--epsilon", 1),
        ),
        ("--blocks and --contiguous go with --method two-stage", ("sis", "--blocks", 3)),
        ("dpkendall is private; --no-privacy goes with two-stage", ("dpkendall", "--no-privacy")),
        (
            "contiguous blocks need replace-one neighbors and rows as the unit",
            ("two-stage", "--epsilon", 1, "--blocks", 3, "--contiguous"),
        ),
        *(
            (
                f"blocks must be between 1 and 100000, got {blocks}",
                ("two-stage", "--epsilon", 1, "--blocks", blocks),
            )
            for blocks in (0, 10**6, 10**20)
        ),
        (
            "dpkendall has a mechanism of its own; leave out --mechanism and its options",
            ("dpkendall", "--epsilon", 1, "--mechanism", "peeling", "--delta", 0.3),
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    message: str, options: tuple[object, ...], dpsel: Dpsel
) -> None:
    method, *rest = options
    result = dpsel("baseline", BOUNDED, "--target", "y", "--k", 8, "--method", method, *rest)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {message}\n"


METHOD = "the method is not private"
SEED = "a draw with --seed is not private"


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
@pytest.mark.parametrize("output_format", ["json", "names", "indices"])
@pytest.mark.parametrize(
    ("because", "run"),
    [
        (METHOD, ("baseline", "--method", "sis", *UNIT)),
        # Contiguous: in random blocks of so few rows, features tie now and then, which is noted.
        (
            METHOD,
            (
                *("baseline", "--method", "two-stage", "--no-privacy", *UNIT),
                *("--blocks", 2, "--contiguous"),
            ),
        ),
        (SEED, ("baseline", "--method", "dpkendall", "--epsilon", 1, "--seed", 1)),
        (SEED, ("select", "--method", "dp-sis", "--epsilon", 1, "--seed", 1, *UNIT)),
    ],
)
def test_a_result_without_privacy_is_marked_for_its_holder_quiet_or_not(
    because: str,
    run: tuple[object, ...],
    output_format: str,
    quiet: tuple[str, ...],
    dpsel: Dpsel,
    tmp_path: Path,
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,z,y\n1,0.5,1\n0,0.25,0\n1,1,1\n")
    command, *options = run
    asked = (table, "--target", "y", "--k", 1, "--format", output_format)
    result = dpsel(command, *asked, *options, *quiet)
    assert result.code == 0
    assert result.err == f"note: {because}: the result is not for release\n"


@pytest.mark.skipif(not SHARED.exists(), reason="the tables of ../shared/data are not here")
def test_a_wide_table_is_voted_on(dpsel: Dpsel, tmp_path: Path) -> None:
    output = tmp_path / "t.parquet"
    raw = SHARED / "chowdary.parquet"
    dpsel("preprocess", raw, output, "--target", "y", "--encode-target", "--quiet")
    options = ("--epsilon", 5, "--neighbors", "replace-one")
    assert len(record(dpsel, "two-stage", *options, table=output)["selected_indices"]) == 8
