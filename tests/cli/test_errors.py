"""Bad input: one clear line, the right exit code, no output file, and no cell quoted."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Dpsel

CANARY = "HIV+canary"
ASK = (
    "--target",
    "y",
    "--k",
    "1",
    "--epsilon",
    "1",
    "--method",
    "dp-sis",
    "--lower",
    "-1",
    "--upper",
    "1",
)
# Without bounds.
BARE = ASK[:-4]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good tables and bad ones."""
    monkeypatch.chdir(tmp_path)
    good = pl.DataFrame({"age": [0.5, 1.0], "dose": [0.1, 0.2], "y": [1.0, -1.0]})
    good.write_csv("t.csv")
    good.write_parquet("t.parquet")
    good.write_ipc("t.arrow")
    texts = good.with_columns(ward=pl.Series([CANARY, "b"]))
    texts.write_csv("text.csv")
    texts.write_parquet("text.parquet")
    Path("empty.csv").write_bytes(b"")
    Path("empty.parquet").write_bytes(b"")
    Path("empty.arrow").write_bytes(b"")
    whole = Path("t.parquet").read_bytes()
    Path("short.parquet").write_bytes(whole[: len(whole) // 2])
    Path("headless.parquet").write_bytes(b"PAR1" + whole[:-4])
    Path("short.arrow").write_bytes(Path("t.arrow").read_bytes()[:200])
    Path("noise.parquet").write_bytes(CANARY.encode() * 50)
    Path("noise.arrow").write_bytes(CANARY.encode() * 50)
    Path("noise.csv").write_bytes(bytes(range(256)) * 4)
    Path("noise.dat").write_bytes(b"?")
    Path("nothing").mkdir()
    twice = pa.table([pa.array([1.0]), pa.array([2.0]), pa.array([1.0])], names=["x", "x", "y"])
    pq.write_table(twice, "twice.parquet")
    with pa.OSFile("twice.arrow", "wb") as file, pa.ipc.new_file(file, twice.schema) as writer:
        writer.write(twice)
    Path("twice.csv").write_text("x,x,y\n1,2,1\n")
    Path("b.toml").write_text("[columns.agee]\nlower=0\nupper=1\n[default]\nlower=0\nupper=1")
    Path("bad.toml").write_text("[default]\nlower=2\nupper=1")
    Path("taken.json").write_text("old")
    Path("deep.json").write_text("[" * 100_000)
    Path("long.toml").write_text(f"[default]\nlower={'1' * 5000}\nupper=1")
    Path("link.json").symlink_to("leads-nowhere")
    Path("glob").mkdir()
    good.write_csv("glob/a.csv")
    good.write_csv("glob/b.csv")
    pl.DataFrame({"x": [1.0], "y": [b"\xff"]}).write_parquet("bytes.parquet")
    pl.DataFrame({"x": [1.0], "y": [1.0], "who": [[1]]}).write_parquet("lists.parquet")
    Path("cr.csv").write_bytes(b"x,y\r1,1\r")
    Path("open.csv").write_text('x,note,y\n1,"pipe,1\n1,a,1\n')
    Path("inch.csv").write_text('x,note,y\n1,5" pipe,1\n1,a,1\n1,5" pipe,1\n')
    Path("head.csv").write_text('x,5" note,y\n1,2,1\n')
    return tmp_path


DAMAGED = "cannot be read as {}; it is damaged, cut short or in another format"
PARQUET, ARROW = DAMAGED.format("a Parquet table"), DAMAGED.format("an Arrow table")

CASES: list[tuple[int, str, tuple[str, ...]]] = [
    (3, "nope.csv: no such file", ("nope.csv", *ASK)),
    (3, "*.nope: no file matches this pattern", ("*.nope", *ASK)),
    (3, "nothing: this folder holds no Parquet file, and no CSV", ("nothing", *ASK)),
    (3, "empty.csv: is empty; a first line with column names is needed", ("empty.csv", *ASK)),
    (3, f"empty.parquet: {PARQUET}", ("empty.parquet", *ASK)),
    (3, f"empty.arrow: {ARROW}", ("empty.arrow", *ASK)),
    (3, f"short.parquet: {PARQUET}", ("short.parquet", *ASK)),
    (3, f"headless.parquet: {PARQUET}", ("headless.parquet", *ASK)),
    (3, f"noise.parquet: {PARQUET}", ("noise.parquet", *ASK)),
    (3, f"short.arrow: {ARROW}", ("short.arrow", *ASK)),
    (3, f"noise.arrow: {ARROW}", ("noise.arrow", *ASK)),
    (3, f"t.csv: {PARQUET}", ("t.csv", *ASK, "--input-format", "parquet")),
    (
        3,
        "noise.csv: its first line is not text in UTF-8; convert it, for instance with iconv -f "
        "WINDOWS-1252 -t UTF-8",
        ("noise.csv", *ASK),
    ),
    (
        3,
        "noise.dat: cannot tell its format; say which with --input-format parquet|csv|tsv|arrow",
        ("noise.dat", *ASK),
    ),
    (3, "stdin: say which format it has with --input-format parquet|csv|tsv|arrow", ("-", *ASK)),
    (
        3,
        "twice.csv: columns 1 and 2 have the same name; rename one",
        ("twice.csv", *ASK),
    ),
    (
        3,
        "twice.parquet: columns 1 and 2 have the same name; rename one",
        ("twice.parquet", *ASK),
    ),
    (
        3,
        "twice.arrow: columns 1 and 2 have the same name; rename one",
        ("twice.arrow", *ASK),
    ),
    (
        3,
        "text.parquet: column 'ward' holds text, not numbers; leave it out with "
        "--exclude 'ward', or pick columns with --features; `dpsel select` needs no preprocessing: "
        "its method stump takes any column",
        ("text.parquet", *ASK),
    ),
    (
        3,
        "text.parquet: the target 'ward' holds text; name one of its labels with "
        "--positive LABEL, or all of them (`dpsel select` and `dpsel preprocess`: with --classes "
        "A,B,C; `dpsel evaluate`: --encode-target), or give a numeric column",
        ("text.parquet", "--target", "ward", *ASK[2:]),
    ),
    (3, "t.csv: no feature column is left besides the target", ("t.csv", *ASK, "--exclude", "*")),
    (
        2,
        "--target: t.csv has no column 'Y'; did you mean 'y'?",
        ("t.csv", "--target", "Y", *ASK[2:]),
    ),
    (
        2,
        "--features: t.csv has no column 'agee'; did you mean 'age'?",
        ("t.csv", *ASK, "--features", "agee"),
    ),
    (
        2,
        "k must be between 1 and 2, the number of features, got 3",
        ("t.csv", "--target", "y", "--k", "3", "--epsilon", "1"),
    ),
    (2, "k must be 1 or more, got 0", ("t.csv", "--target", "y", "--k", "0", "--epsilon", "1")),
    *(
        (
            2,
            f"epsilon must be a positive, finite number, got {epsilon}",
            ("t.csv", "--target", "y", "--k", "1", "--epsilon", epsilon),
        )
        for epsilon in ("0", "-1", "nan", "inf")
    ),
    (2, "gamma must be between 0 and 1, got 1.5", ("t.csv", *ASK, "--gamma", "1.5")),
    (2, "--lower and --upper go together", ("t.csv", *BARE, "--lower", "0")),
    (
        2,
        "lower must be below upper in bounds, got 1 and 0",
        ("t.csv", *BARE, "--lower", "1", "--upper", "0"),
    ),
    (
        2,
        "give either --bounds or --lower and --upper, not both",
        ("t.csv", *BARE, "--lower", "1", "--bounds", "b.toml"),
    ),
    (
        3,
        "bad.toml: [default]: lower must be below upper in bounds, got 2 and 1",
        ("t.csv", *BARE, "--bounds", "bad.toml"),
    ),
    (
        3,
        "b.toml: the table has no column 'agee'; did you mean 'age'?",
        ("t.csv", *BARE, "--bounds", "b.toml"),
    ),
    (3, "nope.toml: no such file", ("t.csv", *BARE, "--bounds", "nope.toml")),
    (
        2,
        "--rows-per-person needs --person COLUMN, to know whose row it is",
        ("t.csv", *ASK, "--rows-per-person", "2"),
    ),
    (
        2,
        "rows-per-person must be 1 or more, got 0",
        ("t.csv", *ASK, "--person", "age", "--rows-per-person", "0"),
    ),
    (
        2,
        "score must be one of stump, dot, covariance, kendall, got cosine",
        ("t.csv", *ASK, "--score", "cosine"),
    ),
    (
        2,
        "mechanism must be one of canonical-lipschitz, margin-lipschitz, peeling, "
        "permute-and-flip, oneshot-laplace, joint, got magic",
        ("t.csv", *ASK, "--mechanism", "magic"),
    ),
    (
        2,
        "--gamma does not apply to the mechanism joint",
        ("t.csv", *ASK, "--mechanism", "joint", "--gamma", "0.5"),
    ),
    (
        2,
        "delta must be 0 or more and below 1, got 1",
        ("t.csv", *ASK, "--mechanism", "peeling", "--delta", "1"),
    ),
    (
        2,
        "the score kendall needs no bounds; leave them out",
        ("t.csv", *BARE, "--score", "kendall", "--lower", "0", "--upper", "1"),
    ),
    (2, "seed must be 0 or more, got -1", ("t.csv", *ASK, "--seed", "-1")),
    (2, "threads must be 1 or more, got 0", ("t.csv", *ASK, "--threads", "0")),
    *(
        (
            2,
            "separator must be a single ASCII character other than a quote or a line end",
            ("t.csv", *ASK, "--separator", separator),
        )
        for separator in ("::", "", '"', "\n", "\r", "\udcff", "ä")
    ),
    (3, "TABLE: the name of the file is empty", ("", *ASK)),
    (3, "--bounds: the name of the file is empty", ("t.csv", *BARE, "--bounds", "")),
    (5, "--output: the name of the file is empty", ("t.csv", *ASK, "--output", "")),
    (3, "deep.json: cannot be read as JSON", ("t.csv", *BARE, "--bounds", "deep.json")),
    (3, "long.toml: cannot be read as TOML", ("t.csv", *BARE, "--bounds", "long.toml")),
    (
        2,
        "rows-per-person must be at most 2147483647, got 99999999999999999999",
        ("t.csv", *ASK, "--person", "age", "--rows-per-person", "99999999999999999999"),
    ),
    (
        3,
        "bytes.parquet: the target 'y' holds binary values; give a column of numbers or labels",
        ("bytes.parquet", *ASK, "--positive", "a"),
    ),
    (
        3,
        "lists.parquet: --person: 'who' holds nested values",
        ("lists.parquet", *ASK, "--person", "who"),
    ),
    (
        5,
        "link.json: exists already; replace it with --force",
        ("t.csv", *ASK, "--output", "link.json"),
    ),
    (
        5,
        "glob/b.csv: is the table itself; name another file",
        ("glob/*.csv", *ASK, "--output", "glob/b.csv", "--force"),
    ),
    (
        3,
        "cr.csv: its first line cannot be split into names; end lines with \\n",
        ("cr.csv", *ASK),
    ),
    *(
        (
            3,
            f"{name}: a quote is not closed, or not doubled inside a cell, so it is not certain "
            'where rows end; write such cells as "5"" pipe"',
            (name, *ASK, "--exclude", "note"),
        )
        for name in ("open.csv", "inch.csv", "head.csv")
    ),
    (
        5,
        "taken.json: exists already; replace it with --force",
        ("t.csv", *ASK, "--output", "taken.json"),
    ),
    (5, "nothing: is a folder; name a file", ("t.csv", *ASK, "--output", "nothing")),
    (
        5,
        "no/where.json: cannot be written: no such file or directory",
        ("t.csv", *ASK, "--output", "no/where.json"),
    ),
    (
        5,
        "t.csv: is the table itself; name another file",
        ("t.csv", *ASK, "--output", "t.csv", "--force"),
    ),
]


@pytest.mark.parametrize(("code", "message", "arguments"), CASES)
def test_bad_input_ends_with_one_clear_line(
    code: int, message: str, arguments: tuple[str, ...], folder: Path, dpsel: Dpsel
) -> None:
    before = sorted(folder.iterdir())
    extra = () if "--output" in arguments else ("--output", "out.json")
    result = dpsel("select", *arguments, *extra)
    assert (result.code, result.out) == (code, "")
    assert result.err == f"error: {message}\n"
    assert CANARY not in result.err
    assert sorted(folder.iterdir()) == before
    assert Path("taken.json").read_text() == "old"


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("Missing TABLE, --target and --epsilon", ("select",)),
        ("Missing argument 'TABLE'", ("select", *ASK)),
        ("Missing option '--target'", ("select", "t.csv", "--k", "1", "--epsilon", "1")),
        (
            "No such option: --epsilom; did you mean --epsilon?",
            ("select", "t.csv", "--epsilom", "1"),
        ),
        ("No such option: --eps; did you mean --epsilon?", ("select", "t.csv", "--eps", "1")),
        (
            "Unexpected argument 'u.csv'; separate names with commas, and give several files as a "
            "folder or a quoted glob",
            ("select", "t.csv", "u.csv", "v.csv", *ASK),
        ),
        ("Invalid value for '--k'", ("select", "t.csv", *ASK[:2], "--k", "two", "--epsilon", "1")),
        ("Invalid value for '--sampler'", ("select", "t.csv", *ASK, "--sampler", "quick")),
        ("No such command 'selct'", ("selct",)),
    ],
)
def test_a_slip_of_the_pen_is_answered_in_two_lines(
    message: str, arguments: tuple[str, ...], folder: Path, dpsel: Dpsel
) -> None:
    result = dpsel(*arguments)
    assert (result.code, result.out) == (2, "")
    error, help_line, rest = result.err.split("\n")
    assert error.startswith(f"error: {message}")
    assert help_line == (
        "help: dpsel --help" if "selct" in arguments else "help: dpsel select --help"
    )
    assert rest == ""


