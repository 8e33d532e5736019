"""Text files as people have them, in every command that reads a table."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpsel as package
from dpsel.cluster.shards import Cluster
from tests.cli.conftest import Dpsel
from tests.cluster.test_shards import Tree, outcome
from tests.sample_tables import scored

ROWS = 120


def visits() -> pl.DataFrame:
    """Return numbers, words, dates, gaps, persons who are numbers, and targets of both kinds."""
    rng = np.random.default_rng(8)
    ill = rng.random(ROWS) < 0.4
    return pl.DataFrame(
        {
            "weight": (rng.normal(0, 0.3, ROWS) + 0.5 * ill).round(3),
            "dose": [None if gap else 1.5 * gap + 0.25 for gap in rng.random(ROWS) < 0.1],
            "ward": rng.choice(["a", "b,c", "d.e"], ROWS),
            "day": np.datetime64("2024-01-01") + rng.integers(0, 99, ROWS).astype("timedelta64[D]"),
            "who": rng.integers(0, 60, ROWS) / 4,
            "cost": rng.normal(0, 0.4, ROWS).round(2),
            "state": np.where(ill, "ill", "well"),
        }
    )


def with_commas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame of texts whose numbers have decimal commas."""
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    return frame.with_columns(
        pl.col(name).cast(pl.String).str.replace(".", ",", literal=True) for name in numeric
    )


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """One table under one name, with decimal points and with commas."""
    monkeypatch.chdir(tmp_path)
    for folder, frame, separator in (("p", visits(), ","), ("c", with_commas(visits()), ";")):
        (tmp_path / folder).mkdir()
        frame.write_csv(tmp_path / folder / "t.csv", separator=separator)
    return tmp_path / "p" / "t.csv", tmp_path / "c" / "t.csv"


LABEL = "--target state --positive ill"
NUMBERS = "--target cost --features weight,dose,who"
UNIT = "--lower -1 --upper 1"
RUNS = {
    "stump": f"select {LABEL} --k 2",
    "stump in a file": f"select {LABEL} --k 2",
    "a number to predict": "select --target cost --k 2 --exclude state",
    "persons": f"select {LABEL} --k 1 --person who",
    "a label that is a number": "select --target who --positive 1.25 --k 2",
    "kendall": f"select --method kendall {NUMBERS} --k 1",
    "dpkendall": f"select --method dpkendall {NUMBERS} --k 1",
    "row ranks": "select --row-ranks --target cost --k 1 --exclude state",
    "bounds": f"select --method dp-sis {NUMBERS} --k 1 {UNIT}",
    "baseline": f"baseline --method sis {NUMBERS} --k 1 {UNIT}",
    "evaluate": f"evaluate {NUMBERS} --k 1 {UNIT} --trials 2 --threads 1 --truth sis",
}
RAW = ("--scale", "max-abs")
SEEDED = ("--epsilon", "9", "--seed", "3", "--quiet")


