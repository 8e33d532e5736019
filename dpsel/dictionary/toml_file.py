"""Read and write a dictionary as a TOML file, such as this one.

person = "patient"

[target]
column = "came_back"
classes = ["no", "yes"]
positive = "yes"

[groups.diet]
columns = "diet_*"

[columns]
patient = { kind = "id" }
age = { kind = "number", range = [0, 120], unit = "years" }
"lab_*" = { kind = "number", range = [0, 1000] }

Every key is checked: an unknown one is refused, with the nearest known one as a hint.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpsel.core.bounds import Interval
from dpsel.dictionary.facts import (
    FACTS,
    TARGET_FACTS,
    ColumnFacts,
    ColumnKind,
    Dictionary,
    TargetColumn,
)
from dpsel.display import printable
from dpsel.errors import InputError, UsageError
from dpsel.system.text import did_you_mean, nearest, parsed, text_of
from dpsel.tables.columns import Column, visible_columns

_SECTIONS = ("person", "target", "groups", "columns")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_SKELETON_HEAD = """\
# Public facts about the columns of {label}: for dpsel select --dictionary FILE.
# Made from their names alone; no cell was read. Fill in what is known without looking at
# the data: what is read off the data is no public fact. Nothing has to be filled in.
#
# kind        number, category, date, id, text or ignore; id and ignore are never features
# range       of numbers: age = {{ kind = "number", range = [0, 120], unit = "years" }}
# categories  of labels: sex = {{ kind = "category", categories = ["f", "m"] }}
# unit, note  for readers
# A name may stand for many columns: "lab_*" = {{ kind = "number", range = [0, 1000] }}

# The column that says whose row it is, to protect persons and not rows:
# person = "COLUMN"

# What is known of the target: classes, positive, share; or range, center:
# [target]
# column = "COLUMN"
# classes = ["no", "yes"]
# positive = "yes"

# Columns that count as one feature:
# [groups.diet]
# columns = "diet_*"

[columns]
"""


def read_dictionary(path: str | Path) -> Dictionary:
    """Read the dictionary in a TOML file."""
    label = Path(path).name
    return parse_dictionary(parsed(text_of(path, "--dictionary"), label, "TOML"), label)


def parse_dictionary(content: Any, label: str) -> Dictionary:
    """Make a dictionary from a mapping of the shape above."""
    table = _table(content, "the dictionary", _SECTIONS, label)
    person = table.get("person")
    if person is not None:
        person = _text(person, "person", label)
    target = table.get("target")
    columns, groups = table.get("columns", {}), table.get("groups", {})
    for name, section in (("columns", columns), ("groups", groups)):
        if not isinstance(section, Mapping):
            raise InputError(f"{label}: [{name}] must hold one entry a name")
    return Dictionary(
        label,
        {str(name): _column(facts, f"columns.{name}", label) for name, facts in columns.items()},
        None if target is None else _target(target, label),
        person,
        {str(name): _members(group, f"groups.{name}", label) for name, group in groups.items()},
    )


def _table(value: Any, section: str, known: Sequence[str], label: str) -> Mapping[str, Any]:
    """Return a section; refuse one with unknown keys."""
    if not isinstance(value, Mapping):
        raise InputError(f"{label}: {section} must hold {', '.join(known)}, each with a value")
    for word in value:
        if word not in known:
            near = nearest(str(word), known)
            hint = f"expected {', '.join(known)}" if near is None else f"did you mean '{near}'?"
            raise InputError(f"{label}: {section} has an unknown word '{word}'; {hint}")
    return value


def _column(value: Any, section: str, label: str) -> ColumnFacts:
    """Return the facts about one column; an empty kind is to be filled in later."""
    table = _table(value, f"[{section}]", FACTS, label)
    kind = _kind(table.get("kind", ""), section, label)
    interval = None if "range" not in table else _range(table["range"], section, label)
    categories = None
    if "categories" in table:
        categories = _labels(table["categories"], "categories", section, label)
    if kind is None and interval is not None and categories is not None:
        raise InputError(f"{label}: [{section}]: give either range or categories, not both")
    if interval is not None:
        kind = _implied(ColumnKind.NUMBER, kind, "range", section, label)
    if categories is not None:
        kind = _implied(ColumnKind.CATEGORY, kind, "categories", section, label)
    words = {w: _text(table[w], f"{section}.{w}", label) for w in ("unit", "note") if w in table}
    return ColumnFacts(kind, interval, categories, words.get("unit"), words.get("note"))


def _implied(
    kind: ColumnKind, given: ColumnKind | None, word: str, section: str, label: str
) -> ColumnKind:
    """Return the kind that a fact implies; refuse it if another kind is given."""
    if given not in (None, kind):
        raise InputError(f"{label}: [{section}]: {word} goes with kind {kind}, not {given}")
    return kind


def _kind(value: Any, section: str, label: str) -> ColumnKind | None:
    """Return a kind by its name; None if it is empty."""
    if value == "":
        return None
    if value not in tuple(ColumnKind):
        hint = did_you_mean(value, tuple(ColumnKind)) if isinstance(value, str) else ""
        kinds = ", ".join(ColumnKind)
        raise InputError(f"{label}: [{section}]: kind must be one of {kinds}{hint}")
    return ColumnKind(value)


def _target(value: Any, label: str) -> TargetColumn:
    """Return the facts about the target; refuse those that contradict each other."""
    table = _table(value, "[target]", TARGET_FACTS, label)
    if "column" not in table:
        raise InputError(f"{label}: [target] must say which column it is about: column = ...")
    numbers = {
        word: _number(table[word], f"target.{word}", label)
        for word in ("share", "center")
        if word in table
    }
    target = TargetColumn(
        column=_text(table["column"], "target.column", label),
        classes=(
            _labels(table["classes"], "classes", "target", label) if "classes" in table else None
        ),
        positive=None if "positive" not in table else _label(table["positive"], "target", label),
        range=None if "range" not in table else _range(table["range"], "target", label),
        share=numbers.get("share"),
        center=numbers.get("center"),
    )
    _refuse_contradictions(target, label)
    return target


def _refuse_contradictions(target: TargetColumn, label: str) -> None:
    """Refuse facts about the target that contradict each other."""
    of_labels = target.classes is not None or target.positive is not None
    if target.classes is not None and len(target.classes) < 2:
        raise InputError(f"{label}: [target]: classes must be two labels or more")
    if target.classes is not None and target.positive not in (None, *target.classes):
        raise InputError(f"{label}: [target]: positive must be one of the classes")
    if of_labels and (target.range is not None or target.center is not None):
        raise InputError(f"{label}: [target]: range and center go with numbers, not with classes")
    if target.share is not None and (target.label is None or not 0 < target.share < 1):
        raise InputError(
            f"{label}: [target]: share must be between 0 and 1, and goes with positive"
        )


def _members(value: Any, section: str, label: str) -> tuple[str, ...]:
    """Return the names and globs of a group."""
    table = _table(value, f"[{section}]", ("columns",), label)
    given = table.get("columns")
    members = [given] if isinstance(given, str) else given
    if not isinstance(members, Sequence) or not members:
        raise InputError(f"{label}: [{section}]: columns must be a name or glob, or a list of them")
    if section == "groups.":
        raise InputError(f"{label}: a group must have a name")
    return tuple(_text(member, f"{section}.columns", label) for member in members)


def _labels(value: Any, word: str, section: str, label: str) -> tuple[str, ...]:
    """Return a list of labels; refuse repeated ones."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise InputError(f"{label}: [{section}]: {word} must be a list of labels")
    labels = tuple(_label(one, section, label) for one in value)
    if len(set(labels)) < len(labels):
        raise InputError(f"{label}: [{section}]: {word} must be different labels")
    return labels


