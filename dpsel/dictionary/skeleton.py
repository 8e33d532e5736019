"""A dictionary to be filled in: the names of a table's columns, and nothing of its cells."""

from collections.abc import Sequence

from dpsel.dictionary.toml_file import toml_key
from dpsel.display import printable
from dpsel.tables.columns import Column, visible_columns

_HEAD = """\
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


def skeleton_text(columns: Sequence[Column], label: str) -> str:
    """Return a dictionary that names all columns, and says what can be filled in.

    Privacy:
        Domain: names of columns, which are public. No cell is looked at.
        Tested by: tests/cli/test_dictionary.py
    """
    lines = [f'{toml_key(column.name)} = {{ kind = "" }}\n' for column in visible_columns(columns)]
    return _HEAD.format(label=printable(label)) + "".join(lines)