@pytest.mark.parametrize("run", list(RUNS))
def test_decimal_commas_change_no_bit_of_a_result(
    run: str, both: tuple[Path, Path], dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    if run.endswith("file"):
        monkeypatch.setenv("DPSEL_MEMORY", "2KB")
    command, *options = RUNS[run].split()
    options += [] if run == "baseline" else SEEDED
    expected = dpsel(command, both[0], *options)
    found = dpsel(command, both[1], *options, "--decimal", ",")
    assert (expected.code, found.code) == (0, 0), expected.err + found.err
    assert found.out.replace("/c/", "/p/") == expected.out


def test_decimal_commas_are_preprocessed_to_the_same_bytes(
    both: tuple[Path, Path], dpsel: Dpsel
) -> None:
    written = []
    for path, more in zip(both, ((), ("--decimal", ",")), strict=True):
        output = path.with_name("out.csv")
        asked = ("--target", "cost", "--features", "weight,dose", "--person", "who", *RAW)
        result = dpsel("preprocess", path, output, *asked, *more)
        assert result.code == 0, result.err
        written.append((output.read_bytes(), result.err))
    assert written[0] == written[1]
    assert b"14.75" in written[0][0]


def test_features_in_rows_may_have_decimal_commas(tmp_path: Path, dpsel: Dpsel) -> None:
    rows = "gene;s1;s2;s3\na;0,75;-0,25;0,125\nb;1;;x\ny;0,5;1,0;0,25\n"
    (tmp_path / "c.csv").write_text(rows)
    (tmp_path / "p.csv").write_text(rows.replace(",", "."))
    written = []
    for name, more in (("p", ()), ("c", ("--decimal", ","))):
        output = tmp_path / f"{name}.out.csv"
        asked = ("--features-in", "rows", "--target", "y", "--center", "none", "--scale", "none")
        result = dpsel("preprocess", tmp_path / f"{name}.csv", output, *asked, *more)
        assert result.code == 0, result.err
        written.append(output.read_text())
    assert written[0] == written[1]
    assert written[0].splitlines()[1] == "0.75,1.0,0.5"


@pytest.mark.parametrize("sign", [",", ";", "|", "\t"])
def test_labels_may_be_separated_by_any_of_the_signs(
    sign: str, tmp_path: Path, dpsel: Dpsel
) -> None:
    (tmp_path / "g.csv").write_text("gene;s1;s2\na;0,75;-0,25\n")
    labels = [sign.join(("sample", '"dose, mg;day"')), sign.join(('"s2"', '"0,5"')), f"s1{sign}1"]
    (tmp_path / "l.csv").write_text("\n".join(labels))
    asked = ("--features-in", "rows", "--target", "y", "--labels", tmp_path / "l.csv")
    raw = ("--decimal", ",", "--center", "none", "--scale", "none")
    result = dpsel("preprocess", tmp_path / "g.csv", tmp_path / "o.csv", *asked, *raw)
    assert result.code == 0, result.err
    assert (tmp_path / "o.csv").read_text() == "a,y\n0.75,1.0\n-0.25,0.5\n"


def test_python_takes_a_decimal_sign(both: tuple[Path, Path]) -> None:
    asked: dict[str, Any] = {"target": "cost", "k": 1, "epsilon": 9, "seed": 1, "exclude": "state"}
    expected = package.select(both[0], **asked)
    assert package.select(both[1], **asked, decimal=",") == expected


@pytest.mark.parametrize("person", [None, "who"])
def test_shards_of_a_cluster_read_decimal_commas(
    person: str | None, both: tuple[Path, Path]
) -> None:
    found = []
    for path, decimal in zip(both, (".", ","), strict=True):
        text = path.read_text().splitlines(keepends=True)
        for part, (start, end) in enumerate(((1, 50), (50, None))):
            (path.parent / f"part{part}.csv").write_text("".join([text[0], *text[start:end]]))
        features = ("weight", "dose")
        asked = {"target": "cost", "features": features, "person": person, "decimal": decimal}
        place = f"{path.parent}/part*.csv"
        tree = Tree(np.random.default_rng(0))
        found += [outcome(place, asked, Cluster(tree, 1)), outcome(place, asked, None)]
        assert tree.shards == 2
    assert found[0] == found[1] == found[2] == found[3]


FOREIGN = {
    "t.xlsx": "a spreadsheet; save the sheet as CSV",
    "t.XLS": "a spreadsheet; save the sheet as CSV",
    "t.ods": "a spreadsheet; save the sheet as CSV",
    "t.csv.zip": "an archive; unpack it",
    "t.csv.bz2": "compressed in a way that is not read; unpack it",
    "t.sas7bdat": "a table of SAS; export it as CSV",
    "t.dta": "a table of Stata; export it as CSV",
    "t.sav": "a table of SPSS; save it as CSV",
    "t.rds": "an object of R; write it there: write.csv(",
    "t.csv": "a spreadsheet or an archive (.xlsx, .ods, .zip), whatever it is called; save",
    "noname": "a spreadsheet or an archive (.xlsx, .ods, .zip), whatever it is called; save",
}


@pytest.mark.parametrize("name", list(FOREIGN))
def test_files_of_other_programs_get_an_error_that_says_what_to_do(
    name: str, tmp_path: Path, dpsel: Dpsel
) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("xl/workbook.xml", "<secret/>")
    by_select = ("select", tmp_path / name, "--k", "1", "--epsilon", "1")
    for command in (by_select, ("preprocess", tmp_path / name, tmp_path / "out.csv")):
        result = dpsel(*command, "--target", "y")
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith(f"error: {name}: is {FOREIGN[name]}")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_binary_table_with_the_name_of_a_text_gets_its_format(
    kind: str, tmp_path: Path, dpsel: Dpsel
) -> None:
    path = tmp_path / "t.csv"
    table = pl.DataFrame({"x": [1.0, 2.0], 'say "z"': ["a", "b"], "y": [0, 1]})
    table.write_parquet(path) if kind == "parquet" else table.write_ipc(path)
    asked = ("select", path, "--target", "y", "--k", 1, "--epsilon", 1)
    for given in ((), ("--input-format", "csv")):
        refused = dpsel(*asked, *given)
        assert (refused.code, refused.out) == (3, "")
        a = {"parquet": "a Parquet", "arrow": "an Arrow"}[kind]
        assert refused.err == (
            f"error: t.csv: is {a} table, whatever it is called; give --input-format {kind}\n"
        )
    assert dpsel(*asked, "--input-format", kind).code == 0


def test_columns_may_be_called_like_the_first_bytes_of_a_binary_table(
    tmp_path: Path, dpsel: Dpsel
) -> None:
    path = tmp_path / "t.csv"
    asked = ("--target", "y", "--k", 1, "--epsilon", 1)
    for name in ("PAR1", "PAR1_x", "ARROW1", "ARROW10"):
        path.write_text(f"{name},y\n1,0\n2,1\n")
        names = dpsel("select", path, *asked, "--format", "names", "--quiet")
        assert (names.code, names.out) == (0, f"{name}\n")


FOLDER = {
    "a.csv": b"\xef\xbb\xbfx;z;y;who\n1;0;1;7\n0,5;0;1;8\n",
    "b.csv.gz": gzip.compress(b"y;x;z;who\r\n1;0,25;0;7\r\n"),
    "deep/c.csv": b"x|z|y|who\n0,5|0|1|9,0\n0,125|0|1|9\n",
    "notes.txt": b"hello",
    "_old.csv": b"other",
    ".hidden/d.csv": b"other",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of text files, each with a first line, a separator and an order of its own."""
    monkeypatch.chdir(tmp_path)
    for name, content in FOLDER.items():
        (tmp_path / "parts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "parts" / name).write_bytes(content)
    return tmp_path / "parts"


def test_a_folder_of_text_files_is_one_table(folder: Path) -> None:
    asked: dict[str, Any] = {"decimal": ",", "exclude": ("who",)}
    assert scored(folder, **asked).values.tolist() == [2.375 * 2**32, 0]
    # The first row of each person in the sorted order of the files.
    asked = {"decimal": ",", "person": "who"}
    assert scored(folder, **asked).values.tolist() == [2 * 2**32, 0]
    assert scored(f"{folder}/[a-z]*.csv*", **asked).values.tolist() == [1.5 * 2**32, 0]
    assert scored(folder, **asked, score="kendall").values.shape == (2,)


def test_folders_of_text_files_may_name_columns(folder: Path) -> None:
    for site in ("A", "B"):
        (folder / f"site={site}").mkdir()
        (folder / f"site={site}" / "t.csv").write_bytes(FOLDER["a.csv"])
    (folder / "a.csv").unlink()
    (folder / "b.csv.gz").unlink()
    (folder / "deep" / "c.csv").unlink()
    asked: dict[str, Any] = {"decimal": ",", "features": ("x", "z"), "target": "site"}
    assert scored(folder, **asked, positive="A").values.tolist() == [0, 0]
    assert scored(folder, **asked, positive="A", person="who").values.tolist() == [1.5 * 2**32, 0]


def test_parquet_files_of_a_folder_come_before_texts(folder: Path) -> None:
    pl.DataFrame({"x": [1.0], "y": [1.0]}).write_parquet(folder / "t.parquet")
    assert scored(folder).values.tolist() == [2**32]


@pytest.mark.parametrize("place", ["parts", "parts/[az].csv"])
@pytest.mark.parametrize("header", [b"x;y;who", b"x;z;y;who;more", b"1;0;1;7", b"x,z,y;who"])
def test_a_file_with_other_names_is_refused_before_anything_is_charged(
    place: str, header: bytes, folder: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSEL_LEDGER_FILE", "ledgers.db")
    (folder / "z.csv").write_bytes(header + b"\n1;1;1;1\n")
    assert dpsel("budget", "init", "l", "--epsilon", "2").code == 0
    ask = ("--target", "y", "--k", "1", "--epsilon", "1", "--decimal", ",", "--ledger", "l")
    result = dpsel("select", place, *ask)
    assert (result.code, result.out) == (3, "")
    assert result.err == (
        "error: z.csv: its columns differ from those of a.csv; every file needs the same names in "
        "its first line\n"
    )
    assert json.loads(dpsel("budget", "show", "l").out)["charges"] == 0


@pytest.mark.parametrize("output", ["parts/new.csv", "parts/deep/new.csv"])
def test_nothing_is_written_into_a_folder_of_text_files(
    output: str, folder: Path, dpsel: Dpsel
) -> None:
    asked = ("--target", "y", "--decimal", ",", "--scale", "max-abs")
    result = dpsel("preprocess", "parts", output, *asked)
    assert (result.code, "would be a file of the table" in result.err) == (5, True)
    assert dpsel("preprocess", "parts", output.replace("csv", "parquet"), *asked).code == 0


LONGER = "rows have one cell more than the first line has names, as write.table of R"
METHODS = {"stump": (), "kendall": ("--method", "kendall", "--features", "*")}


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize(
    ("rows", "noted"),
    [
        (['"1",0.5,1,1', '"2",0.1,0,0', '"3",0.2,0,1'], True),
        (["0.5,1,1", "0.1,0,0", "0.2,0,1"], False),
        (["0.5,1,1,", "0.1,0,0,", "0.2,0,1,"], False),
        (["1,0.5,1,1,7,8", "2,0.1,0,0,7,8", "3,0.2,0,1,7,8"], False),
        (["1,0.5,1,1", "0.1,0,0", "0.2,0,1"], False),
        ([], False),
    ],
)
def test_a_note_is_shown_for_rows_as_r_writes_them_and_for_no_others(
    rows: list[str], noted: bool, method: str, tmp_path: Path, dpsel: Dpsel
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(['"x","z","y"', *rows, ""]))
    ask = ("--target", "y", "--k", "1", "--epsilon", "1", *METHODS[method])
    result = dpsel("select", path, *ask, "--format", "indices")
    assert (result.code, LONGER in result.err) == (0, noted)
    quiet = dpsel("select", path, *ask, "--format", "indices", "--quiet")
    assert (quiet.code, LONGER in quiet.err) == (0, False)


@pytest.mark.parametrize(
    ("text", "asked", "noted"),
    [
        ("x;z;y\n0,5;1;1\n0,1;0;0\n1,2;0;1\n", (), "'x' seems"),
        ("x;z;y\n0,5;1;1,5\n0,1;0;0,5\n1,2;0;1\n", (), "'x' (and 1 more) seems"),
        ("x;z;y\n0,5;1;1\n0,1;0;0\n1,2;0;1\n", ("--decimal", ","), None),
        ("x;z;y\n0,5;1;1\n0.1;0;0\n1.2;0;1\n", (), None),
        ("x;z;y\na,b;1;1\nc,d;0;0\n", (), None),
        ('x,z,y\n"0,5",1,1\n"0,1",0,0\n', (), None),
        ("x;z;y\n", (), None),
    ],
)
def test_a_note_names_columns_whose_decimal_commas_are_read_as_words(
    text: str, asked: tuple[str, ...], noted: str | None, tmp_path: Path, dpsel: Dpsel
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    result = dpsel("select", path, "--target", "y", "--k", "1", "--epsilon", "1", *asked)
    assert result.code == 0
    assert ("decimal comma" in result.err) == (noted is not None)
    assert noted is None or f"t.csv: column {noted} to hold numbers with a decimal" in result.err


@pytest.mark.parametrize(
    ("cells", "noted"),
    [
        (["28.11.2023", "1.2.2024", ""], True),
        (["11/28/2023", "2/1/24", "12/31/2023"], True),
        (["28-11-2023 13:05", "01-02-2024 00:00:30", "3-2-2024 1:10 PM"], True),
        (["2023-11-28", "2024-02-01", "28.11.2023"], False),
        (["1.2.3.4", "10.2/24", "11-28/2023"], False),
        (["120/80/90", "1.2.2024 or so", "see 1.2.2024"], False),
    ],
)
def test_a_note_names_columns_whose_dates_are_read_as_words(
    cells: list[str], noted: bool, tmp_path: Path, dpsel: Dpsel
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,seen,y\n" + "".join(f"{n},{cell},1\n" for n, cell in enumerate(cells)))
    asked = ("select", path, "--target", "y", "--k", "1", "--epsilon", "1")
    note = (
        "note: t.csv: column 'seen' seems to hold dates that are not written as 2024-12-31, which "
        "are read as words, without an order\n"
    )
    result = dpsel(*asked)
    assert (result.code, note in result.err) == (0, noted)
    assert ("dates" in result.err) == noted
    assert "dates" not in dpsel(*asked, "--exclude", "seen").err
    assert "dates" not in dpsel(*asked, "--quiet").err


def test_every_command_that_reads_rows_as_r_writes_them_says_so_once(
    tmp_path: Path, dpsel: Dpsel
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,z,y\n1,0.5,1,1\n2,0.1,0,0\n3,0.2,0,1\n")
    asked = ("--target", "y", "--k", "1", "--lower", "0", "--upper", "1")
    for words in (
        ("baseline", path, *asked, "--method", "sis"),
        ("evaluate", path, *asked, "--method", "dp-sis", "--epsilon", "1", "--trials", "2"),
        ("preprocess", path, tmp_path / "t.parquet", "--target", "y"),
    ):
        result = dpsel(*words)
        assert (result.code, result.err.count(LONGER)) == (0, 1), words


def test_words_under_the_wrong_names_are_not_blamed_on_the_columns(
    tmp_path: Path, dpsel: Dpsel
) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"x","z","y"\n"a",0.5,1,1\n"b",0.1,0,0\n"c",0.2,0,1\n')
    result = dpsel("preprocess", path, tmp_path / "t.parquet", "--target", "y")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(f"error: t.csv: {LONGER} writes them: ")


@pytest.mark.parametrize(
    ("header", "code", "message"),
    [
        (
            '"x" "z" "y"',
            3,
            "t.csv: the names in its first line are separated by blanks, as write.table of R "
            "writes them; give --separator ' '",
        ),
        (
            "x z y",
            2,
            "--target: t.csv has no column 'y', only as a part of a longer name; "
            "try --separator ' '",
        ),
        (
            '"x"",z,y',
            3,
            "t.csv: a quote is not closed, or not doubled inside a cell, so it is not certain "
            'where rows end; write such cells as "5"" pipe"',
        ),
    ],
)
def test_names_between_blanks_are_answered_with_the_separator(
    header: str, code: int, message: str, tmp_path: Path, dpsel: Dpsel
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n1 2 3\n")
    result = dpsel("select", path, "--target", "y", "--k", "1", "--epsilon", "1")
    assert (result.code, result.out, result.err) == (code, "", f"error: {message}\n")


def test_a_decimal_sign_is_a_point_or_a_comma(both: tuple[Path, Path], dpsel: Dpsel) -> None:
    result = dpsel("select", both[0], "--target", "cost", "--k", "1", *SEEDED, "--decimal", ";")
    assert (result.code, result.out) == (2, "")
    assert "decimal must be '.' or ',', got ';'" in result.err


def test_a_run_id_stands_for_its_decimal_sign(
    both: tuple[Path, Path], dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSEL_LEDGER_FILE", "ledgers.db")
    assert dpsel("budget", "init", "l", "--epsilon", "20").code == 0
    ask = ("--target", "state", "--positive", "ill", "--k", "1", "--epsilon", "1", "--quiet")
    paid = ("--ledger", "l", "--run-id", "r")
    first = dpsel("select", both[1], *ask, *paid, "--decimal", ",")
    again = dpsel("select", both[1], *ask, *paid, "--decimal", ",")
    other = dpsel("select", both[1], *ask, *paid)
    assert first.code == 0, first.err
    assert json.loads(first.out) == json.loads(again.out)
    assert (other.code, "decimal" in other.err) == (2, True), other.err
