"""The Python functions: the same options as the commands, in the words of Python."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from traceback import format_exception
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpsel
from dpsel.auditing.api import run_in_process
from dpsel.cli.app import COMMANDS, commands_within
from dpsel.options import KEY, Dataclass
from dpsel.python import in_python, record_of
from dpsel.selection.options import BaselinePrivacy, Blocks, ColumnChoice, Privacy, Scoring
from dpsel.tables.formats import Reading

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dpsel"
VISITS = ROOT / "sample_data" / "visits.csv"
ASK: dict[str, Any] = {"target": "came_back", "positive": "yes", "k": 2, "epsilon": 1}

TERMINAL = {"quiet", "no_progress", "debug", "config"}
RETURNED = "it is returned"
# What a command has and its function has not, and why: all of it is about printing and writing.
ONLY_AT_THE_TERMINAL: dict[str, dict[str, str]] = {
    "select": {
        "dry_run": "a function has nowhere to print a quote; `Ledger.show` says what is left",
        "output": RETURNED,
        "output_format": RETURNED,
        "force": "nothing is written",
    },
    "baseline": {
        "dry_run": "as for select",
        "output": RETURNED,
        "output_format": RETURNED,
        "force": "nothing is written",
    },
    "preprocess": {"show": "`dpsel.provenance`"},
    "audit": {"output": RETURNED, "force": "nothing is written"},
    "plan": {
        "output": RETURNED,
        "plan_format": "`Plan.to_dict`, `Plan.to_text`",
        "report": "`Plan.to_html`",
        "force": "nothing is written",
    },
    "card": {"output": RETURNED, "force": "nothing is written"},
    "budget show": {"report_format": "`Standing.to_dict`, `repr`"},
    "budget log": {"report_format": "`History.to_dict`"},
    "budget export": {"export_format": "plain values are returned"},
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "select": dpsel.select,
    "plan": dpsel.plan,
    "preprocess": dpsel.preprocess,
    "baseline": dpsel.baseline,
    "evaluate": dpsel.evaluate,
    "audit": dpsel.audit,
    "card": dpsel.card,
    "budget init": dpsel.Ledger.init,
    "budget show": dpsel.Ledger.show,
    "budget log": dpsel.Ledger.log,
    "budget charge": dpsel.Ledger.charge,
    "budget reserve": dpsel.Ledger.reserve,
    "budget free": dpsel.Ledger.free,
    "budget verify": dpsel.Ledger.verify,
    "budget export": dpsel.Ledger.export,
}
# The command may be asked to show a table instead, and needs no target for that.
NEEDED = {("preprocess", "target")}
# Files of facts are made once, by hand, and the paper's experiments are run as they are.
NO_FUNCTION = ("dictionary", "reproduce")


def command_of(name: str) -> Callable[..., None]:
    """Return what a command, or one within a group, runs."""
    group, _, within = name.partition(" ")
    found = getattr(import_module(f"dpsel.cli.{group}"), group)
    if within:
        (found,) = (
            one.callback
            for one in found.registered_commands
            if (one.name or one.callback.__name__) == within
        )
    command: Callable[..., None] = inspect.unwrap(found)
    return command


def options_of(name: str) -> dict[str, Any]:
    """Return all fields of the records of a command, with their defaults."""
    kinds = get_type_hints(command_of(name)).values()
    records = [kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind)]
    return {about.name: about.default for record in records for about in fields(record)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_python_and_the_command_line_have_the_same_options_and_defaults(name: str) -> None:
    by_words, left_out = options_of(name), ONLY_AT_THE_TERMINAL.get(name, {})
    assert left_out.keys() <= by_words.keys()
    wanted = {
        option: MISSING if (name, option) in NEEDED else default
        for option, default in by_words.items()
        if option not in left_out and option not in TERMINAL
    }
    parameters = [*inspect.signature(FUNCTIONS[name]).parameters.values()]
    if name.startswith("budget ") and name != "budget init":
        # A ledger knows its file from when it was opened.
        parameters += inspect.signature(dpsel.Ledger).parameters.values()
    by_keywords = {
        parameter.name: MISSING if parameter.default is parameter.empty else parameter.default
        for parameter in parameters
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert by_keywords == wanted


def test_every_command_has_its_function() -> None:
    commands = {
        f"{name} {within}".strip()
        for name in COMMANDS
        if name not in NO_FUNCTION
        for within in (commands_within(name) or [""])
    }
    assert commands == set(FUNCTIONS)


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    assert dir(dpsel) == sorted(dpsel.__all__)
    for name in dpsel.__all__:
        found = getattr(dpsel, name)
        assert name == "__version__" or found.__name__ == name
        assert name == "__version__" or found.__doc__
    with pytest.raises(AttributeError, match="no attribute 'Any'"):
        _ = dpsel.Any  # type: ignore[attr-defined]


def test_every_public_name_is_seen_by_type_checkers() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    named = [
        (node.module, alias.name)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(name for _, name in named) == sorted(set(dpsel.__all__) - {"__version__"})
    assert {(home, name) for home, names in dpsel._HOMES.items() for name in names} == set(named)
    assert (PACKAGE / "py.typed").exists()


def test_importing_the_package_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import dpsel; dir(dpsel)\n"
        "print(*sorted(name for name in set(sys.modules) - before if name.startswith('dpsel')))\n"
        "print(*sorted({'numpy', 'polars', 'pyarrow', 'pandas', 'sklearn'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={"PYTHONPATH": str(ROOT)},
        text=True,
    )
    assert (done.stdout, done.stderr) == ("dpsel\n\n", "")


RECORDS = (ColumnChoice, Privacy, Scoring, BaselinePrivacy, Blocks, Reading)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("give --k K, or --up-to K", "give k=K, or up_to=K"),
        ("give either --k or --up-to, not both", "give either k= or up_to=, not both"),
        ("t: leave it out with --exclude 'x'", "t: leave it out with exclude='x'"),
        ("--date must be a day, got 1", "date must be a day, got 1"),
        ("t: --person: 'a' is odd", "t: person: 'a' is odd"),
        ("--rows goes with --up-to", "rows= goes with up_to="),
        ("or use --neighbors replace-one", "or use neighbors='replace-one'"),
        ("run two-stage with --no-privacy", "run two-stage with no_privacy=True"),
        ("with --classes A,B,C if", "with classes=['A', 'B', 'C'] if"),
        ("say --input-format csv|tsv", "say input_format='csv'|'tsv'"),
        ("up-to must be 1 or more", "up_to must be 1 or more"),
        ("it differs in k, up-to; no", "it differs in k, up_to; no"),
        ("add-remove and permute-and-flip", "add-remove and permute-and-flip"),
        ("no column 'a --k b', 'up-to'", "no column 'a --k b', 'up-to'"),
        ("that `dpsel preprocess` wrote", "that `dpsel.preprocess` wrote"),
        ("`dpsel select --classes` takes", "`dpsel.select(classes=)` takes"),
        ("`dpsel preprocess --person 'a b'`", "`dpsel.preprocess(person='a b')`"),
        (
            "`dpsel preprocess --features-in rows --as-is`",
            "`dpsel.preprocess(features_in='rows', as_is=True)`",
        ),
        (
            "`dpsel preprocess a.txt b.parquet --target LABEL --as-is`",
            "`dpsel.preprocess('a.txt', 'b.parquet', target=LABEL, as_is=True)`",
        ),
        ("`dpsel dictionary init` lists", "`dpsel dictionary init` lists"),
        ("`dpsel budget init a --epsilon E`", "`dpsel.Ledger.init('a', epsilon=E)`"),
        ("`dpsel budget log a` shows it", "`dpsel.Ledger('a').log()` shows it"),
        ("INPUT and --labels cannot", "table and labels= cannot"),
    ],
)
def test_messages_speak_python(message: str, said: str) -> None:
    assert in_python(message, RECORDS) == said
    assert in_python(said, RECORDS) == said


def test_switches_of_other_functions_are_true_and_not_left_open() -> None:
    with pytest.raises(dpsel.InputError, match=r"`dpsel\.evaluate`: encode_target=True\)"):
        dpsel.select(pl.read_csv(VISITS), target="ward", k=1, epsilon=1)
    said = in_python("a table that `dpsel preprocess` wrote without --as-is")
    assert said == "a table that `dpsel.preprocess` wrote without as_is=True"


def written_messages() -> set[str]:
    """Return every text with a flag in it that a folder below the command line holds."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name in ("cli", "paper") or path.name in IN_FLAGS:
            continue
        tree = ast.parse(path.read_text())
        nodes = list(ast.walk(tree))
        left_out = {id(part) for node in nodes for part in no_messages(node)}
        texts = {node: written(node) for node in nodes}
        found |= {text for node, text in texts.items() if id(node) not in left_out}
    return {text for text in found if re.search("--[a-z]", text)}


