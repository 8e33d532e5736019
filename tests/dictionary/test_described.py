"""Globs become columns, the most specific fact wins, and what is unclear is refused."""

from typing import Any

import pytest

from dpsel.core.bounds import Interval
from dpsel.dictionary.described import described, target_facts
from dpsel.dictionary.facts import ColumnFacts, ColumnKind, Dictionary
from dpsel.dictionary.toml_file import parse_dictionary
from dpsel.errors import InputError

NAMES = ("patient", "lab_a", "lab_blood_a", "lab_blood_total", "diet_1", "diet_2", "y")


def dictionary(**sections: Any) -> Dictionary:
    return parse_dictionary(sections, "d.toml")


def range_of(columns: dict[str, Any], name: str) -> Interval | None:
    return described(dictionary(columns=columns), NAMES).facts[name].range


def test_a_name_wins_over_a_glob_and_a_narrower_glob_over_a_wider_one() -> None:
    columns = {
        "lab_*": {"range": [0, 1]},
        "lab_blood_*": {"range": [0, 2]},
        "lab_blood_total": {"range": [0, 3]},
    }
    assert range_of(columns, "lab_a") == Interval(0, 1)
    assert range_of(columns, "lab_blood_a") == Interval(0, 2)
    assert range_of(columns, "lab_blood_total") == Interval(0, 3)


def test_each_fact_comes_from_the_most_specific_entry_that_states_it() -> None:
    columns = {"lab_*": {"range": [0, 1], "unit": "mg"}, "lab_a": {"kind": "", "unit": "g"}}
    found = described(dictionary(columns=columns), NAMES).facts["lab_a"]
    assert found == ColumnFacts(ColumnKind.NUMBER, Interval(0, 1), unit="g")


@pytest.mark.parametrize("globs", [("lab_*", "*_total"), ("*_total", "lab_*"), ("*[l]", "*t*")])
def test_two_globs_of_which_neither_is_narrower_are_refused(globs: tuple[str, str]) -> None:
    columns = {glob: {"range": [0, place + 1]} for place, glob in enumerate(globs)}
    with pytest.raises(InputError, match="both stand for column 'lab_blood_total' and state"):
        described(dictionary(columns=columns), NAMES)
    same = {glob: {"range": [0, 1]} for glob in globs}
    assert described(dictionary(columns=same), NAMES).facts["lab_blood_total"].range


@pytest.mark.parametrize(
    ("narrow", "wide"), [("lab_?*", "lab_*"), ("lab_blood_*l", "lab_*l"), ("*b_b*", "*_*")]
)
def test_a_glob_is_narrower_if_the_other_matches_all_its_names(narrow: str, wide: str) -> None:
    for globs in ((narrow, wide), (wide, narrow)):
        columns = {glob: {"range": [0, 1 + (glob == narrow)]} for glob in globs}
        assert range_of(columns, "lab_blood_total") == Interval(0, 2)


def test_a_name_with_signs_of_a_glob_is_that_column_alone() -> None:
    found = described(dictionary(columns={"x[1]": {"kind": "id"}}), ["x[1]", "x1"])
    assert found.never_features == {"x[1]"}


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"columns": {"patent": {}}}, "no column 'patent'; did you mean 'patient'?"),
        ({"columns": {"zzz": {}, "zzzz": {}}}, r"no column 'zzz' \(and 1 more of its columns\)$"),
        ({"columns": {"zzz_*": {"kind": "id"}}}, r"no column 'zzz_\*'"),
        ({"groups": {"g": {"columns": "zzz_*"}}}, r"no column 'zzz_\*'"),
        ({"groups": {"y": {"columns": "diet_*"}}}, r"\[groups.y\] is named like a column"),
        (
            {"groups": {"a": {"columns": "diet_*"}, "b": {"columns": ["diet_2"]}}},
            "column 'diet_2' is in two groups, 'a' and 'b'",
        ),
    ],
)
def test_what_does_not_fit_the_table_is_refused(sections: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^d.toml: .*{message}"):
        described(dictionary(**sections), NAMES)


def test_members_of_a_group_are_in_the_order_of_the_table() -> None:
    groups = {"g": {"columns": ["diet_*", "lab_a"]}}
    assert described(dictionary(groups=groups), NAMES).groups == {
        "g": ("lab_a", "diet_1", "diet_2")
    }


def test_a_target_is_told_by_its_own_section_or_by_its_column() -> None:
    columns = {"y": {"categories": ["a", "b", "c"]}, "lab_*": {"range": [0, 9]}}
    told = dictionary(columns=columns, target={"column": "y", "positive": "a", "share": 0.1})
    assert target_facts(told, "y").label == "a"
    assert target_facts(told, "lab_a").range == Interval(0, 9)
    assert target_facts(dictionary(columns=columns), "y").classes == ("a", "b", "c")
    two = dictionary(columns={"y": {"categories": ["no", "yes"]}})
    assert target_facts(two, "y").label == "yes"
    assert target_facts(two, "lab_a").label is None
    center = dictionary(columns=columns, target={"column": "lab_a", "center": 4})
    assert target_facts(center, "lab_a").range == Interval(0, 9)
    assert target_facts(center, "lab_a").center == 4
