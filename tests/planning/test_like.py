"""Plans with a public stand-in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dpsel.errors import InputError, UsageError
from dpsel.planning.like import make_like_plan, make_like_request, read_stand_in
from dpsel.planning.options import Guesses, Simulation, StandIn, TargetGuess, Wish
from dpsel.planning.text import guessed_words
from dpsel.reporter import Reporter
from dpsel.selection.options import Method

WISH, FEW = Wish(k=2, epsilon="20"), Simulation(tables=1)


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    """A table of two strong features, one of them far from 0, and six others."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 8))
    label = np.where(X[:, 2] - X[:, 5] > 0, "yes", "no")
    X[:, 5] = 1000 + 50 * X[:, 5]
    frame = pl.DataFrame(X, schema=[f"x{i}" for i in range(8)]).with_columns(y=pl.Series(label))
    frame.write_parquet(tmp_path / "public.parquet")
    return StandIn(like=str(tmp_path / "public.parquet"), target="y", positive="yes")


def test_its_strongest_features_are_right_and_found(stand_in: StandIn) -> None:
    table = read_stand_in(stand_in, 2, Reporter())
    assert sorted(table.right.tolist()) == [2, 5]
    request = make_like_request(WISH, Guesses(), TargetGuess(), FEW, table)
    assert (request.design.rows, request.design.features) == (300, 8)
    assert request.scenarios[0].rows == 150
    plan = make_like_plan(request, table)
    assert plan.to_dict()["guessed"]["like"] == stand_in.like
    for method in (Method.STUMP, Method.KENDALL, Method.DP_SIS):
        assert plan.curves[method].at(20.0)[1] == 1.0


def test_a_plan_names_what_was_taken_to_matter_unless_the_user_did(stand_in: StandIn) -> None:
    def words(stand_in: StandIn) -> str:
        table = read_stand_in(stand_in, 2, Reporter())
        request = make_like_request(WISH, Guesses(), TargetGuess(), FEW, table)
        return guessed_words(make_like_plan(request, table))

    by_default = words(stand_in)
    assert by_default.endswith(
        ("with its target (x2, x5), which favors dp-sis.", "(x5, x2), which favors dp-sis.")
    )
    assert words(replace(stand_in, truth="x2,x5")).endswith("which must be public or synthetic.")


def test_columns_of_words_are_refused_in_terms_of_a_plan(tmp_path: Path) -> None:
    place = tmp_path / "public.csv"
    place.write_text("id,x,y\na1,1,2\na2,2,1\na3,3,5\n")
    with pytest.raises(InputError, match="must hold numbers only; remove 'id', which hold words"):
        read_stand_in(StandIn(like=str(place), target="y"), 1, Reporter())


def test_what_a_stand_in_says_is_not_guessed(stand_in: StandIn) -> None:
    table = read_stand_in(stand_in, 2, Reporter())
    with pytest.raises(UsageError, match="leave out guesses"):
        make_like_request(WISH, Guesses(effect="0.2"), TargetGuess(), FEW, table)
    with pytest.raises(UsageError, match="go together"):
        read_stand_in(StandIn(like="x.csv"), 2, Reporter())
    rows = make_like_request(WISH, Guesses(rows=40), TargetGuess(), FEW, table).design.rows
    assert rows == 40


def test_a_right_feature_that_is_named_twice_counts_once(stand_in: StandIn) -> None:
    table = read_stand_in(replace(stand_in, truth="x2, x5,x2"), 2, Reporter())
    assert table.right.tolist() == [2, 5]
    request = make_like_request(WISH, Guesses(), TargetGuess(), FEW, table)
    assert request.design.effects.count == 2
