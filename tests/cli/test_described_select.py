"""`dpsel select --dictionary`: what it says counts, and an option that is given wins."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import dpsel as package
from dpsel.errors import InputError, UsageError
from tests.cli.conftest import Dpsel

SCHEMA = json.loads(
    (Path(package.__file__).parent / "selection" / "selection.schema.json").read_text()
)
ASK = ("--k", 2, "--epsilon", 200, "--quiet")


def table() -> pl.DataFrame:
    """Return 400 rows whose labels are told by `age`, a little by `dose_b`, and by nothing else."""
    rng = np.random.default_rng(5)
    age, dose = rng.uniform(20, 80, 400), rng.integers(0, 9, 400)
    y = np.where(age > 50, "yes", "no")
    return pl.DataFrame(
        {
            "patient": [f"p{row // 2}" for row in range(400)],
            "answer": y,
            "age": age,
            "ward": rng.choice(["a", "b", "c"], 400),
            "dose_a": rng.uniform(0, 1, 400),
            "dose_b": age + rng.normal(0, 20, 400),
            "dose_c": dose,
            "y": y,
        }
    )


DICTIONARY = """
[target]
column = "y"
positive = "yes"

[columns]
patient = { kind = "id" }
answer = { kind = "ignore" }
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    table().write_csv(tmp_path / "t.csv")
    table().write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.toml").write_text(DICTIONARY)
    return tmp_path


