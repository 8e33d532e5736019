"""Dictionaries of other tools, by hand-made examples of their public formats."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dpsel.core.bounds import Interval
from dpsel.dictionary.facts import ColumnFacts, ColumnKind, Dictionary
from dpsel.dictionary.imports import import_dictionary
from dpsel.dictionary.options import DictionaryFormat
from dpsel.dictionary.smartnoise import read_simple_yaml
from dpsel.dictionary.toml_file import dictionary_text, parse_dictionary
from dpsel.errors import InputError

NUMBER, CATEGORY, DATE, ID, TEXT, IGNORE = (
    ColumnKind(name) for name in ("number", "category", "date", "id", "text", "ignore")
)

REDCAP_HEADER = (
    '"Variable / Field Name","Form Name","Section Header","Field Type","Field Label",'
    '"Choices, Calculations, OR Slider Labels","Field Note",'
    '"Text Validation Type OR Show Slider Number","Text Validation Min","Text Validation Max",'
    'Identifier?,"Branching Logic (Show field only if...)","Required Field?","Custom Alignment",'
    '"Question Number (surveys only)","Matrix Group Name","Matrix Ranking?","Field Annotation"\n'
)
REDCAP = REDCAP_HEADER + (
    'record_id,base,,text,"Study id",,,,,,,,,,,,,\n'
    'mrn,base,,text,"Record number",,,,,,y,,,,,,,\n'
    'age,base,,text,"Age, at\nadmission",,years,integer,0,120,,,,,,,,\n'
    "weight,base,,text,Weight,,kg,number_1dp,,300,,,,,,,,\n"
    "seen,base,,text,Seen,,,date_ymd,2020-01-01,2024-01-01,,,,,,,,\n"
    "story,base,,notes,Story,,,,,,,,,,,,,\n"
    "hello,base,,descriptive,Welcome,,,,,,,,,,,,,\n"
    'sex,base,,radio,Sex,"1, Female | 2, Male, or so",,,,,,,,,,,,\n'
    'site,base,,dropdown,Site,"n, North|s, South",,,,,,,,,,,,\n'
    "smokes,base,,yesno,Smokes,,,,,,,,,,,,,\n"
    'diet,base,,checkbox,Diet,"1, Meat | -2, None",,,,,,,,,,,,\n'
    'pain,base,,slider,Pain,"none | some | much",,number,,,,,,,,,,\n'
    "bmi,base,,calc,BMI,[weight]/2,,,,,,,,,,,,\n"
    "scan,base,,file,Scan,,,,,,,,,,,,,\n"
)
FROM_REDCAP = {
    "record_id": ColumnFacts(ID, note="Study id"),
    "mrn": ColumnFacts(ID, note="Record number"),
    "age": ColumnFacts(NUMBER, Interval(0, 120), note="Age, at admission"),
    "weight": ColumnFacts(NUMBER, note="Weight"),
    "seen": ColumnFacts(DATE, note="Seen"),
    "story": ColumnFacts(TEXT, note="Story"),
    "sex": ColumnFacts(CATEGORY, categories=("1", "2"), note="Sex (1 = Female, 2 = Male, or so)"),
    "site": ColumnFacts(CATEGORY, categories=("n", "s"), note="Site (n = North, s = South)"),
    "smokes": ColumnFacts(CATEGORY, categories=("0", "1"), note="Smokes"),
    "diet___1": ColumnFacts(CATEGORY, categories=("0", "1"), note="Diet: Meat"),
    "diet____2": ColumnFacts(CATEGORY, categories=("0", "1"), note="Diet: None"),
    "pain": ColumnFacts(NUMBER, Interval(0, 100), note="Pain"),
    "bmi": ColumnFacts(NUMBER, note="BMI"),
    "scan": ColumnFacts(IGNORE, note="Scan"),
}

SCHEMA: dict[str, Any] = {
    "fields": [
        {"name": "id", "type": "integer"},
        {"name": "code", "type": "string", "constraints": {"unique": True}},
        {
            "name": "age",
            "type": "integer",
            "title": "Age",
            "constraints": {"minimum": 0, "maximum": "120"},
        },
        {"name": "height", "type": "number", "constraints": {"exclusiveMinimum": 0, "maximum": 3}},
        {"name": "open", "type": "number", "constraints": {"minimum": 0}},
        {"name": "ward", "type": "string", "constraints": {"enum": ["a", "b"]}},
        {"name": "level", "type": "integer", "categories": [{"value": 1, "label": "x"}, 2, 3]},
        {"name": "well", "type": "boolean"},
        {"name": "seen", "type": "date", "constraints": {"minimum": "2020-01-01"}},
        {"name": "story", "type": "string", "description": "Anything"},
        {"name": "odd"},
    ],
    "primaryKey": "id",
}
FROM_SCHEMA = {
    "id": ColumnFacts(ID),
    "code": ColumnFacts(ID),
    "age": ColumnFacts(NUMBER, Interval(0, 120), note="Age"),
    "height": ColumnFacts(NUMBER, Interval(0, 3)),
    "open": ColumnFacts(NUMBER),
    "ward": ColumnFacts(CATEGORY, categories=("a", "b")),
    "level": ColumnFacts(CATEGORY, categories=("1", "2", "3")),
    "well": ColumnFacts(CATEGORY, categories=("false", "true")),
    "seen": ColumnFacts(DATE),
    "story": ColumnFacts(TEXT, note="Anything"),
    "odd": ColumnFacts(),
}

SMARTNOISE = """\
# made by hand
---
engine: csv
"":
  clinic:   # the schema
    visits:
      row_privacy: False
      rows: 1000
      max_ids: 3
      pid:
        private_id: True
        type: int
      age:
        type: int
        lower: 0
        upper: 100
      "in come":
        type: float
        lower: -1.5e3
        upper: 500000   # dollars
      'it''s':
        type: string
        cardinality: 4
      married:
        type: boolean
      seen:
        type: datetime
      odd:
        type: unknown
