"""How `select` uses a dictionary: as options that were not given, and as facts about columns.

An option that is given overrides the dictionary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpsel.dictionary.described import described, target_facts
from dpsel.dictionary.facts import Dictionary
from dpsel.dictionary.toml_file import parse_dictionary, read_dictionary
from dpsel.errors import InputError
from dpsel.selection.options import ColumnChoice, Privacy, TargetFacts
from dpsel.tables.bounds_file import PublicBounds
from dpsel.tables.columns import Column, Wanted, visible_columns


def load_dictionary(given: str | Path | Mapping[str, Any]) -> Dictionary:
    """Return the dictionary in a TOML file, or in a mapping of the same shape."""
    if isinstance(given, str | Path):
        return read_dictionary(given)
    return parse_dictionary(given, "dictionary")


def fill_in_options(
    dictionary: Dictionary,
    columns: ColumnChoice,
    facts: TargetFacts,
    privacy: Privacy,
    *,
    stump: bool,
) -> tuple[ColumnChoice, TargetFacts, Privacy]:
    """Return the options, with those that were not given filled in from a dictionary.

    A given label or list of classes replaces all that the dictionary says about labels. Facts that
    only the score `stump` uses are left out for other scores.
    """
    about = target_facts(dictionary, columns.target)
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
        privacy = replace(privacy, person=dictionary.person)
    return columns, facts, privacy


def dictionary_ranges(dictionary: Dictionary, target: str) -> PublicBounds:
    """Return the ranges as the dictionary states them, by name or glob, for the ledger."""
    ranges = {name: facts.range for name, facts in dictionary.columns.items()}
    known = {name: interval for name, interval in ranges.items() if interval is not None}
    return PublicBounds(dictionary.label, None, target_facts(dictionary, target).range, known)


def dictionary_columns(
    dictionary: Dictionary, columns: Sequence[Column], wanted: Wanted
) -> tuple[tuple[Column, ...], Wanted]:
    """Return a table's columns with the kinds that the dictionary states, and what is wanted."""
    names, person = _names(columns), dictionary.person
    if person is not None and person not in names:
        raise InputError(f"{dictionary.label}: person: the table has no column '{person}'")
    described_table = described(dictionary, names)
    now_wanted = replace(
        wanted,
        never=described_table.never_features.union([] if person is None else [person]),
        declared=wanted.declared | described_table.numbers,
        typed=True,
    )
    has_classes = target_facts(dictionary, wanted.target).classes is not None
    return described_table.columns(columns, wanted.target if has_classes else None), now_wanted


def dictionary_bounds(
    dictionary: Dictionary,
    columns: Sequence[Column],
    features: Sequence[str],
    target: str,
    *,
    coded: bool,
) -> PublicBounds:
    """Return the ranges of a table's columns; refuse a feature or target without one."""
    target_range = target_facts(dictionary, target).range
    if target_range is None and not coded:
        raise InputError(f"{dictionary.label}: the target '{target}' has no range; state one")
    bounds = described(dictionary, _names(columns)).bounds(dictionary.label, target_range)
    without = [name for name in features if name not in bounds.columns]
    if without:
        others = "" if len(without) == 1 else f" (and {len(without) - 1} more)"
        raise InputError(
            f"{dictionary.label}: column '{without[0]}'{others} has no range; state one, or leave "
            f"it out with --exclude '{without[0]}'"
        )
    return bounds


def dictionary_groups(
    dictionary: Dictionary, columns: Sequence[Column], features: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the groups of features; members that are not features are left out."""
    if not dictionary.groups:
        return {}
    known = frozenset(features)
    all_groups = described(dictionary, _names(columns)).groups
    groups = {
        group: tuple(name for name in members if name in known)
        for group, members in all_groups.items()
    }
    return {group: members for group, members in groups.items() if members}


def _names(columns: Sequence[Column]) -> list[str]:
    """Return the names of the columns that a dictionary can describe."""
    return [column.name for column in visible_columns(columns)]