def written(node: ast.AST) -> str:
    """Return a text as it stands in the source; what is filled in is an x."""
    if isinstance(node, ast.JoinedStr):
        return "".join(written(part) or "x" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def no_messages(node: ast.AST) -> list[ast.expr]:
    """Return texts within a node that are none of their own: docstrings, options, parts."""
    if isinstance(node, ast.JoinedStr):
        return node.values
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "option":
        return node.args
    body = getattr(node, "body", [])
    lines = body if isinstance(body, list) else []
    return [line.value for line in lines if isinstance(line, ast.Expr)]


# What has to do with flags as such.
IN_FLAGS = ("python.py", "__main__.py")
# Words of other programs' command lines.
FOR_OTHERS = {
    *("--output=/dev/null", "--error=/dev/null", "--no-dashboard", "--dashboard-address"),
    *("--quiet", "--output=x"),
}


def test_no_message_that_can_be_raised_in_python_keeps_a_flag() -> None:
    messages = written_messages() - FOR_OTHERS
    assert len(messages) > 80
    assert [text for text in messages if "--" in in_python(text)] == []


def test_errors_keep_their_class_and_exit_code_and_name_keywords() -> None:
    with pytest.raises(dpsel.UsageError, match=r"^give k=K, how many .*, or up_to=K$") as caught:
        dpsel.select(VISITS, target="came_back", epsilon=1)
    assert caught.value.exit_code == 2
    with pytest.raises(
        dpsel.InputError, match="leave them out with exclude='admitted,ward,"
    ) as text:
        dpsel.select(pl.read_csv(VISITS), **{**ASK, "method": "kendall"})
    assert text.value.exit_code == 3
    assert "--" not in str(text.value)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"k": "2"}, "k must be a whole number, got '2'"),
        ({"k": 2.0}, r"k must be a whole number, got 2\.0"),
        ({"epsilon": "1"}, "epsilon must be a number, got '1'"),
        ({"row_ranks": "no"}, "row_ranks must be True or False, got 'no'"),
        ({"method": "best"}, "method must be one of stump, dp-sis, kendall, dpkendall, got 'best'"),
        ({"neighbors": "both"}, "neighbors must be one of add-remove, replace-one, got 'both'"),
        ({"input_format": "xls"}, "input_format must be one of parquet, csv, tsv, arrow"),
        ({"rows_per_person": 2}, "rows_per_person= needs person=COLUMN"),
        ({"share": 2}, "share must be between 0 and 1"),
    ],
)
def test_what_is_no_value_is_refused_plainly(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(dpsel.UsageError, match=f"^{complaint}"):
        dpsel.select(VISITS, **{**ASK, **changed})


def test_values_may_be_those_of_numpy_and_lists_and_paths() -> None:
    given = {
        **dict.fromkeys(options_of("select")),
        **{"k": np.int64(2), "epsilon": np.float64(0.5), "neighbors": "replace-one"},
    }
    record = record_of(Privacy, given)
    assert [type(record.k), type(record.epsilon), record.neighbors] == [int, float, "replace-one"]
    listed = record_of(ColumnChoice, {**given, "features": ["a", 2], "exclude": "b", "target": 3})
    assert (listed.features, listed.exclude, listed.target) == (("a", "2"), ("b",), "3")


def hospital() -> pd.DataFrame:
    """Return a frame whose first columns tell the target."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 4000)
    columns = {name: rng.normal(size=4000) for name in ("noise", "more", "age", "dose")}
    columns["age"] += 8 * y
    columns["dose"] -= 8 * y
    return pd.DataFrame({**columns, "y": np.where(y == 1, "yes", "no")})


FOUND: dict[str, Any] = {"target": "y", "positive": "yes", "k": 2, "epsilon": 5, "seed": 1}


def test_columns_of_python_s_objects_are_refused_by_their_type() -> None:
    objects = pl.Series("o", [object(), 1.5, "text"], dtype=pl.Object)
    frame = pl.DataFrame({"y": [0, 1, 1]}).with_columns(objects)
    with pytest.raises(dpsel.InputError, match="table: column 'o' holds objects of Python"):
        dpsel.select(frame, target="y", k=1, epsilon=1)


@pytest.mark.parametrize("failing", ["cast", "function", "file"])
def test_a_lazy_frame_that_fails_at_a_row_is_charged_and_quotes_no_cell(
    failing: str, tmp_path: Path
) -> None:
    def refuse(cell: str) -> float:
        raise ValueError(cell)

    x = pl.col("x")
    frame = pl.LazyFrame({"x": ["1", "HIV+"], "y": [0.0, 1.0]})
    if failing == "cast":
        frame = frame.with_columns(x.cast(pl.Int64))
    elif failing == "function":
        frame = frame.with_columns(x.map_elements(refuse, return_dtype=pl.Float64))
    else:
        (tmp_path / "t.csv").write_text("x,y\n" + "1,0\n" * 200 + "HIV+,1\n")
        frame = pl.scan_csv(tmp_path / "t.csv")
    place = tmp_path / "ledgers"
    ledger = dpsel.Ledger.init("patients", epsilon=3, ledger_file=place)
    paid: dict[str, Any] = {"ledger": "patients", "ledger_file": place}
    with pytest.raises(dpsel.InputError, match=r"fails at collect\(\)") as raised:
        dpsel.select(frame, target="y", k=1, epsilon=1, **paid)
    assert "HIV" not in "".join(format_exception(raised.value))
    assert str(ledger.left.epsilon) == "2"
    # What its names and types say is an error before the charge.
    with pytest.raises(dpsel.UsageError, match="no column 'z'"):
        dpsel.select(frame, target="z", k=1, epsilon=1, **paid)
    objects = frame.with_columns(o=pl.lit(1).map_batches(lambda s: s, return_dtype=pl.Object))
    with pytest.raises(dpsel.InputError, match="table: column 'o' holds objects of Python"):
        dpsel.select(objects, target="y", k=1, epsilon=1, **paid)
    assert str(ledger.left.epsilon) == "2"


def test_the_selected_features_select_from_a_frame() -> None:
    frame = hospital()
    selection = dpsel.select(frame, **FOUND)
    assert selection.selected_features == ["age", "dose"]
    assert list(frame[selection.selected_features].columns) == ["age", "dose"]
    assert pl.from_pandas(frame)[selection.selected_features].columns == ["age", "dose"]
    assert frame.iloc[:, selection.selected_indices].columns.tolist() == ["age", "dose"]


def test_names_keep_their_type_and_the_record_has_texts() -> None:
    frame = hospital()
    frame.columns = pd.Index([10, 11, 12, 13, 14])
    bounds = {10: (-9, 9), 11: [-9, 9], 12: (-9, 9), 13: (-9, 9)}
    for more in (FOUND, {**FOUND, "method": "dp-sis", "bounds": bounds}):
        selection = dpsel.select(frame, **{**more, "target": 14})
        assert selection.selected_features == [12, 13]
        assert selection.to_dict()["selected_features"] == ["12", "13"]
        assert list(frame[selection.selected_features].columns) == [12, 13]


PAIRS = {"noise": (-9, 9), "more": [-9, 9.0], "age": (np.int64(-9), 9), "dose": (-9, 9)}


@pytest.mark.parametrize(
    "bounds",
    [
        PAIRS,
        {"columns": PAIRS},
        {"default": (-9, 9)},
        {"columns": {name: {"lower": -9, "upper": 9} for name in PAIRS}},
    ],
)
def test_bounds_may_be_pairs_by_name(bounds: dict[str, Any]) -> None:
    selection = dpsel.select(hospital(), **FOUND, method="dp-sis", bounds=bounds)
    assert selection.selected_features == ["age", "dose"]


@pytest.mark.parametrize(
    ("bounds", "complaint"),
    [
        ({"age": 5}, r"bounds: \[columns\.age\] must hold lower and upper"),
        ({"age": (0, 1, 2)}, r"bounds: \[columns\.age\] must hold lower and upper"),
        ({"age": (0, "1")}, r"bounds: upper in \[columns\.age\] must be a number"),
        ({"agee": (0, 120)}, "bounds: the table has no column 'agee'; did you mean 'age'"),
        ({"age": (0, 120)}, "bounds: there are no bounds for column 'noise'"),
        (5, "bounds: expected the sections"),
    ],
)
def test_bounds_of_another_shape_are_refused(bounds: Any, complaint: str) -> None:
    with pytest.raises(dpsel.InputError, match=complaint):
        dpsel.select(hospital(), **FOUND, method="dp-sis", bounds=bounds)


def test_a_selection_is_shown_in_a_few_lines_with_what_is_promised_first() -> None:
    frame = hospital().rename(columns={"dose": "dose\x1b[2J\n"})
    shown = repr(dpsel.select(frame, **FOUND))
    assert shown.splitlines() == [
        "Selection",
        "  NOT PRIVATE, not for release: drawn with a fixed seed, for tests only",
        r"  2 of 4 features for y: age, dose\x1b[2J\n",
        "  by stump: score stump, mechanism permute-and-flip",
    ]
    private = repr(dpsel.select(hospital(), **{**FOUND, "seed": None, "method": "kendall"}))
    assert private.splitlines()[1] == "  private: epsilon 5, add-remove of rows, end to end"


def test_baseline_selects_by_its_methods() -> None:
    selection = dpsel.baseline(
        hospital(), target="y", positive="yes", k=2, method="sis", bounds=PAIRS
    )
    assert (selection.selected_features, selection.guarantee) == (["age", "dose"], None)
    with pytest.raises(dpsel.UsageError, match=r"blocks=B is needed; or use neighbors='replace-on"):
        dpsel.baseline(hospital(), target="y", k=2, method="two-stage", epsilon=1)


def records_of(name: str) -> list[type[Dataclass]]:
    """Return the records of a command."""
    kinds = get_type_hints(command_of(name)).values()
    return [kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_flag_is_the_name_of_its_field_but_for_formats(name: str) -> None:
    """So that a message can be put into Python's words wherever it comes from."""
    for record in records_of(name):
        for about in fields(record):
            flag = about.metadata[KEY].flag
            if flag not in ("--format", "--from"):
                assert flag == f"--{about.name.replace('_', '-')}"


BOUNDED: dict[str, Any] = {"target": "y", "positive": "yes", "bounds": PAIRS}


def test_a_turned_table_says_that_no_cell_was_changed() -> None:
    samples = ROOT / "sample_data"
    labels = samples / "arrays_labels.csv"
    turned = dpsel.preprocess(
        samples / "arrays.csv", target="tissue", features_in="rows", labels=labels, as_is=True
    )
    assert "\n  every cell as it is\n" in repr(turned)


def test_preprocess_as_is_refuses_a_table_without_features_in_rows_whether_it_writes_or_not(
    tmp_path: Path,
) -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0], "y": ["u", "v"]})
    for output in (None, tmp_path / "out.parquet"):
        with pytest.raises(
            dpsel.UsageError, match="as_is=True is for tables that have to be transposed"
        ):
            dpsel.preprocess(frame, output, target="y", as_is=True)


