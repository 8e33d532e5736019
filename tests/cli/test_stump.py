"""The plain command: raw columns of any kind, no bounds, no preprocessing."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpsel as package
from dpsel.tables import parquet_footer
from tests.cli.conftest import ROOT, Dpsel
from tests.cli.test_select import record_of
from tests.tables.test_wide_parquet import steps

__all__ = ["steps"]
VISITS = ROOT / "sample_data" / "visits.csv"
PLANTED = ["ward", "glucose", "earlier_visits"]
YES = ("--target", "came_back", "--positive", "yes")
ASK = (*YES, "--k", 3, "--epsilon", 1)
RANKS = ("--row-ranks",)
SEEDED = "note: a draw with --seed is not private: the result is not for release\n"


def rows_note(k: int, rows: int, epsilon: str = "1") -> str:
    return (
        f"note: to select {k} of 14 features at epsilon {epsilon} better than by chance takes "
        f"about {rows} rows\n"
    )


def budget_of(record: dict[str, Any]) -> dict[str, str]:
    """Return what each step took, as it is printed; together it is all of epsilon."""
    return {part["name"]: repr(part["epsilon"]) for part in record["budget"]}


@pytest.mark.parametrize("seed", range(5))
def test_the_plain_command_finds_what_was_planted_among_words_dates_and_gaps(
    seed: int, dpsel: Dpsel
) -> None:
    result = dpsel("select", VISITS, *ASK, "--seed", seed)
    assert (result.code, result.err) == (0, SEEDED + rows_note(3, 70))
    record = record_of(result.out)
    assert record["selected_features"] == PLANTED
    assert record["selected_indices"] == [1, 6, 11]
    assert (record["k"], record["n_features"]) == (3, 14)


def test_more_rows_are_needed_where_more_is_protected(dpsel: Dpsel) -> None:
    replaced = dpsel("select", VISITS, *ASK, "--neighbors", "replace-one")
    assert (replaced.code, replaced.err) == (0, rows_note(3, 140))
    person = ("--person", "admitted", "--rows-per-person", 3)
    several = dpsel("select", VISITS, *ASK, *person)
    assert (several.code, several.err) == (0, rows_note(3, 207).replace("14 feat", "13 feat"))


def test_its_record_covers_everything_and_says_what_each_step_took(dpsel: Dpsel) -> None:
    result = dpsel("select", VISITS, *ASK)
    assert (result.code, result.err) == (0, rows_note(3, 70))
    record = record_of(result.out)
    assert (record["score"], record["mechanism"]) == ("stump", {"name": "permute-and-flip"})
    assert record["guarantee"] == {
        "epsilon": 1.0,
        "delta": 0.0,
        "neighbors": "add-remove",
        "unit": "row",
        "rows_per_unit": 1,
        "end_to_end": True,
        "why": "the score needs neither bounds nor preprocessing; scoring and selection are "
        "covered, of the table as it was given",
    }
    assert budget_of(record) == {"counts of the two classes": "0.1", "selection": "0.9"}
    assert dpsel("select", VISITS, *ASK, "--quiet").err == ""


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (YES, {"counts of the two classes": "0.1", "selection": "0.9"}),
        ((*YES, "--share", 0.2), {"selection": "1.0"}),
        (("--target", "age"), {"median of the target": "0.3333", "selection": "0.6667"}),
        (("--target", "age", "--target-center", 57), {"selection": "1.0"}),
        (("--target", "discharged_to", "--classes", "home,care,clinic"), {"selection": "1.0"}),
    ],
)
def test_a_public_fact_saves_what_it_would_cost_to_find_out(
    options: tuple[object, ...], parts: dict[str, str], dpsel: Dpsel
) -> None:
    record = record_of(dpsel("select", VISITS, *options, "--k", 2, "--epsilon", 1).out)
    assert budget_of(record) == parts
    assert sum(map(Decimal, parts.values())) == 1


def test_a_public_share_finds_what_was_planted_too(dpsel: Dpsel) -> None:
    record = record_of(dpsel("select", VISITS, *ASK, "--share", 0.3, "--seed", 1).out)
    assert record["selected_features"] == PLANTED


def with_targets(path: Path) -> Path:
    """Write visits with two targets: three classes that the ward decides, and a number."""
    frame = pl.read_csv(VISITS)
    kinds = {"surgery": "cut", "trauma": "torn"}
    kind = pl.col("ward").replace_strict(kinds, default="other")
    frame.with_columns(kind=kind, twice=pl.col("glucose") * 2).write_csv(path)
    return path


def test_three_classes_are_told_apart(dpsel: Dpsel, tmp_path: Path) -> None:
    path = with_targets(tmp_path / "t.csv")
    options = ("--target", "kind", "--k", 1, "--epsilon", 1, "--seed", 2)
    record = record_of(dpsel("select", path, *options, "--classes", "cut, torn,other").out)
    assert record["selected_features"] == ["ward"]


@pytest.mark.parametrize(
    ("classes", "notes"),
    [
        ("cut,torn,other", ""),
        ("cut,torn,othr,seen", "note: no row has the labels 'othr', 'seen' in 'kind'\n"),
        ("cut,tron,other", "note: no row has the label 'tron' in 'kind'\n"),
    ],
)
def test_a_class_that_no_row_has_is_named(
    classes: str, notes: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    path = with_targets(tmp_path / "t.csv")
    asked = ("--target", "kind", "--k", 16, "--epsilon", 1, "--classes", classes)
    result = dpsel("select", path, *asked)
    assert result.code == 0
    first, rest = result.err.split("\n", 1)
    assert first == "note: k is 16, the number of features: all of them are selected"
    most = "note: 70% of the cells of 'kind' are missing or not among the classes\n"
    assert rest == notes + (most if "other" not in classes else "")
    # A class may be rare, but a target that is of no use must not be missed.
    assert dpsel("select", path, *asked, "--quiet").err == (most if "other" not in classes else "")


def test_a_target_of_gaps_is_not_asked_for_a_label_that_was_given(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,ill\n2,well\n3,\n4,\n5,\n")
    asked = ("--target", "y", "--k", 1, "--epsilon", 1, "--quiet")
    given = dpsel("select", path, *asked, "--positive", "ill")
    assert given.err == "note: 60% of the cells of 'y' are missing\n"
    assert dpsel("select", path, *asked).err == (
        "note: 100% of the cells of 'y' are missing or not numbers; if they are labels, name one "
        "with --positive, or all with --classes\n"
    )


@pytest.mark.parametrize("center", [(), ("--target-center", 210)])
def test_a_number_is_predicted_from_its_middle(
    center: tuple[object, ...], dpsel: Dpsel, tmp_path: Path
) -> None:
    path = with_targets(tmp_path / "t.csv")
    options = ("--target", "twice", "--k", 1, "--epsilon", 1, "--seed", 2)
    record = record_of(dpsel("select", path, *options, *center).out)
    assert record["selected_features"] == ["glucose"]


def test_up_to_selects_no_more_than_epsilon_carries(dpsel: Dpsel) -> None:
    options = (*YES, "--up-to", 5, "--rows", 3000, "--seed", 1)
    plenty = dpsel("select", VISITS, *options, "--epsilon", 1)
    assert plenty.err == SEEDED + rows_note(5, 116)
    record = record_of(plenty.out)
    assert (record["k"], len(record["selected_features"])) == (5, 5)
    assert set(PLANTED) < set(record["selected_features"])
    little = record_of(dpsel("select", VISITS, *options, "--epsilon", 0.02).out)
    assert 1 <= little["k"] == len(little["selected_features"]) < 5
    # Fewer rows carry fewer features: a public number decides, not that of the table.
    fewer = ("--rows", 20, "--epsilon", 1)
    assert record_of(dpsel("select", VISITS, *options, *fewer).out)["k"] == 1


@pytest.mark.parametrize(
    ("more", "counted"),
    [
        ((), {"number of rows": "0.05"}),
        (("--rows", 3000), {}),
        (("--neighbors", "replace-one"), {}),
    ],
)
def test_up_to_pays_for_the_number_of_rows_unless_it_is_public(
    more: tuple[object, ...], counted: dict[str, str], dpsel: Dpsel
) -> None:
    record = record_of(dpsel("select", VISITS, *YES, "--up-to", 4, "--epsilon", 1, *more).out)
    parts = budget_of(record)
    rest = {"counts of the two classes": "0.1", "selection": "0.85" if counted else "0.9"}
    assert parts == {**counted, **rest}


ODD = {
    "nothing more": [],
    "a row like others": ["2024-01-02,surgery,5.5,yes"],
    "a word among numbers": ["2024-01-02,surgery,unknown,yes"],
    "a number among words": ["2024-01-02,17,5.5,no"],
    "a new category": ["2024-01-02,psychiatry,5.5,no"],
    "a date in another format": ["02/01/2024,surgery,5.5,yes"],
    "a word in place of a date": ["yesterday,surgery,5.5,yes"],
    "a new label": ["2024-01-02,surgery,5.5,perhaps"],
    "infinite": ["2024-01-02,surgery,1e999,yes"],
    "all missing": [",,,"],
    "a few of the kind": ["yesterday,17,unknown,3", "x,y,z,"],
}


@pytest.mark.parametrize("target", [("came_back", "--positive", "yes"), ("glucose",)])
@pytest.mark.parametrize("odd", list(ODD))
def test_an_odd_cell_changes_neither_shape_nor_code_nor_notes(
    odd: str, target: tuple[str, ...], dpsel: Dpsel, tmp_path: Path
) -> None:
    wards = ("surgery", "trauma", "geriatrics")
    lines = [
        f"2023-05-{1 + i % 28:02},{wards[i % 3]},{i % 7}.5,{'yes' if i % 3 else 'no'}"
        for i in range(60)
    ]
    path = tmp_path / "t.csv"
    found = []
    for more in ([], ODD[odd]):
        path.write_text("\n".join(["admitted,ward,glucose,came_back", *lines, *more]) + "\n")
        result = dpsel("select", path, "--target", *target, "--k", 2, "--epsilon", 1)
        record = record_of(result.out)
        assert len(set(record.pop("selected_features"))) == 2
        assert len(set(record.pop("selected_indices"))) == 2
        found.append((result.code, result.err, json.dumps(record)))
    assert found[0] == found[1]
    assert found[0][0] == 0
    assert found[0][1].count("\n") == 1


REFUSED: list[tuple[str, tuple[object, ...]]] = [
    ("give either --k or --up-to, not both", (*ASK, "--up-to", 2)),
    ("give --k K, how many features to select, or --up-to K", (*YES, "--epsilon", 1)),
    ("--rows goes with --up-to", (*ASK, "--rows", 100)),
    ("give either --positive or --classes, not both", (*ASK, "--classes", "yes,no,maybe")),
    (
        "--share goes with --positive LABEL: it is the share of that label",
        ("--target", "age", "--k", 1, "--epsilon", 1, "--share", 0.2),
    ),
    ("--target-center goes with a numeric target", (*ASK, "--target-center", 3)),
    ("share must be between 0 and 1, got 1", (*ASK, "--share", 1)),
    ("share must be between 0 and 1, got nan", (*ASK, "--share", "nan")),
    (
        "--classes needs three labels or more; for two, name one with --positive",
        ("--target", "sex", "--k", 1, "--epsilon", 1, "--classes", "f,m"),
    ),
    (
        "classes must be different labels with commas between them",
        ("--target", "sex", "--k", 1, "--epsilon", 1, "--classes", "f,m,f"),
    ),
    (
        "three classes or more are selected by permute-and-flip, round by round",
        (
            *("--target", "ward", "--k", 1, "--epsilon", 1, "--classes", "surgery,trauma,oncology"),
            *("--mechanism", "peeling"),
        ),
    ),
    ("the score stump needs no bounds; leave them out", (*ASK, "--lower", 0, "--upper", 1)),
    *(
        (f"{option[0]} goes with the score stump", (*YES, *k, "--epsilon", 1, *method, *option))
        for method in (("--method", "kendall"), ("--score", "dot", "--lower", 0, "--upper", 1))
        for option, k in (
            (("--share", 0.2), ("--k", 1)),
            (("--target-center", 1), ("--k", 1)),
            (("--classes", "a,b,c"), ("--k", 1)),
            (("--up-to", 3), ()),
        )
    ),
    ("--row-ranks goes with the methods stump and kendall", (*ASK, *RANKS, "--method", "dp-sis")),
    (
        "--row-ranks goes with the methods stump and kendall",
        (*ASK, *RANKS, "--method", "dpkendall"),
    ),
    (
        "--row-ranks is worked out on this machine: leave out --cluster",
        (*ASK, *RANKS, "--cluster", "tcp://nowhere:1"),
    ),
    (
        "dpkendall protects rows, on this machine: no --person, no --cluster",
        (*ASK, "--method", "dpkendall", "--cluster", "tcp://nowhere:1"),
    ),
    (
        "dpkendall protects rows, on this machine: no --person, no --cluster",
        (*ASK, "--method", "dpkendall", "--person", "patient"),
    ),
    (
        "k must be at most 65536 for dpkendall, got 65537",
        (*YES, "--k", 65537, "--epsilon", 1, "--method", "dpkendall"),
    ),
    (
        "classes must be between 3 and 256, got 257",
        ("--target", "ward", "--k", 1, "--epsilon", 1, "--classes", ",".join(map(str, range(257)))),
    ),
    (
        "rows must be at most 2147483647, got 2147483648",
        (*YES, "--up-to", 1, "--epsilon", 1, "--rows", 2**31),
    ),
    ("epsilon must be 1e-200 or more, got 9e-201", (*YES, "--k", 1, "--epsilon", "9e-201")),
    (
        "dpkendall has a mechanism of its own; leave out --mechanism and its options",
        (*ASK, "--method", "dpkendall", "--mechanism", "peeling"),
    ),
]


@pytest.mark.parametrize(("message", "options"), REFUSED)
def test_what_does_not_go_together_is_refused_before_the_table_is_opened(
    message: str, options: tuple[object, ...], dpsel: Dpsel
) -> None:
    for table in (VISITS, "no/such/table.csv"):
        result = dpsel("select", table, *options)
        assert (result.code, result.out, result.err) == (2, "", f"error: {message}\n")
    # And before the account is opened: there is no such ledger.
    for more in (("--ledger", "none"), ("--dry-run",)):
        result = dpsel("select", VISITS, *options, *more)
        assert (result.code, result.out, result.err) == (2, "", f"error: {message}\n")


@pytest.fixture
def forms(tmp_path: Path) -> dict[str, Path]:
    """The visits in every form; dates are dates in some, and words in others."""
    frame = pl.read_csv(VISITS)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=700)
    frame.write_ipc(tmp_path / "t.arrow")
    frame.with_columns(pl.col(pl.String).cast(pl.Categorical)).write_parquet(tmp_path / "c.parquet")
    dated = pl.read_csv(VISITS, try_parse_dates=True)
    dated.write_parquet(tmp_path / "d.parquet")
    dated.write_ipc(tmp_path / "d.arrow")
    names = ("t.csv", "t.parquet", "t.arrow", "c.parquet", "d.parquet", "d.arrow")
    return {name: tmp_path / name for name in names}


@pytest.mark.parametrize(
    "target",
    [
        YES,
        (*YES, *RANKS),
        ("--target", "age"),
        ("--target", "ward", "--classes", "surgery,trauma,oncology"),
    ],
)
def test_all_formats_and_both_readers_of_parquet_select_the_same(
    target: tuple[str, ...],
    forms: dict[str, Path],
    dpsel: Dpsel,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[str],
) -> None:
    # Little epsilon: what is selected is mostly noise, and depends on all scores.
    ask = (*target, "--k", 6, "--epsilon", 0.05, "--seed", 5)
    wide = [dpsel("select", forms[name], *ask) for name in ("t.parquet", "c.parquet", "d.parquet")]
    assert steps.count("rows") >= 3
    steps.clear()
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1 << 40)
    plain = [dpsel("select", path, *ask) for path in forms.values()]
    assert steps == []
    assert {result.code for result in (*wide, *plain)} == {0}
    assert len({(result.out, result.err) for result in (*wide, *plain)}) == 1


@pytest.fixture
def arrays(tmp_path: Path) -> pl.DataFrame:
    """Rows of very different brightness, in which g3 is above g4 for one class only."""
    rng = np.random.default_rng(4)
    ill = np.arange(400) % 2
    X = rng.uniform(0, 1, (400, 12))
    X[:, 3] = np.where(ill, 3, 2)
    X[:, 4] = np.where(ill, 2, 3)
    X *= np.exp(rng.normal(0, 3, (400, 1)))
    frame = pl.DataFrame({f"g{column}": X[:, column] for column in range(12)})
    frame = frame.with_columns(status=pl.Series(["ill" if one else "well" for one in ill]))
    frame.write_csv(tmp_path / "arrays.csv")
    return frame


@pytest.mark.parametrize("method", ["stump", "kendall"])
def test_ranks_within_rows_find_what_brightness_hides(
    method: str, arrays: pl.DataFrame, tmp_path: Path, dpsel: Dpsel
) -> None:
    ask = ("--target", "status", "--positive", "ill", "--k", 2, "--epsilon", 3, "--seed", 1)
    path = tmp_path / "arrays.csv"
    plain = record_of(dpsel("select", path, *ask, "--method", method).out)
    found = record_of(dpsel("select", path, *ask, "--method", method, *RANKS).out)
    assert found["selected_features"] == ["g3", "g4"] != plain["selected_features"]
    assert (found["row_ranks"], "row_ranks" in plain) == (True, False)
    assert found["guarantee"] == plain["guarantee"]
    asked: dict[str, Any] = {"target": "status", "positive": "ill", "k": 2, "epsilon": 3}
    again = package.select(arrays, **asked, seed=1, method=method, row_ranks=True)
    assert again.to_dict() == found
    assert package.Selection.from_dict(found) == again
