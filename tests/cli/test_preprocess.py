"""`dpsel preprocess`, and what `dpsel select` makes of its tables."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import dpsel as library
from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import ONE
from dpsel.preprocessing import run as preprocessing
from dpsel.tables.spill import Spill
from tests.cli.conftest import ROOT, Dpsel
from tests.sample_tables import WRITERS, numbers, scored

RAW = ROOT / "sample_data" / "synthetic_raw.csv"
BOUNDED = ROOT / "sample_data" / "synthetic_bounded.parquet"
BOUNDS = ROOT / "sample_data" / "bounds.toml"
DP_SIS = ("--method", "dp-sis")
SHARED = ROOT.parent / "shared" / "data"
TABLES = sorted(SHARED.glob("*.parquet"))
QUICK_TABLES = ("alon", "golub", "khan")
needs_shared_data = pytest.mark.skipif(
    not TABLES, reason="the microarray tables of ../shared/data are not here"
)


def paper_scaling(X: FloatArray) -> FloatArray:
    """Centre by the mean, divide by the largest absolute value: the paper, in numpy."""
    centred = X - X.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    scaled: FloatArray = np.divide(centred, largest, out=np.zeros_like(centred), where=largest > 0)
    return scaled


def whole(X: FloatArray) -> Any:
    return np.rint(X * ONE).astype(np.int64)


def matrix(path: Path) -> FloatArray:
    return pl.read_parquet(path).to_numpy().astype(np.float64)


@needs_shared_data
@pytest.mark.parametrize(
    "path",
    [
        path if path.stem in QUICK_TABLES else pytest.param(path, marks=pytest.mark.long)
        for path in TABLES
    ],
    ids=lambda path: path.stem,
)
def test_real_tables_select_what_the_paper_s_preprocessing_selects(
    path: Path, dpsel: Dpsel, tmp_path: Path
) -> None:
    output = tmp_path / "bounded.parquet"
    made = dpsel("preprocess", path, output, "--target", "y", "--encode-target", "--quiet")
    assert (made.code, made.out, made.err) == (0, "", "")
    frame = pl.read_parquet(path)
    labels = sorted(frame["y"].unique().to_list())
    codes = np.array([float(labels.index(label)) for label in frame["y"]])
    X = paper_scaling(frame.drop("y").to_numpy().astype(np.float64))
    y = paper_scaling(codes[:, None])
    scores = np.abs(whole(X).T @ whole(y)[:, 0])
    for k, epsilon, seed in ((5, 10.0, 1), (9, 3.0, 2), (5, 0.1, 3)):
        asked = ("--k", k, "--epsilon", epsilon, "--seed", seed, "--format", "indices", "--quiet")
        result = dpsel("select", output, "--target", "y", *DP_SIS, *asked)
        expected = library.top_k(scores, k, epsilon, sensitivity=ONE * ONE, seed=seed)
        assert list(map(int, result.out.split())) == expected.tolist()


@pytest.mark.parametrize("table_format", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("method", [(), ("--scale", "robust"), ("--bounds", BOUNDS)])
def test_a_written_table_is_bounded_and_reads_back(
    table_format: str, method: tuple[object, ...], dpsel: Dpsel, tmp_path: Path
) -> None:
    output = tmp_path / f"t.{table_format}"
    made = dpsel("preprocess", RAW, output, "--target", "y", *method)
    assert (made.code, made.out) == (0, "")
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "arrow": pl.read_ipc}[table_format]
    frame = read(output)  # type: ignore[operator]
    assert frame.columns == pl.read_csv(RAW).columns
    assert frame.height == 1000
    assert frame.select(pl.all().abs().max()).to_numpy().max() <= 1.0
    assert set(frame.dtypes) == {pl.Float64}
    asked = ("--target", "y", "--k", 8, "--epsilon", 30, "--format", "names")
    assert dpsel("select", output, *DP_SIS, *asked).out.split()[:2] == ["x01", "x03"]


def test_public_bounds_give_exactly_the_bounded_sample(dpsel: Dpsel, tmp_path: Path) -> None:
    output = tmp_path / "t.parquet"
    dpsel("preprocess", RAW, output, "--target", "y", "--bounds", BOUNDS)
    assert np.allclose(matrix(output), matrix(BOUNDED), atol=6e-4)
    assert scored(output).values.tolist() == scored(RAW, bounds=BOUNDS).values.tolist()


def guarantee(
    dpsel: Dpsel, table: Path, *options: object, method: tuple[object, ...] = DP_SIS
) -> dict[str, Any]:
    asked = ("--target", "y", "--k", 2, "--epsilon", 1, *method)
    result = dpsel("select", table, *asked, *options)
    assert result.code == 0
    found: dict[str, Any] = json.loads(result.out)["guarantee"]
    return found


@pytest.mark.parametrize("table_format", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize(
    ("options", "end_to_end", "why"),
    [
        (("--bounds", BOUNDS), True, "with public inputs only"),
        (("--center", "none", "--scale", "none"), True, "with public inputs only"),
        ((), False, "each column's mean, each column's largest value"),
        (("--scale", "robust"), False, "each column's median, each column's spread"),
        (("--bounds", BOUNDS, "--missing", "mean"), False, "the mean for missing cells"),
        (("--center", "none", "--scale", "none", "--missing", "median"), False, "the median for"),
    ],
)
def test_the_record_of_select_says_what_preprocess_did(
    table_format: str,
    options: tuple[object, ...],
    end_to_end: bool,
    why: str,
    dpsel: Dpsel,
    tmp_path: Path,
) -> None:
    output = tmp_path / f"t.{table_format}"
    made = dpsel("preprocess", RAW, output, "--target", "y", *options)
    assert made.code == 0
    noted = "the guarantee of `dpsel select` will cover the selection only" in made.err
    assert noted is not end_to_end
    found = guarantee(dpsel, output)
    assert found["end_to_end"] is end_to_end
    assert why in found["why"]
    assert guarantee(dpsel, output, method=("--method", "stump")) == found
    # Bounds on top of a table that the data have shaped do not make it private again.
    assert guarantee(dpsel, output, "--lower", -1, "--upper", 1)["end_to_end"] is end_to_end
    shown = json.loads(dpsel("preprocess", "--show", output).out)
    assert shown["schema"] == "dpsel.provenance/1"
    assert shown["data_dependent"] is not end_to_end


def test_public_classes_keep_the_guarantee_and_sorted_ones_do_not(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    frame = pl.read_csv(RAW).with_columns(y=pl.Series(["low", "high", "middle", None, "odd"] * 200))
    frame.write_csv(tmp_path / "raw.csv")
    bounds = tmp_path / "b.toml"
    bounds.write_text("[default]\nlower = -1\nupper = 1\n")
    ask = ("--target", "y", "--bounds", bounds, "--quiet")
    public = tmp_path / "public.parquet"
    classes = ("--classes", "low,middle,high")
    assert dpsel("preprocess", tmp_path / "raw.csv", public, *ask, *classes).code == 0
    assert guarantee(dpsel, public)["end_to_end"] is True
    # An unknown label counts as missing.
    assert pl.read_parquet(public)["y"][:5].to_list() == [-1.0, 1.0, 0.0, 0.0, 0.0]
    found = tmp_path / "sorted.parquet"
    assert dpsel("preprocess", tmp_path / "raw.csv", found, *ask, "--encode-target").code == 0
    assert guarantee(dpsel, found)["end_to_end"] is False
    assert pl.read_parquet(found)["y"][:5].to_list() == pytest.approx([-1 / 3, -1, 1 / 3, 0, 1])
    rest = tmp_path / "rest.parquet"
    assert dpsel("preprocess", tmp_path / "raw.csv", rest, *ask, "--positive", "low").code == 0
    assert pl.read_parquet(rest)["y"][:5].to_list() == [1.0, -1.0, -1.0, 0.0, -1.0]


def test_a_replaced_row_shows_why_max_abs_is_not_covered(dpsel: Dpsel, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = 100
    x = np.resize([-1.0, 1.0], rows)
    frame = pl.DataFrame({"x": x, "z": rng.uniform(-1, 1, rows), "y": x})
    neighbor = frame.clone()
    neighbor[0, "x"] = 1e9
    bounds = tmp_path / "b.toml"
    bounds.write_text("[default]\nlower = -1\nupper = 1\n")
    moved = {}
    for name, options in (("max-abs", ()), ("bounds", ("--bounds", bounds))):
        values = []
        for place, table in (("a", frame), ("b", neighbor)):
            table.write_parquet(tmp_path / "raw.parquet")
            output = tmp_path / f"{name}_{place}.parquet"
            dpsel("preprocess", tmp_path / "raw.parquet", output, "--target", "y", *options)
            values.append(scored(output, neighbors="replace-one").values)
        moved[name] = int(np.abs(values[0] - values[1]).max()) / (ONE * ONE)
    assert moved["bounds"] <= 2
    assert moved["max-abs"] > 95


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "t.arrows"])
def test_every_format_gives_the_same_table(name: str, dpsel: Dpsel, tmp_path: Path) -> None:
    frame = numbers(200, 6)
    frame.write_parquet(tmp_path / "reference.parquet")
    WRITERS[name](frame, tmp_path / name)
    found = []
    for source in (tmp_path / "reference.parquet", tmp_path / name):
        output = tmp_path / "out.parquet"
        for options in ((), ("--scale", "robust")):
            made = dpsel("preprocess", source, output, "--target", "y", *options, "--force")
            assert made.code == 0
            found.append(matrix(output))
    assert np.array_equal(found[0], found[2])
    assert np.array_equal(found[1], found[3])


def test_the_order_of_rows_only_moves_rows(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = numbers(300, 4).with_row_index("x9").cast(pl.Float64)
    frame.write_csv(tmp_path / "a.csv")
    frame.sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "b.csv")
    for options in ((), ("--scale", "robust"), ("--missing", "mean")):
        tables = []
        for name in ("a", "b"):
            output = tmp_path / "out.parquet"
            dpsel(
                "preprocess", tmp_path / f"{name}.csv", output, "--target", "y", *options, "--force"
            )
            tables.append(pl.read_parquet(output).sort(pl.all()))
        assert tables[0].equals(tables[1])


def test_a_table_larger_than_memory_is_scaled_alike(
    dpsel: Dpsel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = numbers(2000, 6)
    for name in ("t.csv", "small_groups.parquet", "t.arrow"):
        WRITERS[name](frame, tmp_path / name)
        for scale in ("max-abs", "robust"):
            outputs = []
            for limit in (1 << 25, 1000):
                monkeypatch.setattr(preprocessing, "CELLS_IN_MEMORY", limit)
                output = tmp_path / f"{limit}.parquet"
                asked = ("--target", "y", "--scale", scale, "--force")
                made = dpsel("preprocess", tmp_path / name, output, *asked)
                assert made.code == 0
                outputs.append(matrix(output))
            assert np.array_equal(outputs[0], outputs[1])
            assert ("medians: exact\n" in made.err) == (scale == "robust")


def test_the_memory_that_the_user_gives_decides_what_is_kept(
    dpsel: Dpsel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers(2000, 6).write_parquet(tmp_path / "t.parquet")
    ask = ("--target", "y", "--scale", "robust", "--force")
    # Its cells take 112 kB, and medians three times as much.
    spilled = []

    def spill(*asked: Any, **options: Any) -> Spill:
        spilled.append(asked)
        return Spill(*asked, **options)

    monkeypatch.setattr(preprocessing, "Spill", spill)
    for memory, times in (("320kB", 1), ("340kB", 0)):
        spilled.clear()
        monkeypatch.setenv("DPSEL_MEMORY", memory)
        made = dpsel("preprocess", tmp_path / "t.parquet", tmp_path / "o.parquet", *ask)
        assert made.code == 0
        assert "medians: exact\n" in made.err
        assert len(spilled) == times
    # More than is kept without a word, if the user says so.
    monkeypatch.setattr(preprocessing, "CELLS_IN_MEMORY", 1000)
    made = dpsel("preprocess", tmp_path / "t.parquet", tmp_path / "o.parquet", *ask)
    assert "medians: exact\n" in made.err
    assert not spilled
    monkeypatch.setenv("DPSEL_MEMORY", "a lot")
    made = dpsel("preprocess", tmp_path / "t.parquet", tmp_path / "none.parquet", *ask)
    assert made.code == 2
    assert "DPSEL_MEMORY must be a size such as 2GB or 500MB, got 'a lot'" in made.err
    assert not (tmp_path / "none.parquet").exists()


def test_wide_tables_go_through(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = numbers(6, 5000)
    frame.write_parquet(tmp_path / "raw.parquet")
    frame.write_csv(tmp_path / "raw.csv")
    for name in ("raw.parquet", "raw.csv"):
        made = dpsel("preprocess", tmp_path / name, tmp_path / f"{name}.arrow", "--target", "y")
        assert made.code == 0
    one, other = (pl.read_ipc(tmp_path / f"{name}.arrow") for name in ("raw.parquet", "raw.csv"))
    assert one.equals(other)


def test_a_table_without_rows_stays_one(dpsel: Dpsel, tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text("x,y\n")
    for ending in ("parquet", "csv", "arrow"):
        for options in ((), ("--scale", "robust"), ("--encode-target",)):
            output = tmp_path / f"t.{ending}"
            asked = ("--target", "y", *options, "--force")
            assert dpsel("preprocess", tmp_path / "raw.csv", output, *asked).code == 0
            asked = ("--target", "y", "--k", 1, "--epsilon", 1, *DP_SIS)
            selected = dpsel("select", output, *asked)
            assert json.loads(selected.out)["selected_features"] == ["x"]


def test_float32_halves_the_size(dpsel: Dpsel, tmp_path: Path) -> None:
    for name, options in (("a", ()), ("b", ("--float32",))):
        dpsel("preprocess", RAW, tmp_path / f"{name}.parquet", "--target", "y", *options)
    assert set(pl.read_parquet(tmp_path / "b.parquet").dtypes) == {pl.Float32}
    sizes = [(tmp_path / f"{name}.parquet").stat().st_size for name in "ab"]
    assert sizes[1] < 0.6 * sizes[0]


def test_row_groups_are_sized_for_reading_back(
    dpsel: Dpsel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpsel.preprocessing.writers._CELLS_PER_GROUP", 500)
    monkeypatch.setattr("dpsel.tables.arrow._CELLS_AT_ONCE", 50)
    numbers(200, 4).write_ipc(tmp_path / "raw.arrow")
    dpsel("preprocess", tmp_path / "raw.arrow", tmp_path / "t.parquet", "--target", "y")
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sum(rows) == 200
    assert all(100 <= count <= 112 for count in rows[:-1])


def test_a_csv_that_changed_loses_its_record(dpsel: Dpsel, tmp_path: Path) -> None:
    output = tmp_path / "t.csv"
    dpsel("preprocess", RAW, output, "--target", "y", "--bounds", BOUNDS)
    assert (tmp_path / "t.csv.dpsel.json").exists()
    with output.open("a") as file:
        file.write("0\n")
    assert guarantee(dpsel, output)["end_to_end"] is False
    lost = dpsel("preprocess", "--show", output)
    assert lost.code == 3
    assert lost.err.endswith(
        "was not written by `dpsel preprocess`, or has changed since, or has lost its record\n"
    )


@pytest.mark.parametrize("change", ["same size", "shorter"])
def test_a_csv_with_other_content_is_not_taken_for_the_one_that_was_made(
    change: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    output = tmp_path / "t.csv"
    dpsel("preprocess", RAW, output, "--target", "y", "--bounds", BOUNDS)
    assert guarantee(dpsel, output)["end_to_end"] is True
    text = output.read_text()
    changed = text[: len(text) // 10] if change == "shorter" else text.replace("1.0", "0.9", 1)
    output.write_text(changed)
    assert guarantee(dpsel, output)["end_to_end"] is False


def test_a_record_is_inherited_and_cannot_be_washed_off(dpsel: Dpsel, tmp_path: Path) -> None:
    for ending in ("parquet", "csv", "arrow"):
        first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
        asked = ("--target", "y", "--force")
        dpsel("preprocess", RAW, first, *asked, "--scale", "robust")
        for clean in (("--center", "none", "--scale", "none"), ("--bounds", BOUNDS)):
            dpsel("preprocess", first, second, *asked, *clean)
            found = guarantee(dpsel, second)
            assert found["end_to_end"] is False
            assert "each column's spread" in found["why"]


def test_the_record_of_a_csv_is_found_through_a_symbolic_link(dpsel: Dpsel, tmp_path: Path) -> None:
    """As workflow managers pass files on: a link to the table, and none to its record."""
    made, folder = tmp_path / "t.csv", tmp_path / "parts"
    folder.mkdir()
    link, again = folder / "linked.csv", tmp_path / "again.csv"
    link.symlink_to(made)
    again.symlink_to(link)
    bounded = ("--lower", -1, "--upper", 1)
    dpsel("preprocess", RAW, made, "--target", "y", "--scale", "robust")
    for place in (link, again, folder):
        for options in (bounded, ("--score", "kendall")):
            assert guarantee(dpsel, place, *options)["end_to_end"] is False
    # A record beside the link may be older: it cannot give back what the table's own takes away.
    public = tmp_path / "public.csv"
    dpsel("preprocess", RAW, public, "--target", "y", "--bounds", BOUNDS)
    Path(f"{public}.dpsel.json").rename(f"{link}.dpsel.json")
    assert guarantee(dpsel, link, *bounded)["end_to_end"] is False
    link.unlink()
    link.symlink_to(public)
    assert guarantee(dpsel, link)["end_to_end"] is True


def test_one_file_that_was_read_off_takes_the_guarantee_of_all_away(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    dpsel("preprocess", RAW, folder / "b.parquet", "--target", "y")
    pl.read_csv(RAW).write_parquet(folder / "a.parquet")
    for options in (("--score", "kendall"), ("--lower", -1, "--upper", 1)):
        assert guarantee(dpsel, folder, *options)["end_to_end"] is False
    (folder / "b.parquet").unlink()
    pl.read_csv(RAW).write_parquet(folder / "c.parquet")
    assert guarantee(dpsel, folder, "--score", "kendall")["end_to_end"] is True


def assert_unrecorded(dpsel: Dpsel, table: Path) -> None:
    """Check that a table counts as one without bounds and without a record."""
    result = dpsel("select", table, "--target", "y", "--k", 2, "--epsilon", 1, *DP_SIS)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: the score dot needs public bounds: give --bounds FILE")


def test_a_record_of_other_columns_or_of_another_shape_does_not_count(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    output = tmp_path / "t.parquet"
    dpsel("preprocess", RAW, output, "--target", "y", "--bounds", BOUNDS)
    table = pq.read_table(output)
    pq.write_table(table.append_column("id", table.column(0)), tmp_path / "more.parquet")
    assert_unrecorded(dpsel, tmp_path / "more.parquet")
    made = tmp_path / "t.csv"
    dpsel("preprocess", RAW, made, "--target", "y", "--bounds", BOUNDS)
    beside = tmp_path / "t.csv.dpsel.json"
    record = json.loads(beside.read_text())
    forged: list[Any] = [
        {**record, "data_dependent": 0, "read_off_the_data": ["each mean"]},
        {**record, "data_dependent": False, "read_off_the_data": ["each mean"]},
        {**record, "data_dependent": True, "read_off_the_data": [1]},
        {**record, "version": "\ud800"},
        {**record, "sha256_of_the_table": 5},
        {**record, "schema": "dpsel.provenance/9"},
        [record],
    ]
    for text in (*map(json.dumps, forged), "[" * 200_000, "nonsense"):
        beside.write_text(text)
        assert_unrecorded(dpsel, made)
        assert dpsel("preprocess", "--show", made).code == 3


def test_labels_are_public_only_if_nothing_is_read_off_them(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = pl.read_parquet(BOUNDED).with_columns(y=pl.Series(["a", "b", "b", "b"] * 250))
    frame.write_parquet(tmp_path / "raw.parquet")
    output = tmp_path / "t.parquet"
    plain = ("--center", "none", "--scale", "none")
    for options, first, end_to_end in (
        ((*plain, "--classes", "a,b"), -1.0, True),
        ((*plain, "--positive", "a"), 1.0, True),
        ((*plain, "--encode-target"), -1.0, False),
        (("--center", "none", "--classes", "a,b"), -1.0, False),
    ):
        asked = ("--target", "y", "--force", *options)
        assert dpsel("preprocess", tmp_path / "raw.parquet", output, *asked).code == 0
        assert pl.read_parquet(output)["y"][0] == first
        assert guarantee(dpsel, output)["end_to_end"] is end_to_end


def test_a_label_is_the_same_however_it_is_written(dpsel: Dpsel, tmp_path: Path) -> None:
    tables = {
        "text.csv": "x,y\n1,1.0\n2, 2 \n3,+1\n4,NaN\n5,\n",
        "truth.csv": "x,y\n1,True\n2,false\n3,TRUE\n4,nan\n5,\n",
    }
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
    pl.DataFrame({"x": [1, 2, 3, 4, 5], "y": [1.0, 2.0, 1.0, np.nan, None]}).write_parquet(
        tmp_path / "numbers.parquet"
    )
    pl.DataFrame({"x": [1, 2, 3, 4, 5], "y": [True, False, True, None, None]}).write_parquet(
        tmp_path / "truth.parquet"
    )
    (tmp_path / "b.toml").write_text("[default]\nlower = 0\nupper = 5\n")
    for name, classes in (
        ("text.csv", "2.0,1"),
        ("numbers.parquet", "2,1.00"),
        ("truth.csv", "False,True"),
        ("truth.parquet", "false,TRUE"),
    ):
        asked = ("--target", "y", "--bounds", tmp_path / "b.toml", "--force")
        output = tmp_path / "t.parquet"
        for options in (("--classes", classes), ("--positive", classes.split(",")[1])):
            assert dpsel("preprocess", tmp_path / name, output, *asked, *options).code == 0
            assert pl.read_parquet(output)["y"].to_list() == [1.0, -1.0, 1.0, 0.0, 0.0]
        unseen = dpsel("preprocess", tmp_path / name, output, *asked, "--classes", "x,z")
        assert unseen.err.endswith(
            "note: no row has the label 'x' in 'y'\n"
            "note: no row has the label 'z' in 'y'\n"
            "note: the target 'y' is the same in all rows that have a label\n"
            "note: 100.0% of the rows have no label in 'y', or one that was not asked for\n"
        )


def notes(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("note: ")]


def test_labels_that_no_row_has_are_named_to_the_holder(dpsel: Dpsel, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,ill\n2,well\n3,ill\n4,well\n")
    (tmp_path / "b.toml").write_text("[default]\nlower = 0\nupper = 5\n")
    files = (tmp_path / "t.csv", tmp_path / "o.parquet", "--bounds", tmp_path / "b.toml")
    ask = (*files, "--target", "y", "--force")
    assert notes(dpsel("preprocess", *ask, "--positive", "ill").err) == []
    assert notes(dpsel("preprocess", *ask, "--classes", "ill,well").err) == []
    assert notes(dpsel("preprocess", *ask, "--positive", "il").err) == [
        "note: no row has the label 'il' in 'y'",
        "note: the target 'y' is the same in all rows that have a label",
    ]
    assert notes(dpsel("preprocess", *ask, "--classes", "ill,unwell").err) == [
        "note: no row has the label 'unwell' in 'y'",
        "note: the target 'y' is the same in all rows that have a label",
        "note: 50.0% of the rows have no label in 'y', or one that was not asked for",
    ]
    quiet = dpsel("preprocess", *ask, "--positive", "il", "--quiet")
    assert (quiet.code, quiet.err) == (0, "")


@pytest.mark.parametrize("values", ["ill", "1"])
def test_samples_that_a_file_of_labels_lacks_are_told(
    values: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("gene,s1,s2,s3,s4\na,1,2,3,4\n")
    ask = (tmp_path / "t.csv", tmp_path / "o.parquet", "--target", "y", "--features-in", "rows")
    coded = ("--positive", "ill") if values == "ill" else ()
    labels = ("--labels", tmp_path / "labels.csv", *coded, "--force", "--center", "none")
    (tmp_path / "labels.csv").write_text(f"s1,{values}\ns2,0\ns3,{values}\ns4,0\n")
    found = notes(dpsel("preprocess", *ask, *labels).err)
    assert not any("no label" in note for note in found)
    (tmp_path / "labels.csv").write_text(f"s1,{values}\ns2,0\ns3,{values}\n")
    result = dpsel("preprocess", *ask, *labels)
    assert result.code == 0
    (note,) = [note for note in notes(result.err) if "no label" in note]
    assert note.startswith("note: 25.0% of the rows have no label in '")
    assert note.endswith("labels.csv'")
    assert "s4" not in result.err


def test_nothing_but_the_output_and_its_record_is_written(dpsel: Dpsel, tmp_path: Path) -> None:
    raw = tmp_path / "z.csv.dpsel.json"
    raw.write_text("x,y\n1,1\n2,3\n")
    asked = ("--input-format", "csv", "--target", "y")
    for force in ((), ("--force",)):
        refused = dpsel("preprocess", raw, tmp_path / "z.csv", *asked, *force)
        assert refused.code == 5
        assert raw.read_text() == "x,y\n1,1\n2,3\n"
    assert sorted(tmp_path.iterdir()) == [raw]
    (tmp_path / "q.csv.dpsel.json").mkdir()
    assert dpsel("preprocess", raw, tmp_path / "q.csv", *asked).code == 5
    assert not (tmp_path / "q.csv").exists()
    assert dpsel("preprocess", raw, "/dev/null", *asked, "--format", "csv").code == 0
    assert not Path("/dev/null.dpsel.json").exists()
    bounds = tmp_path / "b.csv"
    bounds.write_text("[default]\nlower = 0\nupper = 1\n")
    same = dpsel("preprocess", raw, bounds, *asked, "--bounds", bounds, "--force")
    assert same.code == 5
    long = tmp_path / ("日" * 80 + ".parquet")
    assert dpsel("preprocess", raw, long, *asked).code == 0


def test_labels_of_feature_rows_do_not_shift(dpsel: Dpsel, tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("g,s1,s2,s3\nf1,1,2,3\nf2,4,5,7\n")
    output = tmp_path / "o.parquet"
    asked = ("--features-in", "rows", "--labels", tmp_path / "l.txt", "--target", "y", "--force")
    (tmp_path / "l.txt").write_text("label\nA\n\nB\n")
    assert dpsel("preprocess", tmp_path / "g.csv", output, *asked, "--encode-target").code == 0
    assert pl.read_parquet(output)["y"].to_list() == [-1.0, 0.0, 1.0]
    (tmp_path / "l.txt").write_text("A\nB\nB\nA\nA\n")
    refused = dpsel("preprocess", tmp_path / "g.csv", output, *asked, "--encode-target")
    assert refused.code == 3
    (tmp_path / "l.txt").write_text("1.5\n2.5\n3.5\n")
    assert dpsel("preprocess", tmp_path / "g.csv", output, *asked).code == 0
    assert pl.read_parquet(output)["y"].to_list() == [-1.0, 0.0, 1.0]
    missing = ("--labels", tmp_path / "nosuch.csv", *asked[:2], *asked[4:])
    assert dpsel("preprocess", tmp_path / "g.csv", output, *missing).code == 3
    both = ("--labels", "-", *asked[:2], *asked[4:], "--input-format", "csv")
    result = dpsel("preprocess", "-", output, *both)
    assert (result.code, result.err) == (2, "error: INPUT and --labels cannot both be stdin\n")


def test_a_label_that_is_no_text_is_refused(dpsel: Dpsel, tmp_path: Path) -> None:
    for options in (("--positive", "\udcff"), ("--classes", "\udcff,a")):
        result = dpsel("preprocess", RAW, tmp_path / "t.csv", "--target", "y", *options)
        assert (result.code, result.err) == (
            2,
            "error: a label of the target is not text in UTF-8\n",
        )
    picked = ("--target", "y", "--k", 1, "--epsilon", 1, "--positive", "\udcff")
    assert dpsel("select", RAW, *picked).code == 2


def test_show_takes_a_format(dpsel: Dpsel, tmp_path: Path) -> None:
    output = tmp_path / "table"
    dpsel("preprocess", RAW, output, "--target", "y", "--format", "parquet")
    assert dpsel("preprocess", "--show", output, "--input-format", "parquet").code == 0


def test_the_holder_sees_what_changed_and_no_number_of_rows(dpsel: Dpsel, tmp_path: Path) -> None:
    made = dpsel("preprocess", RAW, tmp_path / "t.parquet", "--target", "y", "--scale", "robust")
    assert made.err == (
        "features: 40\n"
        "method: median, robust, clipped at 0.75\n"
        "medians: exact\n"
        "missing cells: 0.0%\n"
        "clipped cells: 45.3%\n"
        "note: each column's median, each column's spread: read off the data, so the guarantee of "
        "`dpsel select` will cover the selection only\n"
    )
    assert dpsel("preprocess", RAW, tmp_path / "u.parquet", "--target", "y", "--quiet").err == ""


@pytest.mark.parametrize("table_format", ["parquet", "csv", "arrow"])
def test_tables_stream_through_pipes(table_format: str, dpsel_process: Dpsel) -> None:
    command = [sys.executable, "-m", "dpsel"]
    options = ["--input-format", "csv", "--target", "y", "--bounds", str(BOUNDS), "--quiet"]
    made = subprocess.run(
        [*command, "preprocess", "-", "-", *options, "--format", table_format],
        input=RAW.read_bytes(),
        capture_output=True,
        cwd=ROOT,
    )
    assert (made.returncode, made.stderr) == (0, b"")
    asked = ("--input-format", table_format, "--target", "y", "--k", 8, "--epsilon", 20)
    result = dpsel_process("select", "-", *asked, *DP_SIS, input=made.stdout)
    if table_format == "csv":
        # Text carries no record of how it was made.
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith("error: the score dot needs public bounds")
        bounds = ("--lower", -1, "--upper", 1)
        result = dpsel_process("select", "-", *asked, *DP_SIS, *bounds, input=made.stdout)
    assert (result.code, result.err) == (0, "")
    record = json.loads(result.out)
    assert record["selected_indices"] == [1, 3, 7, 8, 13, 15, 30, 33]
    assert record["guarantee"]["end_to_end"] is True
    made_before = "with public inputs only" in record["guarantee"]["why"]
    assert made_before is (table_format != "csv")


ERRORS = [
    (2, "give INPUT, OUTPUT and --target, or --show FILE", ("t.csv",)),
    (
        2,
        "out.xyz: cannot tell the format to write; end it with .parquet, .csv or .arrow, or say "
        "which with --format parquet|csv|arrow",
        ("t.csv", "out.xyz", "--target", "y"),
    ),
    (
        2,
        "--bounds says where the centre is; leave out --center and --scale",
        ("t.csv", "out.csv", "--target", "y", "--bounds", "b.toml", "--scale", "none"),
    ),
    (
        2,
        "give either --positive or --encode-target, not both",
        ("t.csv", "out.csv", "--target", "y", "--positive", "a", "--encode-target"),
    ),
    (
        2,
        "clip must be a positive, finite number, got 0",
        ("t.csv", "out.csv", "--target", "y", "--clip", "0"),
    ),
    (
        2,
        "classes must be different labels with commas between them",
        ("t.csv", "out.csv", "--target", "y", "--classes", "a,b,a"),
    ),
    (
        2,
        "--labels goes with --features-in rows",
        ("t.csv", "out.csv", "--target", "y", "--labels", "l.csv"),
    ),
    (
        2,
        "--label-key is for GEO series matrices, and this is none",
        ("t.csv", "out.csv", "--target", "y", "--label-key", "k"),
    ),
    (3, "nope.csv: no such file", ("nope.csv", "out.csv", "--target", "y")),
    (
        3,
        "text.csv: the target 'y' holds text; name one of its labels with --positive LABEL, or "
        "all of them (`dpsel select` and `dpsel preprocess`: with --classes A,B,C; `dpsel "
        "evaluate`: --encode-target), or give a numeric column",
        ("text.csv", "out.csv", "--target", "y"),
    ),
    (
        3,
        "many.csv: the target 'y' has more than 1000 labels; leave out --encode-target, or name "
        "them with --classes",
        ("many.csv", "out.csv", "--target", "y", "--encode-target"),
    ),
    (
        5,
        "t.csv: is the table itself; name another file",
        ("t.csv", "t.csv", "--target", "y", "--force"),
    ),
    (
        5,
        "taken.csv: exists already; replace it with --force",
        ("t.csv", "taken.csv", "--target", "y"),
    ),
    (
        5,
        "no/out.csv: cannot be written: no such file or directory",
        ("t.csv", "no/out.csv", "--target", "y"),
    ),
    (
        5,
        "/dev/full: cannot be written: no space left on device",
        ("t.csv", "/dev/full", "--format", "parquet", "--target", "y"),
    ),
    (
        5,
        "/dev/full: cannot be written: no space left on device",
        ("t.csv", "/dev/full", "--format", "csv", "--target", "y"),
    ),
]


@pytest.mark.parametrize(("code", "message", "arguments"), ERRORS)
def test_bad_input_ends_with_one_clear_line(
    code: int,
    message: str,
    arguments: tuple[str, ...],
    dpsel: Dpsel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,y\n1,1\n2,3\n")
    Path("text.csv").write_text("x,y\n1,ill\n2,well\n")
    Path("many.csv").write_text("x,y\n" + "".join(f"1,l{i}\n" for i in range(1001)))
    Path("taken.csv").write_text("old")
    Path("b.toml").write_text("[default]\nlower = 0\nupper = 1\n")
    before = sorted(tmp_path.iterdir())
    result = dpsel("preprocess", *arguments)
    assert (result.code, result.out) == (code, "")
    assert result.err.splitlines()[0] == f"error: {message}"
    assert len(result.err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before
    assert Path("taken.csv").read_text() == "old"


def write_feature_rows(frame: pl.DataFrame, table: Path, labels: Path, separator: str) -> None:
    """Write a table with one feature a row, and its labels beside it."""
    samples = [f"s{i}" for i in range(frame.height)]
    turned = frame.drop("y").transpose(
        include_header=True, header_name="gene", column_names=samples
    )
    turned.write_csv(table, separator=separator)
    pl.DataFrame({"sample": samples, "label": frame["y"]}).reverse().write_csv(labels)


def assert_same_file(one: Path, other: Path) -> None:
    first, second = pl.read_parquet(one), pl.read_parquet(other)
    assert first.columns == second.columns
    assert first.equals(second)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_turned_table_gives_the_same_content(ending: str, dpsel: Dpsel, tmp_path: Path) -> None:
    frame = numbers(30, 700).with_columns(y=pl.Series(["b", "a", "c"] * 10))
    frame.write_parquet(tmp_path / "raw.parquet")
    separator = "," if ending == "csv" else "\t"
    write_feature_rows(frame, tmp_path / f"g.{ending}", tmp_path / "labels.csv", separator)
    asked = ("--target", "y", "--encode-target", "--quiet")
    for options in ((), ("--scale", "robust"), ("--missing", "mean")):
        straight = (tmp_path / "raw.parquet", tmp_path / "a.parquet", *asked, *options, "--force")
        assert dpsel("preprocess", *straight).code == 0
        turned = (tmp_path / f"g.{ending}", tmp_path / "b.parquet", *asked, *options, "--force")
        rows = ("--features-in", "rows", "--labels", tmp_path / "labels.csv")
        result = dpsel("preprocess", *turned, *rows)
        assert (result.code, result.err) == (0, "")
        assert_same_file(tmp_path / "a.parquet", tmp_path / "b.parquet")


@needs_shared_data
def test_a_real_table_turned_gives_the_same_content(dpsel: Dpsel, tmp_path: Path) -> None:
    path = SHARED / "golub.parquet"
    write_feature_rows(pl.read_parquet(path), tmp_path / "g.csv", tmp_path / "labels.csv", ",")
    asked = ("--target", "y", "--encode-target", "--quiet")
    assert dpsel("preprocess", path, tmp_path / "a.parquet", *asked).code == 0
    rows = ("--features-in", "rows", "--labels", tmp_path / "labels.csv")
    assert dpsel("preprocess", tmp_path / "g.csv", tmp_path / "b.parquet", *asked, *rows).code == 0
    # 32-bit numbers come back from text as the nearest 64-bit ones, so to 1e-6 only.
    one, other = matrix(tmp_path / "a.parquet"), matrix(tmp_path / "b.parquet")
    assert np.abs(one - other).max() < 1e-6


def test_a_geo_series_matrix_is_read_as_it_is(dpsel: Dpsel, tmp_path: Path) -> None:
    text = [
        '!Series_title\t"A study"',
        '!Sample_geo_accession\t"GSM1"\t"GSM2"\t"GSM3"',
        '!Sample_characteristics_ch1\t"tissue: lung"\t"tissue: lung"\t"tissue: lung"',
        '!Sample_characteristics_ch1\t"state: ill"\t"state: well"\t"state: ill"',
        "!series_matrix_table_begin",
        '"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"',
        '"1007_s_at"\t3\t1\t2',
        '"117_at"\t5\t\t7',
        "!series_matrix_table_end",
    ]
    path = tmp_path / "GSE1_series_matrix.txt.gz"
    path.write_bytes(gzip.compress("\n".join(text).encode() + b"\n"))
    output = tmp_path / "t.parquet"
    asked = ("--target", "state", "--positive", "ill", "--label-key", "state", "--quiet")
    assert dpsel("preprocess", path, output, *asked).code == 0
    frame = pl.read_parquet(output)
    assert frame.columns == ["1007_s_at", "117_at", "state"]
    assert frame["1007_s_at"].to_list() == [1.0, -1.0, 0.0]
    assert frame["117_at"].to_list() == [-1.0, 0.0, 1.0]
    assert frame["state"].to_list() == pytest.approx([0.5, -1.0, 0.5])
    refused = dpsel("preprocess", path, output, *asked[:4], "--force")
    assert refused.code == 3
    assert "tissue" in refused.err
    assert "ill" not in refused.err.replace("--positive", "")
    piped = dpsel("preprocess", output, tmp_path / "u.parquet", *asked)
    assert piped.err == "error: --label-key is for GEO series matrices, and this is none\n"


@pytest.mark.parametrize(
    ("labels", "options", "told"),
    [
        ("abc", ("--encode-target",), True),
        ("abc", ("--classes", "a,b,c"), True),
        ("aba", ("--encode-target",), False),
        ("abc", ("--positive", "a"), False),
    ],
)
def test_codes_of_three_classes_are_said_to_have_an_order(
    labels: str, options: tuple[str, ...], told: bool, tmp_path: Path, dpsel: Dpsel
) -> None:
    rows = "".join(f"{place},{label}\n" for place, label in enumerate(labels))
    (tmp_path / "raw.csv").write_text("x,y\n" + rows)
    asked = (tmp_path / "raw.csv", tmp_path / "out.csv", "--target", "y", *options)
    done = dpsel("preprocess", *asked)
    assert done.code == 0
    note = (
        "note: the codes of 'y' have an order, 0, 1, 2, which its classes may not have; "
        "`dpsel select --classes` takes three classes or more as they are\n"
    )
    assert (note in done.err) == told


def test_a_raw_table_is_refused_with_two_ways_out(dpsel: Dpsel, tmp_path: Path) -> None:
    visits = ROOT / "sample_data" / "visits.csv"
    ask = ("--target", "came_back", "--positive", "yes")
    done = dpsel("preprocess", visits, tmp_path / "t.parquet", *ask)
    assert done.code == 3
    assert "leave them out with --exclude 'admitted,ward,sex,insurance,diagnosis," in done.err
    assert "`dpsel select` needs no preprocessing: its method stump takes any column" in done.err