def test_preprocess_returns_a_table_that_select_takes_with_its_record(tmp_path: Path) -> None:
    frame = hospital()
    made = dpsel.preprocess(frame, **BOUNDED)
    assert made.table is not None
    assert made.table.column_names == ["noise", "more", "age", "dose", "y"]
    assert dpsel.provenance(made.table).to_dict() == made.to_dict()
    found = dpsel.select(made, target="y", k=2, epsilon=5, method="dp-sis")
    assert found.guarantee is not None
    assert found.guarantee.scope.end_to_end
    assert found.selected_features == ["age", "dose"]
    place = tmp_path / "bounded.parquet"
    written = dpsel.preprocess(pl.from_pandas(frame), place, **BOUNDED, float32=True)
    assert (written.table, written.output) == (None, str(place))
    assert pl.read_parquet(place).columns == made.table.column_names
    with pytest.raises(dpsel.OutputError, match="exists already; replace it with force=True"):
        dpsel.preprocess(frame, place, **BOUNDED)
    with pytest.warns(UserWarning, match=r"read off the data, so the guarantee of `dpsel\.select`"):
        assert dpsel.preprocess(frame, target="y", positive="yes").provenance.data_dependent
    with pytest.raises(dpsel.UsageError, match="labels= are for files, and this is a frame"):
        dpsel.preprocess(frame, **BOUNDED, labels="labels.csv")
    with pytest.raises(dpsel.InputError, match=r"was not written by `dpsel\.preprocess`"):
        dpsel.provenance(frame)


