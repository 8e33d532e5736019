"""What a dictionary says in place of options, and about the columns of a table.

An option that is given wins over the dictionary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpsel.dictionary.described import described, target_facts
from dpsel.dictionary.facts import Dictionary
from dpsel.dictionary.toml_file import parse_dictionary, read_dictionary
from dpsel.errors import InputError
from dpsel.selection.options import Columns, Privacy, TargetFacts
from dpsel.tables.bounds_file import PublicBounds
from dpsel.tables.columns import Column, Wanted, visible_columns


def dictionary_of(given: str | Path | Mapping[str, Any]) -> Dictionary:
    """Return the dictionary that was given, as a file or as a mapping of its shape."""
    if isinstance(given, str | Path):
        return read_dictionary(given)
    return parse_dictionary(given, "dictionary")


def filled_in(
    told: Dictionary, columns: Columns, facts: TargetFacts, privacy: Privacy, *, stump: bool
) -> tuple[Columns, TargetFacts, Privacy]:
    """Return the options, with what a dictionary says where nothing was given.

    A label or classes that are given replace all that it says about labels. Facts that only the
    score `stump` uses are left out for other scores.
    """
    about = target_facts(told, columns.target)
    if columns.positive is None and facts.classes is None:
        columns = replace(columns, positive=about.label)
        if about.label is None and stump:
            facts = replace(facts, classes=about.classes)
        if about.label is not None and facts.share is None and stump:
            facts = replace(facts, share=about.share)
    numeric = columns.positive is None and facts.classes is None
    if numeric and facts.target_center is None and stump:
        facts = replace(facts, target_center=about.center)
    if privacy.person is None:
        privacy = replace(privacy, person=told.person)
    return columns, facts, privacy


def written_ranges(told: Dictionary, target: str) -> PublicBounds:
    """Return the ranges as the dictionary has them: by name or glob, as a ledger states them."""
    ranges = {name: facts.range for name, facts in told.columns.items()}
    known = {name: found for name, found in ranges.items() if found is not None}
    return PublicBounds(told.label, None, target_facts(told, target).range, known)


def told_columns(
    told: Dictionary, columns: Sequence[Column], wanted: Wanted
) -> tuple[tuple[Column, ...], Wanted]:
    """Return the columns of a table by the kinds of its dictionary, and what is then wanted."""
    names = _names(columns)
    if told.person is not None and told.person not in names:
        raise InputError(f"{told.label}: person: the table has no column '{told.person}'")
    found = described(told, names)
    more = replace(
        wanted,
        never=found.never_features.union([] if told.person is None else [told.person]),
        declared=wanted.declared | found.numbers,
        typed=True,
    )
    classes = target_facts(told, wanted.target).classes is not None
    return found.columns(columns, wanted.target if classes else None), more


def told_bounds(
    told: Dictionary,
    columns: Sequence[Column],
    features: Sequence[str],
    target: str,
    *,
    coded: bool,
) -> PublicBounds:
    """Return the ranges of a table's columns; refuse features and a target without one."""
    own = target_facts(told, target).range
    if own is None and not coded:
        raise InputError(f"{told.label}: the target '{target}' has no range; state one")
    bounds = described(told, _names(columns)).bounds(told.label, own)
    without = [name for name in features if name not in bounds.columns]
    if without:
        others = "" if len(without) == 1 else f" (and {len(without) - 1} more)"
        raise InputError(
            f"{told.label}: column '{without[0]}'{others} has no range; state one, or leave it out "
            f"with --exclude '{without[0]}'"
        )
    return bounds


def told_groups(
    told: Dictionary, columns: Sequence[Column], features: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the groups of features; members that are no features do not count."""
    if not told.groups:
        return {}
    known = frozenset(features)
    groups = described(told, _names(columns)).groups
    found = {
        group: tuple(name for name in members if name in known) for group, members in groups.items()
    }
    return {group: members for group, members in found.items() if members}


def _names(columns: Sequence[Column]) -> list[str]:
    """Return the names that a dictionary can be about."""
    return [column.name for column in visible_columns(columns)]
