"""Apply a dictionary to one table: globs become columns, and the most specific fact wins."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from dpsel.core.bounds import Interval
from dpsel.dictionary.facts import FACTS, ColumnFacts, ColumnKind, Dictionary, TargetColumn
from dpsel.errors import InputError
from dpsel.records import frozen
from dpsel.system.text import did_you_mean
from dpsel.tables.bounds_file import PublicBounds
from dpsel.tables.columns import Column, Kind

_KINDS = {
    ColumnKind.CATEGORY: Kind.CATEGORY,
    ColumnKind.TEXT: Kind.TEXT,
    ColumnKind.DATE: Kind.TIME,
}
_WILD = "*?["
# A character that is in no name; it stands for whatever a wildcard matches.
_ANY = "\0"


@frozen
class Described:
    """The facts about the columns of one table, and its groups with members in column order."""

    facts: Mapping[str, ColumnFacts]
    groups: Mapping[str, tuple[str, ...]]

    @property
    def never_features(self) -> frozenset[str]:
        """Return the columns that are never features."""
        return frozenset(
            name
            for name, facts in self.facts.items()
            if facts.kind is not None and not facts.kind.is_feature
        )

    @property
    def numbers(self) -> frozenset[str]:
        """Return the columns that the dictionary declares as numbers."""
        return frozenset(
            name
            for name, facts in self.facts.items()
            if facts.kind is ColumnKind.NUMBER or facts.interval is not None
        )

    def columns(self, columns: Sequence[Column], classes: str | None) -> tuple[Column, ...]:
        """Return the columns with the kinds that the dictionary states, except for numbers.

        `classes` is the column that holds classes, if there is one.
        """
        facts = self.facts.items()
        kinds = {name: _KINDS[f.kind] for name, f in facts if f.kind in _KINDS and not f.interval}
        if classes is not None:
            kinds[classes] = Kind.CATEGORY
        return tuple(
            column._replace(kind=kinds[column.name])
            if column.name in kinds and column.kind in (Kind.NUMBER, Kind.UNKNOWN)
            else column
            for column in columns
        )

    def bounds(self, label: str, target: Interval | None) -> PublicBounds:
        """Return the ranges of the columns as public bounds."""
        ranges = {name: facts.interval for name, facts in self.facts.items()}
        return PublicBounds(
            label, None, target, {name: interval for name, interval in ranges.items() if interval}
        )


def described(dictionary: Dictionary, names: Sequence[str]) -> Described:
    """Return what a dictionary says about the columns with these names.

    Raises:
        InputError: If it describes a column that is missing, or contradicts itself about one.
    """
    known = frozenset(names)
    globs = [key for key in dictionary.columns if key not in known]
    _refuse_absent(dictionary, names, [key for key in globs if not _is_glob(key)])
    matching = {key: [name for name in names if fnmatchcase(name, key)] for key in globs}
    _refuse_absent(dictionary, names, [key for key, matched in matching.items() if not matched])
    by_name: dict[str, list[str]] = {name: [name] for name in dictionary.columns if name in known}
    for key, matched in matching.items():
        for name in matched:
            by_name.setdefault(name, []).append(key)
    facts = {name: _combined(dictionary, name, keys) for name, keys in by_name.items()}
    return Described(facts, _groups(dictionary, names))


def target_facts(dictionary: Dictionary, target: str) -> TargetColumn:
    """Return the facts about a column as the target: from [target], or from the column itself."""
    keys = [key for key in dictionary.columns if key == target or _matches(key, target)]
    own = _combined(dictionary, target, keys)
    about = dictionary.target
    if about is None or about.column != target:
        classes = own.categories if own.categories and len(own.categories) > 1 else None
        return TargetColumn(target, classes=classes, range=own.range)
    if about.classes is None and about.positive is None and about.range is None:
        return TargetColumn(
            target, own.categories, share=about.share, range=own.range, center=about.center
        )
    return about


def _matches(key: str, name: str) -> bool:
    """Return whether a key is a glob that matches a name."""
    return _is_glob(key) and fnmatchcase(name, key)


def _is_glob(key: str) -> bool:
    """Return whether a key is a glob."""
    return any(sign in key for sign in _WILD)


def _combined(dictionary: Dictionary, name: str, keys: Collection[str]) -> ColumnFacts:
    """Return the facts about a column, each from the most specific entry that states it."""
    if len(keys) == 1:
        return dictionary.columns[next(iter(keys))]
    return ColumnFacts(**{fact: _stated(dictionary, name, keys, fact) for fact in FACTS})


def _stated(dictionary: Dictionary, name: str, keys: Iterable[str], fact: str) -> Any:
    """Return one fact about a column; refuse different ones that are equally specific."""
    stated = {key: getattr(dictionary.columns[key], fact) for key in keys}
    stated = {key: value for key, value in stated.items() if value is not None}
    if name in stated:
        return stated[name]
    best = [
        key for key in stated if not any(_narrower(other, key) for other in stated if other != key)
    ]
    for other in best[1:]:
        if stated[other] != stated[best[0]]:
            raise InputError(
                f"{dictionary.label}: '{best[0]}' and '{other}' both stand for column '{name}' and "
                f"state another {fact}; say it for '{name}' itself"
            )
    return stated[best[0]] if best else None


def _narrower(glob: str, other: str) -> bool:
    """Return whether a glob matches only names that the other one matches, and fewer."""
    return _within(glob, other) and not _within(other, glob)


def _within(glob: str, other: str) -> bool:
    """Return whether a glob matches only names that the other one matches."""
    if "[" in glob or "[" in other:
        return False  # character sets are not compared: the user has to say which entry counts
    fillings = ("", _ANY, _ANY * (len(other) + 1))
    return all(
        fnmatchcase(glob.replace("?", _ANY).replace("*", filling), other) for filling in fillings
    )


def _groups(dictionary: Dictionary, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the members of all groups; refuse a column that is in two."""
    known, taken = frozenset(names), dict[str, str]()
    groups: dict[str, tuple[str, ...]] = {}
    for group, patterns in dictionary.groups.items():
        if group in known:
            raise InputError(
                f"{dictionary.label}: [groups.{group}] is named like a column; give it another name"
            )
        members: set[str] = set()
        for pattern in patterns:
            own = {pattern} if pattern in known else {n for n in names if fnmatchcase(n, pattern)}
            _refuse_absent(dictionary, names, [] if own else [pattern])
            members |= own
        for name in members:
            if taken.setdefault(name, group) != group:
                raise InputError(
                    f"{dictionary.label}: column '{name}' is in two groups, '{taken[name]}' and "
                    f"'{group}'"
                )
        groups[group] = tuple(name for name in names if name in members)
    return groups


def _refuse_absent(dictionary: Dictionary, names: Sequence[str], absent: Sequence[str]) -> None:
    """Refuse columns that the table lacks: with a typo, an id could become a feature."""
    if not absent:
        return
    others = "" if len(absent) == 1 else f" (and {len(absent) - 1} more of its columns)"
    hint = did_you_mean(absent[0], names)
    raise InputError(f"{dictionary.label}: the table has no column '{absent[0]}'{others}{hint}")
