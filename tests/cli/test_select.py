"""`dpsel select`, from the command line to the record."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import dpsel as library
from dpsel.core.selection import Selection
from dpsel.errors import UsageError
from tests.cli.conftest import ROOT, Dpsel

BOUNDED = ROOT / "sample_data" / "synthetic_bounded.parquet"
VISITS = ROOT / "sample_data" / "visits.csv"
RAW = ROOT / "sample_data" / "synthetic_raw.csv"
BOUNDS = ROOT / "sample_data" / "bounds.toml"
PLANTED = ["x01", "x03", "x07", "x08", "x13", "x15", "x30", "x33"]
# At epsilon 20 the sample's top 8 is drawn with a chance of 1 - 1e-90 or so.
ASKED = ("--target", "y", "--k", 8, "--epsilon", 20, "--method", "dp-sis")
UNIT = ("--lower", -1, "--upper", 1)
ASK = (*ASKED, *UNIT)
SCHEMA = json.loads(files("dpsel.selection").joinpath("selection.schema.json").read_text())
PUBLIC = {
    "schema",
    "selected_indices",
    "selected_features",
    "k",
    "n_features",
    "target",
    "method",
    "score",
    "mechanism",
    "guarantee",
    "no_guarantee_because",
    "version",
}
ADDED = {"target", "method"}
IF_GIVEN = {"positive", "classes", "features", "exclude", "row_ranks", "run_id", "date"}


def record_of(out: str) -> dict[str, Any]:
    """Return a record that the schema allows; `stump` says what each of its steps took."""
    record: dict[str, Any] = json.loads(out)
    jsonschema.validate(record, SCHEMA)
    parts = {"budget"} if record["score"] == "stump" else set()
    assert record.keys() - IF_GIVEN == PUBLIC | parts
    return record


def test_a_record_with_the_fields_of_a_later_version_is_one_too(dpsel: Dpsel) -> None:
    record = record_of(dpsel("select", BOUNDED, *ASK).out)
    later = {**record, "further": 1, "guarantee": {**record["guarantee"], "further": 1}}
    jsonschema.validate(later, SCHEMA)
    assert SCHEMA["properties"].keys() == PUBLIC | IF_GIVEN | {"budget", "groups"}
    assert record["guarantee"].keys() == SCHEMA["properties"]["guarantee"]["properties"].keys()


def test_the_record_holds_the_planted_features_and_only_what_may_be_published(dpsel: Dpsel) -> None:
    result = dpsel("select", BOUNDED, *ASK)
    assert result.code == 0
    assert result.err == ""
    record = record_of(result.out)
    assert record.keys() == PUBLIC
    assert record["selected_features"] == PLANTED
    assert record["selected_indices"] == [1, 3, 7, 8, 13, 15, 30, 33]
    assert (record["k"], record["n_features"]) == (8, 40)
    assert record["mechanism"] == {"name": "canonical-lipschitz", "gamma": 0.5, "sampler": "lazy"}
    assert record["score"] == "dot"
    assert record["version"] == library.__version__
    guarantee = record["guarantee"]
    assert guarantee["why"].startswith("bounds were given as public inputs")
    del guarantee["why"]
    assert guarantee == {
        "epsilon": 20.0,
        "delta": 0.0,
        "neighbors": "add-remove",
        "unit": "row",
        "rows_per_unit": 1,
        "end_to_end": True,
    }


def test_public_bounds_make_the_guarantee_cover_everything(dpsel: Dpsel) -> None:
    result = dpsel("select", RAW, *ASKED, "--bounds", BOUNDS)
    assert (result.code, result.err) == (0, "")
    record = record_of(result.out)
    assert record["selected_features"] == PLANTED
    assert record["guarantee"]["end_to_end"] is True
    uniform = dpsel("select", RAW, *ASKED, "--lower", -5, "--upper", 5)
    assert record_of(uniform.out)["guarantee"]["end_to_end"] is True


def test_the_rows_that_are_needed_are_told_in_plain_words(dpsel: Dpsel) -> None:
    one = dpsel("select", BOUNDED, "--target", "y", "--k", 1, "--epsilon", 500)
    assert " takes about 1 row; but this epsilon hardly protects: " in one.err
    every = dpsel("select", BOUNDED, "--target", "y", "--k", 40, "--epsilon", 1)
    assert every.err == "note: k is 40, the number of features: all of them are selected\n"
    some = dpsel("select", BOUNDED, "--target", "y", "--up-to", 40, "--epsilon", 1)
    assert some.err.startswith("note: to select 40 of 40 features at epsilon 1 better than by ")


@pytest.mark.parametrize("score", ["dot", "covariance"])
def test_a_raw_table_without_bounds_is_refused(score: str, dpsel: Dpsel) -> None:
    for options in ((), ("--quiet",), ("--neighbors", "replace-one")):
        result = dpsel("select", RAW, *ASKED, "--score", score, *options)
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            f"error: the score {score} needs public bounds: give --bounds FILE, or --lower and "
            "--upper, or a table that `dpsel preprocess` wrote; the method stump needs none\n"
        )


def test_clipped_cells_are_noted_for_their_holder_only(dpsel: Dpsel) -> None:
    result = dpsel("select", RAW, *ASK)
    assert result.code == 0
    assert result.err == (
        "note: of the features' cells 31.8% were clipped to their bounds, 0.0% are missing and "
        "0.0% are not numbers; worst: 'y' (85.2% clipped), 'x00' (35.0% clipped), 'x22' (34.6% "
        "clipped), "
        "'x37' (34.4% clipped), 'x11' (34.1% clipped)\n"
    )
    assert record_of(result.out)["guarantee"]["end_to_end"] is True
    assert dpsel("select", RAW, *ASK, "--quiet").err == ""


def test_a_seed_repeats_the_draw_and_takes_the_guarantee_away(dpsel: Dpsel) -> None:
    ask = ("select", BOUNDED, *ASK, "--k", 5, "--epsilon", 0.01, "--seed", 3)
    first, second = dpsel(*ask), dpsel(*ask)
    assert first.out == second.out
    assert first.err == "note: a draw with --seed is not private: the result is not for release\n"
    record = record_of(first.out)
    assert record["guarantee"] is None
    assert record["no_guarantee_because"] == "drawn with a fixed seed, for tests only"
    assert "3" not in record["no_guarantee_because"]
    other = dpsel(*ask[:-1], 4)
    assert record_of(other.out)["selected_indices"] != record["selected_indices"]


def test_runs_without_a_seed_differ(dpsel: Dpsel) -> None:
    # 40 choose 5 subsets, nearly equally likely: five equal runs have a chance below 1e-22.
    ask = ("select", BOUNDED, *ASK, "--k", 5, "--epsilon", 1e-6, "--format", "indices")
    assert len({dpsel(*ask).out for _ in range(5)}) > 1


def test_options_reach_the_record(dpsel: Dpsel) -> None:
    options = ["--gamma", 0.25, "--sampler", "direct", "--neighbors", "replace-one"]
    record = record_of(dpsel("select", BOUNDED, *ASK, *options).out)
    assert record["mechanism"]["gamma"] == 0.25
    assert record["mechanism"]["sampler"] == "direct"
    assert record["guarantee"]["neighbors"] == "replace-one"


def test_persons_can_be_protected_instead_of_rows(dpsel: Dpsel, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pl.read_parquet(BOUNDED).with_row_index("who").write_csv(path)
    asked = ("select", path, *ASK, "--person", "who", "--rows-per-person", 2)
    record = record_of(dpsel(*asked).out)
    assert record["guarantee"]["unit"] == "person"
    assert record["guarantee"]["rows_per_unit"] == 2
    assert record["n_features"] == 40
    alone = record_of(dpsel(*asked[:-2]).out)
    assert alone["guarantee"]["rows_per_unit"] == 1


def test_columns_can_be_chosen_and_left_out(dpsel: Dpsel) -> None:
    record = record_of(
        dpsel(
            *("select", BOUNDED, *ASK, "--k", 1, "--epsilon", 50),
            *("--features", "x0*,x13", "--features", "x33", "--exclude", "x03"),
        ).out
    )
    assert record["n_features"] == 11
    assert record["selected_features"] == ["x13"]
    assert record["selected_indices"] == [9]


def test_names_and_indices_come_one_a_line(dpsel: Dpsel) -> None:
    assert dpsel("select", BOUNDED, *ASK, "--format", "names").out.split("\n") == [*PLANTED, ""]
    assert dpsel("select", BOUNDED, *ASK, "--format", "indices").out.startswith("1\n3\n7\n")


def test_the_holder_hears_that_a_very_large_epsilon_hardly_protects(dpsel: Dpsel) -> None:
    asked = ("select", VISITS, "--target", "came_back", "--positive", "yes", "--k", 3)
    note = (
        "takes about 1 row; but this epsilon hardly protects: one row may make a result exp(1000) "
        "times as likely; usual are 0.1 to 10\n"
    )
    assert dpsel(*asked, "--epsilon", 1000).err.endswith(note)
    assert "hardly protects" not in dpsel(*asked, "--epsilon", 20).err
    person = dpsel(*asked, "--epsilon", 1000, "--person", "admitted").err
    assert "hardly protects: one person may make a result exp(1000) times as likely" in person
    # It is advice, not a problem with this run.
    assert dpsel(*asked, "--epsilon", 1000, "--quiet").err == ""


def test_a_text_target_needs_a_label(dpsel: Dpsel, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pl.read_parquet(BOUNDED)
    frame.with_columns(y=pl.when(pl.col("y") > 0).then(pl.lit("ill"))).write_parquet(path)
    refused = dpsel("select", path, *ASK)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err == (
        "error: t.parquet: the target 'y' holds text; "
        "name one of its labels with --positive LABEL, or all of them (`dpsel select` and "
        "`dpsel preprocess`: with --classes A,B,C; `dpsel evaluate`: --encode-target), or give "
        "a numeric column\n"
    )
    assert dpsel("select", path, *ASK, "--positive", "ill").code == 0
    unseen = dpsel("select", path, *ASK, "--positive", "il")
    assert unseen.code == 0
    assert unseen.err == (
        "note: no row has the label 'il' in 'y' (upper and lower case differ), so the picks are no "
        "better than chance\n"
    )
    # The picks were paid for and are of no use: nothing hides that.
    assert dpsel("select", path, *ASK, "--positive", "il", "--quiet").err == unseen.err


@pytest.mark.parametrize("labels", [(), ("--positive", "2024-05-01")])
def test_a_target_of_dates_is_not_asked_for_labels(
    labels: tuple[str, ...], dpsel: Dpsel, tmp_path: Path
) -> None:
    frame = pl.read_parquet(BOUNDED).with_columns(y=pl.lit("2024-05-01").str.to_date())
    frame.write_parquet(tmp_path / "t.parquet")
    refused = dpsel("select", tmp_path / "t.parquet", *ASK, *labels)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err == (
        "error: t.parquet: the target 'y' holds dates or times; give a column of numbers or "
        "labels\n"
    )


def of_no_use(path: Path, rows: int) -> None:
    """Write a CSV with columns that are clipped, missing or words, each to some part."""
    lines = ["fine,far,gaps,words,some,y"]
    for row in range(rows):
        far = 9 if row % 4 else 0.5
        gap = "NA" if row % 2 else 0.5
        word = "secret" if row % 5 else 0.5
        lines.append(f"{row % 3 / 3},{far},{gap},{word},{'' if row % 8 == 0 else 0.1},{row % 2}")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("score", ["dot", "covariance", "kendall"])
def test_a_note_says_which_cells_were_clipped_missing_or_not_numbers(
    score: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    of_no_use(path := tmp_path / "t.csv", 120)
    ask = ("select", path, "--target", "y", "--k", 2, "--epsilon", 1, "--score", score)
    bounds = ("--lower", 0, "--upper", 1) if score != "kendall" else ()
    result = dpsel(*ask, *bounds)
    assert result.code == 0
    clipped = score != "kendall"
    far = "'far' (75.0% clipped), " if clipped else ""
    assert result.err == (
        f"note: of the features' cells {15.0 if clipped else 0.0}% were clipped to their bounds, "
        "12.5% are missing and 16.0% are not numbers; worst: 'words' (80.0% not numbers), "
        f"{far}'gaps' (50.0% missing), 'some' (12.5% missing)\n"
    )
    # Nothing of it is published, and no cell is quoted.
    assert "secret" not in result.err
    quiet = dpsel(*ask, *bounds, "--quiet")
    assert quiet.err == ""
    assert set(record_of(quiet.out)) == set(record_of(result.out))


def test_the_summary_names_five_columns_and_looks_at_long_tables_too(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    rows = 50_000
    far = np.where(np.arange(rows) < rows // 2, 0.0, 7.0)
    columns = {f"x{i}": far if i < 7 else np.zeros(rows) for i in range(9)}
    columns["gone"] = np.full(rows, np.nan)
    pl.DataFrame({**columns, "y": np.zeros(rows)}).write_parquet(path := tmp_path / "t.parquet")
    bounds = ("--lower", 0, "--upper", 1)
    result = dpsel("select", path, *ASKED, "--k", 2, "--epsilon", 1, *bounds)
    assert result.code == 0
    assert result.err == (
        "note: of the features' cells 35.0% were clipped to their bounds, 10.0% are missing and "
        "0.0% are not numbers; worst: 'gone' (100.0% missing), 'x0' (50.0% clipped), 'x1' (50.0% "
        "clipped), "
        "'x2' (50.0% clipped), 'x3' (50.0% clipped)\n"
    )


@pytest.mark.parametrize("text", ["x,z,y\n", "x,z,y\n1,,\n", "x,z,y\n0,0,1\n0,0,1\n"])
def test_nothing_to_go_by_still_selects(text: str, dpsel: Dpsel, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    for k in (1, 2):
        result = dpsel("select", path, *ASK, "--k", k, "--epsilon", 1)
        assert result.code == 0
        assert ("missing" in result.err) == ("1,," in text)
        assert len(record_of(result.out)["selected_indices"]) == k


def test_a_table_without_rows_selects_in_every_typed_format(dpsel: Dpsel, tmp_path: Path) -> None:
    empty = pl.read_parquet(BOUNDED).clear()
    empty.write_parquet(tmp_path / "t.parquet")
    empty.write_ipc(tmp_path / "t.arrow")
    for name in ("t.parquet", "t.arrow"):
        assert dpsel("select", tmp_path / name, *ASK).code == 0


@pytest.mark.parametrize("method", ["stump", "kendall"])
@pytest.mark.parametrize("label", [(), ("--positive", "ill")])
def test_the_holder_of_a_table_without_rows_is_told(
    method: str, label: tuple[str, ...], dpsel: Dpsel, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    asked = ("--target", "y", "--k", 1, "--epsilon", 1, "--method", method, *label, "--quiet")
    no_rows = "note: there are no rows, so the picks are no better than chance\n"
    path.write_text("x,z,who,y\n")
    result = dpsel("select", path, *asked)
    assert (result.code, result.err) == (0, no_rows)
    path.write_text("x,z,who,y\n1,2,,1\n")
    assert dpsel("select", path, *asked, "--person", "who").err == no_rows
    assert no_rows not in dpsel("select", path, *asked).err


def test_python_gives_the_same_record_as_the_command(dpsel: Dpsel) -> None:
    from_command = record_of(dpsel("select", RAW, *ASKED, "--bounds", BOUNDS, "--seed", 1).out)
    options: dict[str, Any] = {"target": "y", "k": 8, "epsilon": 20, "method": "dp-sis"}
    selection = library.select(RAW, **options, bounds=BOUNDS, seed=1)
    assert selection.to_dict() == from_command
    frame = pl.read_csv(RAW)
    again = library.select(frame, **options, bounds=BOUNDS, seed=1)
    assert again == selection


def test_python_warns_where_the_command_notes() -> None:
    options: dict[str, Any] = {"target": "y", "k": 8, "epsilon": 20, "method": "dp-sis"}
    with pytest.warns(UserWarning, match="of the features' cells") as caught:
        library.select(RAW, **options, lower=-1, upper=1)
    said = [str(warning.message) for warning in caught]
    assert said[0].startswith("of the features' cells 31.8% were clipped")
    assert {warning.filename for warning in caught} == {__file__}


def test_the_help_names_every_score_and_mechanism(dpsel: Dpsel) -> None:
    from dpsel.core.mechanisms.registry import MECHANISMS
    from dpsel.core.scores.registry import SCORES

    text = dpsel("select", "--help").out
    for name in (*SCORES, *MECHANISMS):
        assert name in text
    assert "dpsel select data.parquet --target y --k 5 --epsilon 2" in text


def pairs() -> list[tuple[str, str]]:
    from dpsel.core.mechanisms.registry import MECHANISMS
    from dpsel.core.scores.registry import SCORES

    return [(score, mechanism) for score in SCORES for mechanism in MECHANISMS]


@pytest.mark.parametrize(("score", "mechanism"), pairs())
def test_every_score_goes_with_every_mechanism(
    score: str, mechanism: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    output = tmp_path / "out.json"
    method = ("--score", score, "--mechanism", mechanism, "--output", output)
    # A hundred times the epsilon of the other examples: all mechanisms find the planted ones.
    asked = ("--target", "y", "--k", 8, "--epsilon", 500)
    bounds = UNIT if score in ("dot", "covariance") else ()
    result = dpsel("select", BOUNDED, *asked, *method, *bounds)
    note = "note: to select 8 of 40 features at epsilon 500 better than by chance takes about "
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith(note if score == "stump" else "")
    assert result.err.count("\n") == (score == "stump")
    record = record_of(output.read_text())
    assert record["selected_features"] == PLANTED
    assert record["score"] == score
    assert record["mechanism"]["name"] == mechanism
    assert record["guarantee"]["end_to_end"] is True
    assert ("bounds were given" in record["guarantee"]["why"]) is bool(bounds)


def test_kendall_takes_raw_tables_and_covers_everything(dpsel: Dpsel) -> None:
    asked = ("--target", "y", "--k", 8, "--epsilon", 30, "--score", "kendall")
    result = dpsel("select", RAW, *asked)
    assert (result.code, result.err) == (0, "")
    record = record_of(result.out)
    assert record["selected_features"] == PLANTED
    assert record["guarantee"]["end_to_end"] is True
    assert "neither bounds nor preprocessing" in record["guarantee"]["why"]


def test_a_delta_is_in_the_guarantee(dpsel: Dpsel) -> None:
    method = ("--mechanism", "peeling", "--delta", 1e-6)
    record = record_of(dpsel("select", BOUNDED, *ASK, *method).out)
    assert record["guarantee"]["delta"] == 1e-6
    assert record["mechanism"] == {"name": "peeling", "delta": 1e-6}


def test_the_record_states_what_was_asked(dpsel: Dpsel, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b,c,y\n1,2,3,yes\n4,5,6,no\n")
    ask = ("select", table, "--target", "y", "--k", 1, "--epsilon", 1)
    plain = record_of(dpsel(*ask, "--positive", "yes").out)
    assert (plain["target"], plain["positive"], plain["method"]) == ("y", "yes", "stump")
    assert not plain.keys() & {"classes", "features", "exclude", "run_id", "date"}
    columns = ("--features", "a,b", "--features", "c*", "--exclude", "b", "--date", "2024-02-29")
    asked = record_of(dpsel(*ask, "--classes", "yes,no,unknown", *columns).out)
    assert asked["classes"] == ["yes", "no", "unknown"]
    assert (asked["features"], asked["exclude"]) == (["a,b", "c*"], ["b"])
    assert (asked["n_features"], asked["date"]) == (2, "2024-02-29")
    other = record_of(dpsel(*ask, "--positive", "yes", "--mechanism", "peeling").out)
    assert other["method"] is None


def test_a_method_of_two_names_is_a_method_and_so_is_a_baseline(dpsel: Dpsel) -> None:
    by_name = record_of(dpsel("select", BOUNDED, *ASK).out)
    parts = ("--method", "stump", "--score", "dot", "--mechanism", "canonical-lipschitz")
    by_parts = record_of(dpsel("select", BOUNDED, *ASK[:-6], *UNIT, *parts).out)
    assert (by_name["method"], by_parts["method"]) == ("dp-sis", None)
    sis = ("baseline", BOUNDED, "--target", "y", "--k", 8, "--method", "sis", *UNIT)
    assert record_of(dpsel(*sis).out)["method"] == "sis"


def test_today_is_a_day_and_what_is_none_is_refused_before_the_table_is_opened(
    dpsel: Dpsel,
) -> None:
    from datetime import UTC, date, datetime, timedelta

    stated = record_of(dpsel("select", BOUNDED, *ASK, "--date", "today").out)["date"]
    assert datetime.now(UTC).date() - date.fromisoformat(stated) <= timedelta(days=1)
    for wrong in ("", "2024-2-1", "2023-02-29", "20240501", "2024-05-01T00:00", "tomorrow"):
        result = dpsel("select", "not-there.csv", *ASK, "--date", wrong)
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            f"error: --date must be a day such as 2024-05-01, or today, got {wrong}\n"
        )
    with pytest.raises(UsageError, match=r"^date must be a day"):
        library.select("not-there.csv", target="y", k=1, epsilon=1, date="soon")


def test_a_record_is_read_back_as_it_was_and_one_of_the_first_version_too(dpsel: Dpsel) -> None:
    record = record_of(dpsel("select", BOUNDED, *ASK, "--exclude", "x00", "--date", "today").out)
    assert Selection.from_dict(record).to_dict() == record
    first = {name: value for name, value in record.items() if name not in ADDED | IF_GIVEN}
    first["schema"] = "dpsel.selection/1"
    jsonschema.validate(first, SCHEMA)
    assert Selection.from_dict(first).question is None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**first, "schema": "dpsel.selection/2"}, SCHEMA)