def _label(value: Any, section: str, label: str) -> str:
    """Return a label as text: a file may have 1 for "1"."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float) or not str(value).strip():
        raise InputError(f"{label}: [{section}]: a label must be a text or a number, and not empty")
    return str(value).strip()


def _text(value: Any, section: str, label: str) -> str:
    """Return a text; refuse any other value."""
    if not isinstance(value, str):
        raise InputError(f"{label}: {section} must be a text")
    return value


def _number(value: Any, section: str, label: str) -> float:
    """Return a finite number; refuse any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{label}: {section} must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{label}: {section} must be a finite number")
    return number


def _range(value: Any, section: str, label: str) -> Interval:
    """Return a range: two numbers, the smaller one first."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise InputError(f"{label}: [{section}]: range must be two numbers, [lower, upper]")
    lower, upper = (_number(end, f"{section}.range", label) for end in value)
    try:
        return Interval(lower, upper)
    except UsageError as error:
        raise InputError(f"{label}: [{section}]: range: {error}") from None


def skeleton_text(columns: Sequence[Column], label: str) -> str:
    """Return a dictionary to fill in: the names of all columns, with instructions.

    Privacy:
        Domain: names of columns, which are public. No cell is read.
        Tested by: tests/cli/test_dictionary.py
    """
    lines = [f'{toml_key(column.name)} = {{ kind = "" }}\n' for column in visible_columns(columns)]
    return _SKELETON_HEAD.format(label=printable(label)) + "".join(lines)


def dictionary_text(dictionary: Dictionary) -> str:
    """Return a dictionary as TOML; reading it gives the same dictionary."""
    plain = dictionary.to_dict()
    lines = [] if dictionary.person is None else [f"person = {toml_text(dictionary.person)}", ""]
    if dictionary.target is not None:
        lines += ["[target]", *(f"{key} = {_value(v)}" for key, v in plain["target"].items()), ""]
    for name, members in dictionary.groups.items():
        lines += [f"[groups.{toml_key(name)}]", f"columns = {_value(list(members))}", ""]
    lines.append("[columns]")
    lines += [f"{toml_key(name)} = {_value(facts)}" for name, facts in plain["columns"].items()]
    return "\n".join(lines) + "\n"


def toml_key(name: str) -> str:
    """Return a name as a TOML key, quoted if necessary."""
    return name if _BARE_KEY.fullmatch(name) else toml_text(name)


def toml_text(text: str) -> str:
    """Return a quoted TOML string; unprintable characters are escaped."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    """Return one character of a TOML string."""
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04X}" if code < 1 << 16 else f"\\U{code:08X}"


def _value(value: Any) -> str:
    """Return a text, a number, a list or a mapping as TOML, on one line."""
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(key)} = {_value(one)}" for key, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