def test_an_option_s_letters_are_checked(dpsel: Dpsel) -> None:
    assert "--epsilon" in dpsel("select", "t.csv", "--epsilom", "1").err


def test_no_arguments_show_the_help(dpsel: Dpsel) -> None:
    result = dpsel()
    assert (result.code, result.err) == (0, "")
    assert "Usage: dpsel" in result.out


def test_a_damaged_arrow_file_is_refused_before_it_can_end_the_process(
    folder: Path, dpsel: Dpsel
) -> None:
    table = pa.table({"who": ["a", "bb", CANARY], "x": [1.0, 2.0, 3.0], "y": [1.0, 1.0, 1.0]})
    with pa.OSFile("d.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write(table)
    whole = Path("d.arrow").read_bytes()
    offsets = b"".join(n.to_bytes(4, "little") for n in (0, 1, 3, 3 + len(CANARY)))
    assert whole.count(offsets) == 1
    wrong = b"".join(n.to_bytes(4, "little") for n in (0, 1, 1 << 30, 3 + len(CANARY)))
    Path("d.arrow").write_bytes(whole.replace(offsets, wrong))
    result = dpsel("select", "d.arrow", *ASK, "--person", "who")
    assert (result.code, result.out) == (3, "")
    assert result.err == f"error: d.arrow: {ARROW}\n"


def test_a_folder_named_like_a_table_is_looked_into(folder: Path, dpsel: Dpsel) -> None:
    (folder / "nest" / "x.parquet").mkdir(parents=True)
    nothing = "error: nest: this folder holds no Parquet file, and no CSV\n"
    assert dpsel("select", "nest", *ASK).err == nothing
    pl.DataFrame({"x": [1.0], "y": [1.0]}).write_parquet("nest/x.parquet/part.parquet")
    assert dpsel("select", "nest", *ASK).code == 0


def test_files_with_other_columns_are_not_mixed(folder: Path, dpsel: Dpsel) -> None:
    (folder / "parts").mkdir()
    pl.DataFrame({"x": [1.0], "y": [1.0]}).write_parquet("parts/a.parquet")
    pl.DataFrame({"z": [1.0], "y": [1.0]}).write_parquet("parts/b.parquet")
    result = dpsel("select", "parts", *ASK)
    assert (result.code, result.out) == (3, "")
    assert result.err == "error: b.parquet: its columns differ from those of a.parquet\n"
    pl.DataFrame({"x": ["a"], "y": [1.0]}).write_parquet("parts/b.parquet")
    result = dpsel("select", "parts", *ASK)
    assert result.err == "error: b.parquet: column 'x' holds text, but numbers in a.parquet\n"
    result = dpsel("select", "t.*", *ASK)
    assert result.err == "error: the files have different formats: arrow, csv, parquet\n"


def test_a_hostile_column_name_cannot_write_to_the_terminal(folder: Path, dpsel: Dpsel) -> None:
    Path("h.csv").write_text('"\x1b[31mred\nline",y\n1,1\n')
    result = dpsel("select", "h.csv", "--target", "\x1b[31mre", "--k", "1", "--epsilon", "1")
    assert result.code == 2
    assert "\x1b" not in result.err
    assert result.err.count("\n") == 1
    names = dpsel("select", "h.csv", *ASK, "--format", "names").out
    assert names == "\\x1b[31mred\\nline\n"


def test_a_bug_is_reported_without_its_message(
    folder: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError(f"cannot add {CANARY}")

    monkeypatch.setattr("dpsel.selection.run.SelectJob.read", broken)
    result = dpsel("select", "t.csv", *ASK, "--output", "out.json")
    assert (result.code, result.out) == (70, "")
    assert result.err.startswith("error: this is a bug in dpsel (TypeError, broken in line ")
    assert result.err.endswith("help: run it again with --debug, and report what that prints\n")
    assert CANARY not in result.err
    debug = dpsel("select", "t.csv", *ASK, "--debug")
    assert debug.code == 70
    assert "debug: " in debug.err
    assert CANARY not in debug.err
    assert not Path("out.json").exists()
