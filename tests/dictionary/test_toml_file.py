"""A dictionary is read strictly, and written so that it is read again as the same."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.bounds import Interval
from dpsel.dictionary.facts import ColumnFacts, ColumnKind, Dictionary, TargetColumn
from dpsel.dictionary.toml_file import dictionary_text, parse_dictionary, read_dictionary
from dpsel.errors import InputError

WHOLE = """
person = "patient"

[target]
column = "came_back"
classes = ["no", "yes"]
positive = "yes"
share = 0.2

[groups.diet]
columns = "diet_*"

[groups.labs]
columns = ["lab_a", "lab_b*"]

[columns]
patient = { kind = "id" }
age = { kind = "number", range = [0, 120], unit = "years", note = "at admission" }
ward = { categories = ["surgery", 7, true] }
"lab_*" = { range = [0.5, 1e3] }
later = { kind = "" }
"""


def parsed(text: str) -> Dictionary:
    import tomllib

    return parse_dictionary(tomllib.loads(text), "d.toml")


def test_every_fact_is_read(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(WHOLE)
    number, category = ColumnKind.NUMBER, ColumnKind.CATEGORY
    assert read_dictionary(tmp_path / "d.toml") == Dictionary(
        "d.toml",
        {
            "patient": ColumnFacts(ColumnKind.ID),
            "age": ColumnFacts(number, Interval(0, 120), None, "years", "at admission"),
            "ward": ColumnFacts(category, categories=("surgery", "7", "true")),
            "lab_*": ColumnFacts(number, Interval(0.5, 1000)),
            "later": ColumnFacts(),
        },
        TargetColumn("came_back", ("no", "yes"), "yes", 0.2),
        "patient",
        {"diet": ("diet_*",), "labs": ("lab_a", "lab_b*")},
    )


# Any text but lone halves of a pair, which no file in UTF-8 holds.
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
LABELS = TEXTS.map(str.strip).filter(bool)
ENDS = st.floats(-1e300, 1e300)
RANGES = st.tuples(ENDS, ENDS).filter(lambda e: e[1] / 2 - e[0] / 2 > 0).map(lambda e: Interval(*e))
OPTIONAL_TEXTS = st.none() | TEXTS
COLUMNS = st.one_of(
    st.builds(
        ColumnFacts,
        st.sampled_from([ColumnKind.NUMBER]),
        st.none() | RANGES,
        unit=OPTIONAL_TEXTS,
        note=OPTIONAL_TEXTS,
    ),
    st.builds(
        ColumnFacts,
        st.sampled_from([ColumnKind.CATEGORY]),
        categories=st.lists(LABELS, min_size=1, max_size=4, unique=True).map(tuple),
        note=OPTIONAL_TEXTS,
    ),
    st.builds(ColumnFacts, st.none() | st.sampled_from(ColumnKind)),
)
TARGETS = st.one_of(
    st.none(),
    st.builds(TargetColumn, TEXTS, positive=LABELS, share=st.floats(0.01, 0.99)),
    st.builds(TargetColumn, TEXTS, range=RANGES, center=ENDS),
)
DICTIONARIES = st.builds(
    Dictionary,
    st.just("d.toml"),
    st.dictionaries(TEXTS, COLUMNS, max_size=5),
    TARGETS,
    OPTIONAL_TEXTS,
    st.dictionaries(
        TEXTS.filter(bool), st.lists(TEXTS, min_size=1, max_size=3).map(tuple), max_size=3
    ),
)


@given(DICTIONARIES)
def test_what_is_written_is_read_again_as_the_same(dictionary: Dictionary) -> None:
    text = dictionary_text(dictionary)
    assert parsed(text) == dictionary
    assert all(sign.isprintable() or sign == "\n" for sign in text)


@pytest.mark.parametrize(
    "name",
    ['a"b', "a\nb", "\x00", "\x7f", "\x1b[31m", "‮abc", "", " ", "ä.b", "a]", "#", "a = 1", "日本"],
)
def test_hostile_names_survive(name: str) -> None:
    facts = {name: ColumnFacts(ColumnKind.NUMBER, note=name)}
    written = Dictionary("d.toml", facts, None, name, {f"g{name}": (name,)})
    assert parsed(dictionary_text(written)) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[colums]\n", "unknown word 'colums'; did you mean 'columns'?"),
        ("[columns.a]\nrnage = [0, 1]\n", "[columns.a] has an unknown word 'rnage'; did you mean"),
        ("[columns.a]\nxyz = 1\n", "expected kind, range, categories, unit, note"),
        ("[columns.a]\nkind = 'nubmer'\n", "did you mean 'number'?"),
        ("[columns.a]\nkind = 3\n", "kind must be one of number, category, date, id, text, ignore"),
        ("columns = 3\n", "[columns] must hold one entry a name"),
        ("[columns]\na = 3\n", "[columns.a] must hold kind, range"),
        ("[columns.a]\nrange = [1, 0]\n", "lower must be below upper"),
        ("[columns.a]\nrange = [0, inf]\n", "must be a finite number"),
        ("[columns.a]\nrange = [0]\n", "range must be two numbers"),
        ("[columns.a]\nrange = ['0', 1]\n", "columns.a.range must be a number"),
        ("[columns.a]\nrange = [0, 1]\ncategories = ['x']\n", "either range or categories"),
        ("[columns.a]\nkind = 'id'\nrange = [0, 1]\n", "range goes with kind number, not id"),
        ("[columns.a]\ncategories = 'x'\n", "categories must be a list of labels"),
        ("[columns.a]\ncategories = ['x', 'x']\n", "categories must be different labels"),
        ("[columns.a]\ncategories = [' ']\n", "and not empty"),
        ("[target]\nclasses = ['a', 'b']\n", "must say which column it is about"),
        ("[target]\ncolumn = 'y'\nclasses = ['a']\n", "two labels or more"),
        ("[target]\ncolumn = 'y'\nclasses = ['a', 'b']\npositive = 'c'\n", "one of the classes"),
        ("[target]\ncolumn = 'y'\npositive = 'c'\nrange = [0, 1]\n", "go with numbers"),
        ("[target]\ncolumn = 'y'\nshare = 0.5\n", "share must be between 0 and 1, and goes with"),
        ("[target]\ncolumn = 'y'\npositive = 'a'\nshare = 2\n", "share must be between 0 and 1"),
        ("person = 3\n", "person must be a text"),
        ("[groups.a]\n", "columns must be a name or glob, or a list of them"),
        ("[groups.a]\ncolumn = 'x'\n", "did you mean 'columns'?"),
        ("[groups.'']\ncolumns = 'x'\n", "a group must have a name"),
        ("person = \n", "is not TOML"),
    ],
)
def test_what_is_wrong_is_refused_with_a_word_of_help(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "d.toml").write_text(text)
    with pytest.raises(InputError, match=r"^d\.toml: ") as caught:
        read_dictionary(tmp_path / "d.toml")
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [None, [], 3, {"columns": {"a": {"kind": []}}}, {"target": 3}])
def test_a_mapping_of_another_shape_is_refused(content: Any) -> None:
    with pytest.raises(InputError):
        parse_dictionary(content, "dictionary")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"d\.toml: no such file"):
        read_dictionary(tmp_path / "d.toml")