"""
FROM_SMARTNOISE = {
    "pid": ColumnFacts(ID),
    "age": ColumnFacts(NUMBER, Interval(0, 100)),
    "in come": ColumnFacts(NUMBER, Interval(-1500, 500000)),
    "it's": ColumnFacts(TEXT),
    "married": ColumnFacts(CATEGORY, categories=("false", "true")),
    "seen": ColumnFacts(DATE),
    "odd": ColumnFacts(),
}

CSVW: dict[str, Any] = {
    "@context": ["http://www.w3.org/ns/csvw"],
    "@type": "csvw:Table",
    "name": "penguins",
    "privacyUnit": "penguin_id",
    "csvw-eo:maxContributions": 4,
    "tableSchema": {
        "primaryKey": "row",
        "columns": [
            {"name": "penguin_id", "datatype": "string", "privacyId": True},
            {"name": "row", "datatype": "integer"},
            {"name": "species", "datatype": "string", "keyValues": ["Adelie", "Gentoo"]},
            {"name": "island", "datatype": "string", "csvw-eo:publicKeys": ["B"]},
            {"name": "some", "publicKeys": ["x"], "exhaustiveKeys": False},
            {"name": "mass", "datatype": "double", "minimum": 2000, "maximum": 7000},
            {
                "name": "bill",
                "titles": {"en": "bill length"},
                "datatype": {"base": "decimal", "minimum": 10, "maximum": 80.5},
                "dc:description": "in mm",
            },
            {"name": "male", "datatype": "boolean"},
            {"name": "hatched", "datatype": {"base": "date", "format": "yyyy"}},
            {"name": "made", "virtual": True},
        ],
    },
}
FROM_CSVW = {
    "penguin_id": ColumnFacts(ID),
    "row": ColumnFacts(ID),
    "species": ColumnFacts(CATEGORY, categories=("Adelie", "Gentoo")),
    "island": ColumnFacts(CATEGORY, categories=("B",)),
    "some": ColumnFacts(),
    "mass": ColumnFacts(NUMBER, Interval(2000, 7000)),
    "bill length": ColumnFacts(NUMBER, Interval(10, 80.5), note="in mm"),
    "male": ColumnFacts(CATEGORY, categories=("false", "true")),
    "hatched": ColumnFacts(DATE),
}

EXAMPLES = [
    ("redcap", "d.csv", REDCAP, FROM_REDCAP, "record_id"),
    ("table-schema", "schema.json", json.dumps(SCHEMA), FROM_SCHEMA, None),
    ("table-schema", "p.json", json.dumps({"resources": [{"schema": SCHEMA}]}), FROM_SCHEMA, None),
    ("smartnoise", "visits.yaml", SMARTNOISE, FROM_SMARTNOISE, "pid"),
    ("csvw-eo", "t.csv-metadata.json", json.dumps(CSVW), FROM_CSVW, "penguin_id"),
    ("csvw-eo", "all.json", json.dumps({"tables": [CSVW]}), FROM_CSVW, "penguin_id"),
]


@pytest.mark.parametrize(("kind", "name", "text", "facts", "person"), EXAMPLES)
def test_a_dictionary_of_another_tool_is_read_recognised_and_written_as_toml(
    kind: str,
    name: str,
    text: str,
    facts: dict[str, ColumnFacts],
    person: str | None,
    tmp_path: Path,
) -> None:
    (tmp_path / name).write_text(text)
    found = import_dictionary(tmp_path / name)
    assert dict(found.dictionary.columns) == facts
    assert list(found.dictionary.columns) == list(facts)
    assert found.dictionary.person == person
    again = parse_dictionary(tomllib.loads(dictionary_text(found.dictionary)), name)
    assert again == found.dictionary
    (tmp_path / "other").write_text(text)
    said = import_dictionary(tmp_path / "other", DictionaryFormat(kind)).dictionary
    assert said == Dictionary("other", facts, None, person)


def notes_of(text: str, tmp_path: Path, name: str) -> tuple[str, ...]:
    (tmp_path / name).write_text(text)
    return import_dictionary(tmp_path / name).notes


def test_what_a_dictionary_cannot_say_is_told(tmp_path: Path) -> None:
    (note,) = notes_of(REDCAP, tmp_path, "d.csv")
    assert note.startswith("'record_id', the first field, is taken as the person")
    assert notes_of(SMARTNOISE, tmp_path, "a.yaml") == (
        "at most 3 rows a person: give --rows-per-person 3",
    )
    by_rows = SMARTNOISE.replace("row_privacy: False", "row_privacy: True")
    assert notes_of(by_rows, tmp_path, "b.yaml") == ()
    assert import_dictionary(tmp_path / "b.yaml").dictionary.person is None
    assert notes_of(json.dumps(CSVW), tmp_path, "c.json") == (
        "at most 4 rows a person: give --rows-per-person 4",
    )


def test_redcap_s_interface_names_columns_otherwise(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("field_name,field_type,field_label\nid,text,Id\nx,calc,X\n")
    columns = import_dictionary(tmp_path / "d.csv").dictionary.columns
    assert columns == {"id": ColumnFacts(ID, note="Id"), "x": ColumnFacts(NUMBER, note="X")}


def test_two_codes_are_numbers_and_three_are_not() -> None:
    assert ColumnFacts(CATEGORY, categories=("0", "1")).interval == Interval(0, 1)
    assert ColumnFacts(CATEGORY, categories=("true", "false")).interval == Interval(0, 1)
    assert ColumnFacts(CATEGORY, categories=("0", "1", "2")).interval is None
    assert ColumnFacts(CATEGORY, categories=("a", "1")).interval is None
    assert ColumnFacts(CATEGORY, categories=("1", "1.0")).interval is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("d.txt", "a,b\n", "cannot tell its format; say which with --from redcap|table-schema"),
        ("d.json", "{", "is not JSON"),
        ("d.json", "[" * 100_000, "cannot be read as JSON"),
        ("d.json", "{}", "is no table schema: it has no fields"),
        ("d.json", "[]", "the file must hold names and values"),
        ("d.json", '{"fields": []}', "describes no column"),
        ("d.json", '{"fields": [{}]}', "a field has no name"),
        ("d.json", '{"fields": [{"name": "a"}, {"name": "a"}]}', "column 'a' is there twice"),
        ("d.json", '{"resources": []}', "has several tables"),
        ("d.json", '{"tables": []}', "has several tables"),
        ("d.json", '{"tableSchema": {}}', "tableSchema has no list of columns"),
        ("d.json", '{"tableSchema": {"columns": [{}]}}', "neither titles nor a name"),
        ("d.csv", REDCAP_HEADER, "is no REDCap data dictionary"),
        ("d.csv", REDCAP_HEADER + "a,f,,magic,,,,,,,,,,,,,,\n", "a type that REDCap does not have"),
        ("d.csv", REDCAP_HEADER + 'a,f,,text,"x', "is not a CSV"),
        ("d.yaml", "a: 1\n", "got 0 tables"),
        ("d.yaml", "a:\n  b:\n    c:\n      x: {type: int}\n", "line 4 has a value that"),
        ("d.yaml", "a:\n  - b\n", "line 2 is no name and value"),
        ("d.yaml", "a:\n\tb: 1\n", "line 2 is no name and value"),
        ("d.yaml", "a:\n  b: 1\n c: 2\n", "line 3 is indented otherwise"),
        ("d.yaml", "a: 1\n  b: 2\n", "line 2 is indented otherwise"),
        ("d.yaml", "a: 1\na: 2\n", "line 2 is indented otherwise, or says a name twice"),
    ],
)
def test_what_is_not_of_the_format_is_refused(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        import_dictionary(tmp_path / name)
    assert str(caught.value).startswith(f"{name}: ")
    assert message in str(caught.value)


def test_the_part_of_yaml_that_is_read_is_read_as_yaml_does() -> None:
    yaml = pytest.importorskip("yaml")
    more = """other:
  a: 'no # comment'
  b: "\\u00e4: x"   # one
  c: ~
  d: 1e-3
  two words: a b
last: null
"""
    # YAML 1.1 takes 1e-3, without a point, for a text.
    expected = yaml.safe_load(SMARTNOISE + more)
    expected["other"]["d"] = 0.001
    expected[""]["clinic"]["visits"]["in come"]["lower"] = -1500.0
    assert read_simple_yaml(SMARTNOISE + more, "d") == expected