def record_of(out: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(out)
    jsonschema.validate(record, SCHEMA)
    return record


def write(place: Path, text: str) -> Path:
    (place / "t.toml").write_text(text)
    return place / "t.toml"


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_ids_and_ignored_columns_are_never_features(name: str, place: Path, dpsel: Dpsel) -> None:
    asked = ("select", place / name, "--target", "y", *ASK)
    without = dpsel(*asked, "--positive", "yes")
    assert "answer" in record_of(without.out)["selected_features"]
    done = dpsel(*asked, "--dictionary", place / "t.toml")
    assert (done.code, done.err) == (0, "")
    record = record_of(done.out)
    assert record["selected_features"] == ["age", "dose_b"]
    assert record["n_features"] == 5
    assert record["positive"] == "yes"


def test_a_column_that_is_never_a_feature_cannot_be_asked_for(place: Path, dpsel: Dpsel) -> None:
    asked = ("select", place / "t.csv", "--target", "y", *ASK, "--dictionary", place / "t.toml")
    done = dpsel(*asked, "--features", "age,patient")
    assert (done.code, done.out) == (2, "")
    assert "--features: 'patient' is never a feature: so its dictionary says" in done.err
    done = dpsel(*asked, "--features", "a*,dose_b")
    assert record_of(done.out)["selected_features"] == ["age", "dose_b"]
    assert record_of(done.out)["n_features"] == 2


@pytest.mark.parametrize("kind", ['patient = { kind = "id" }\n', ""])
def test_a_person_column_protects_persons(kind: str, place: Path, dpsel: Dpsel) -> None:
    columns = DICTIONARY.replace('patient = { kind = "id" }\n', kind)
    told = write(place, 'person = "patient"\n' + columns)
    asked = ("select", place / "t.csv", "--target", "y", *ASK, "--dictionary", told)
    record = record_of(dpsel(*asked, "--rows-per-person", 2).out)
    assert record["guarantee"]["unit"] == "person"
    assert record["guarantee"]["rows_per_unit"] == 2
    assert record["n_features"] == 5
    # Another one by an option: the dictionary's is no feature either.
    record = record_of(dpsel(*asked, "--person", "ward").out)
    assert record["n_features"] == 4


@pytest.mark.parametrize(
    ("labels", "options", "expected"),
    [
        ('classes = ["a", "b", "c"]', (), {"classes": ["a", "b", "c"]}),
        ('classes = ["b", "rest"]', (), {"positive": "rest"}),
        ('classes = ["a", "b", "c"]\npositive = "b"', (), {"positive": "b"}),
        ('classes = ["a", "b", "c"]', ("--positive", "a"), {"positive": "a"}),
        ('positive = "a"\nshare = 0.3', (), {"positive": "a"}),
        ('positive = "a"\nshare = 0.3', ("--classes", "a,b,c"), {"classes": ["a", "b", "c"]}),
        ('classes = ["a", "b,c", "c"]', (), {"classes": ["a", "b,c", "c"]}),
    ],
)
def test_labels_of_the_target_come_from_the_dictionary_unless_given(
    labels: str, options: tuple[str, ...], expected: dict[str, Any], place: Path, dpsel: Dpsel
) -> None:
    told = write(place, f'[target]\ncolumn = "ward"\n{labels}\n')
    asked = ("select", place / "t.csv", "--target", "ward", *ASK, "--dictionary", told)
    record = record_of(dpsel(*asked, *options).out)
    found = {name: record[name] for name in ("positive", "classes") if name in record}
    assert found == expected
    paid = [part["name"] for part in record.get("budget", [])]
    assert ("counts of the two classes" in paid) == ("positive" in found and "share" not in labels)


def test_categories_of_a_column_are_the_classes_of_a_target(place: Path, dpsel: Dpsel) -> None:
    told = write(place, '[columns]\nward = { categories = ["a", "b", "c"] }\n')
    done = dpsel("select", place / "t.csv", "--target", "ward", *ASK, "--dictionary", told)
    assert record_of(done.out)["classes"] == ["a", "b", "c"]


RANGES = (
    DICTIONARY
    + """\
ward = { kind = "ignore" }
age = { range = [20, 80] }
"dose_*" = { range = [0, 100] }
"""
)


@pytest.mark.parametrize("score", ["dot", "covariance"])
def test_ranges_are_bounds(score: str, place: Path, dpsel: Dpsel) -> None:
    told = write(place, RANGES)
    (place / "bounds.toml").write_text(
        "[columns]\nage = { lower = 20, upper = 80 }\n"
        + "".join(f"dose_{c} = {{ lower = 0, upper = 100 }}\n" for c in "abc")
    )
    asked = ("select", place / "t.csv", "--target", "y", *ASK, "--score", score, "--seed", 3)
    by_ranges = record_of(dpsel(*asked, "--dictionary", told).out)
    by_bounds = dpsel(
        *(*asked, "--positive", "yes", "--bounds", place / "bounds.toml"),
        *("--exclude", "patient,answer,ward"),
    )
    other = {"exclude", "version"}
    assert {k: v for k, v in by_ranges.items() if k not in other} == {
        k: v for k, v in record_of(by_bounds.out).items() if k not in other
    }


@pytest.mark.parametrize("score", ["stump", "kendall"])
def test_scores_that_need_no_bounds_leave_ranges_alone(
    score: str, place: Path, dpsel: Dpsel
) -> None:
    told = write(place, RANGES)
    asked = ("select", place / "t.csv", "--target", "y", *ASK, "--score", score)
    record = record_of(dpsel(*asked, "--dictionary", told).out)
    assert record["selected_features"] == ["age", "dose_b"]
    assert record["guarantee"]["end_to_end"]


def test_bounds_win_over_ranges(place: Path, dpsel: Dpsel) -> None:
    told = write(place, RANGES.replace("[20, 80]", "[1000, 2000]"))
    ask = ("--k", 1, "--epsilon", 200, "--quiet", "--seed", 1)
    asked = ("select", place / "t.csv", "--target", "y", *ask)
    how = ("--score", "covariance", "--dictionary", told, "--exclude", "dose_b")
    assert record_of(dpsel(*asked, *how).out)["selected_features"] != ["age"]
    record = record_of(dpsel(*asked, *how, "--lower", 0, "--upper", 100).out)
    assert record["selected_features"] == ["age"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (RANGES.replace("age = { range = [20, 80] }", ""), (), "column 'age' has no range"),
        (RANGES.replace("[0, 100]", "[0, 1e999]"), (), "must be a finite number"),
        (RANGES.replace("age =", "aged ="), (), "no column 'aged'; did you mean 'age'?"),
        (RANGES.replace('ward = { kind = "ignore" }', ""), (), "column 'ward' has no range"),
        (
            RANGES.replace('ward = { kind = "ignore" }', 'ward = { kind = "category" }'),
            (),
            "column 'ward' holds categories, not numbers; leave it out with --exclude 'ward'",
        ),
        ('person = "pid"\n' + RANGES, (), "person: the table has no column 'pid'"),
        (
            RANGES.replace('positive = "yes"', 'classes = ["a", "b", "c"]'),
            (),
            "the target 'y' holds categories; name one of its labels with --positive LABEL",
        ),
        (RANGES.replace('positive = "yes"', "center = 3"), (), "the target 'y' has no range"),
        ("[columns]\nage = { kind = 'number' }\n", ("--positive", "yes"), "needs public bounds"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_row_is_read(
    text: str, options: tuple[str, ...], message: str, place: Path, dpsel: Dpsel
) -> None:
    told = write(place, text)
    asked = ("select", place / "t.csv", "--target", "y", *ASK, "--score", "dot")
    done = dpsel(*asked, "--dictionary", told, *options)
    assert done.code in (2, 3)
    assert done.out == ""
    assert message in done.err


def test_with_a_dictionary_no_cell_of_a_csv_decides_a_type(tmp_path: Path, dpsel: Dpsel) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n" + "word,1,2\n" * 5)
    (tmp_path / "t.toml").write_text("[columns]\nb = { kind = 'number' }\n")
    asked = ("select", tmp_path / "t.csv", "--target", "y", "--k", 1, "--epsilon", 1, "--quiet")
    how = ("--score", "kendall")
    assert dpsel(*asked, *how).code == 0
    assert dpsel(*asked, *how, "--dictionary", tmp_path / "t.toml").code == 0


def test_a_run_id_stands_for_what_the_dictionary_says(place: Path, dpsel: Dpsel) -> None:
    ledgers = ("--ledger-file", place / "l.sqlite3")
    assert dpsel("budget", "init", "b", "--epsilon", 1000, *ledgers).code == 0
    asked = ("select", place / "t.csv", "--target", "y", *ASK, "--dictionary", place / "t.toml")
    paid = ("--ledger", "b", "--run-id", "one", *ledgers)
    first = dpsel(*asked, *paid)
    assert dpsel(*asked, *paid) == first
    write(place, DICTIONARY + 'age = { kind = "ignore" }\n')
    changed = dpsel(*asked, *paid)
    assert changed.code != 0
    assert changed.out == ""


DOSES = '\n[groups.doses]\ncolumns = "dose_*"\n'


@pytest.mark.parametrize("score", ["stump", "kendall", "dot", "covariance"])
def test_a_group_is_one_feature(score: str, place: Path, dpsel: Dpsel) -> None:
    told = write(place, RANGES + DOSES)
    asked = ("select", place / "t.csv", "--target", "y", *ASK, "--score", score)
    record = record_of(dpsel(*asked, "--dictionary", told).out)
    assert record["selected_features"] == ["age", "doses"]
    assert record["selected_indices"] == [0, 1]
    assert (record["k"], record["n_features"]) == (2, 2)
    assert record["groups"] == {"doses": ["dose_a", "dose_b", "dose_c"]}


def test_a_group_stands_where_its_first_member_stood(place: Path, dpsel: Dpsel) -> None:
    told = write(place, DICTIONARY + '\n[groups.early]\ncolumns = ["dose_c", "age"]\n')
    asked = ("select", place / "t.csv", "--target", "y", *ASK, "--dictionary", told)
    record = record_of(dpsel(*asked).out)
    assert (record["selected_features"], record["selected_indices"]) == (
        ["early", "dose_b"],
        [0, 3],
    )
    assert record["groups"] == {"early": ["age", "dose_c"]}
    assert record["n_features"] == 4
    # Members that are left out do not count, nor does a group without any.
    record = record_of(dpsel(*asked, "--exclude", "dose_c").out)
    assert record["groups"] == {"early": ["age"]}
    record = record_of(dpsel(*asked, "--exclude", "dose_c,age").out)
    assert "groups" not in record
    assert record["n_features"] == 3


def test_k_is_at_most_the_number_of_groups_and_columns(place: Path, dpsel: Dpsel) -> None:
    told = write(place, DICTIONARY + DOSES)
    asked = ("select", place / "t.csv", "--target", "y", "--epsilon", 1, "--dictionary", told)
    done = dpsel(*asked, "--k", 4)
    limit = "k must be between 1 and 3, the number of features"
    assert (done.code, done.err) == (2, f"error: {limit}, got 4\n")
    assert "k is 3, the number of features" in dpsel(*asked, "--k", 3).err


def test_a_released_group_is_read_again_from_its_record() -> None:
    told: dict[str, Any] = {"groups": {"doses": {"columns": "dose_*"}}}
    chosen = package.select(
        table().drop("patient", "answer"),
        target="y",
        positive="yes",
        k=2,
        epsilon=200,
        dictionary=told,
    )
    assert chosen.groups == {"doses": ("dose_a", "dose_b", "dose_c")}
    assert type(chosen).from_dict(json.loads(json.dumps(chosen.to_dict()))) == chosen


def test_dpkendall_takes_no_groups(place: Path) -> None:
    told: dict[str, Any] = {"groups": {"doses": {"columns": "dose_*"}}}
    with pytest.raises(UsageError, match="dpkendall selects columns"):
        package.select(
            place / "t.csv",
            target="y",
            positive="yes",
            k=2,
            epsilon=1,
            method="dpkendall",
            dictionary=told,
        )


def test_a_dictionary_may_be_a_file_or_a_mapping_in_python(place: Path) -> None:
    asked: dict[str, Any] = {"target": "y", "k": 2, "epsilon": 200}
    by_file = package.select(place / "t.csv", **asked, dictionary=place / "t.toml")
    assert by_file.selected_features == ["age", "dose_b"]
    with pytest.raises(InputError, match="unknown word 'colums'; did you mean 'columns'"):
        package.select(place / "t.csv", **asked, dictionary={"colums": {}})