def test_evaluate_takes_frames_and_paths_by_name_and_returns_frames(tmp_path: Path) -> None:
    frame = hospital()
    path = tmp_path / "wards.parquet"
    frame.to_parquet(path)
    asked: dict[str, Any] = {
        **{"k": 2, "epsilon": [0.5, 5], "trials": 4, "truth": ["age", "dose"]},
        **{"method": ["stump", "dp-sis"], "threads": 1, **BOUNDED},
    }
    report = tmp_path / "report.json"
    found = dpsel.evaluate({"a": frame, "b": path}, **asked, output=report)
    assert found.results["dataset"].unique().sort().to_list() == ["a", "b"]
    assert found.results.height == 2 * 2 * 2
    assert json.loads(report.read_text()) == found.to_dict()
    assert repr(found).startswith("Evaluation: NOT PRIVATE, not for release\n  8 results")
    lazy = pl.from_pandas(frame).lazy()
    alone = dpsel.evaluate([path, lazy], **asked)
    assert alone.results["dataset"].unique(maintain_order=True).to_list() == ["wards", "frame"]
    same = alone.results.drop("dataset").equals(found.results.drop("dataset"))
    assert same


def test_plan_looks_at_frames_and_ledgers(tmp_path: Path) -> None:
    place = tmp_path / "ledgers"
    dpsel.Ledger.init("patients", epsilon=3, ledger_file=place)
    frame = hospital().head(200)
    public: dict[str, Any] = {"like": frame, "target": "y", "positive": "yes", "k": 2}
    paid: dict[str, Any] = {"ledger": "patients", "ledger_file": place}
    plan = dpsel.plan(**public, epsilon=[1, 5], tables=1, **paid)
    assert plan.balance is not None
    assert plan.balance.after == {1.0: "2", 5.0: None}
    assert plan.to_frame()["epsilon"].unique().to_list() == [1.0, 5.0]
    assert plan.to_dict()["guessed"]["like"] == "a frame"
    assert len(repr(plan).splitlines()) == 4
    with pytest.raises(dpsel.UsageError, match=r"give rows=N and features=D, or .* like=FILE"):
        dpsel.plan(k=2)


def test_an_audit_that_fails_is_no_exception_and_leaves_warnings_alone() -> None:
    bad = dpsel.audit(mechanism="printed-lipschitz", samples=3e4, seed=1, threads=1)
    assert bad.verdict == "fail"
    assert repr(bad).startswith("Certificate: fail\n  the loss is at least ")
    before = list(warnings.filters)
    assert run_in_process(["select", "not-there.csv", "--target=y", "--k=1", "--epsilon=1"]) == 3
    assert warnings.filters == before
    with pytest.raises(dpsel.UsageError, match="mechanism=NAME, score=NAME, or command=True"):
        dpsel.audit()


@pytest.mark.long
def test_the_command_is_audited_from_python() -> None:
    assert dpsel.audit(command=True, samples=10, threads=1).verdict == "inconclusive"


def test_a_warning_that_is_an_error_comes_after_the_release_is_stored(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    frame = pl.DataFrame({"x": [1.0, 2.0], "z": [2.0, 1.0], "y": ["ill", "well"]})
    ledger = dpsel.Ledger.init("study", epsilon=1, ledger_file=place)
    asked: dict[str, Any] = {"target": "y", "positive": "il", "k": 1, "epsilon": 1}
    asked |= {"ledger": "study", "ledger_file": place, "run_id": "a"}
    with pytest.raises(UserWarning, match="no row has the label"):
        dpsel.select(frame, **asked)  # pytest makes warnings errors.
    # The run was paid for, and its release is there.
    (charge,) = ledger.log().charges
    assert charge.release is not None
    assert dpsel.select(frame, **asked).to_dict() == json.loads(charge.release)
    assert len(ledger.log().charges) == 1


def test_a_ledger_is_made_charged_and_verified(tmp_path: Path) -> None:
    place = tmp_path / "ledgers"
    with pytest.raises(dpsel.UsageError, match=r"make it with `dpsel\.Ledger\.init\('patients', e"):
        dpsel.Ledger("patients", ledger_file=place)
    ledger = dpsel.Ledger.init("patients", epsilon=0.3, ledger_file=place)
    head = ledger.verify().head
    paid: dict[str, Any] = {"ledger": "patients", "ledger_file": place}
    first = dpsel.select(VISITS, **{**ASK, "epsilon": 0.1}, **paid, run_id="a")
    assert dpsel.select(VISITS, **{**ASK, "epsilon": 0.1}, **paid, run_id="a") == first
    assert ledger.charge(epsilon="0.1", by="another tool").number == 2
    assert ledger.reserve(epsilon=0.1, note="later").number == 1
    assert [str(ledger.limit.epsilon), str(ledger.spent.epsilon), str(ledger.left.epsilon)] == [
        *("0.3", "0.2", "0.0"),
    ]
    with pytest.raises(dpsel.BudgetError, match=r"epsilon 0\.1 asked, 0 left"):
        ledger.charge(epsilon=0.1, by="another tool")
    ledger.free(1)
    assert repr(ledger).splitlines()[1] == "  epsilon: 0.2 spent, 0.1 left of 0.3"
    assert [charge.asked.run_id for charge in ledger.log().charges] == ["a", None]
    assert ledger.export()["log"][0]["release"] == first.to_dict()
    assert ledger.to_dict() == ledger.show().to_dict()
    assert ledger.verify(head=head).to_dict()["verified"]
    assert [one.name for one in dpsel.Ledger.all(ledger_file=place)] == ["patients"]
    assert "This release is charge 1." in dpsel.card(first, **paid)
    place.unlink()
    assert repr(ledger).startswith("Ledger there is no ledger 'patients' yet")


SCRIPT = """
import dpsel

print("once")
found = dpsel.evaluate(
    "sample_data/synthetic_bounded.csv", target="y", k=2, epsilon=[1, 2], trials=2,
    method="dp-sis", truth="sis", threads=2,
)
print(found.results.height)
"""


def test_a_script_without_a_guard_is_run_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )
    assert (done.stdout, done.returncode) == ("once\n2\n", 0)
