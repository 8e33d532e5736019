"""Choosing which columns are features, target and person, by names and types, which are public.

No cell has a say in it.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from dpsel.errors import InputError, UsageError
from dpsel.records import frozen
from dpsel.tables.column_names import position_of, positions_of, refuse_repeated, split_lists

PANDAS = b"pandas"
"""The key of pandas' own entry in the metadata of an Arrow schema."""

# The name that Arrow gives to a pandas index without a name.
_UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")
# Nobody would exclude more columns than this by name.
_MOST_NAMED = 100
_STUMP_TAKES_THEM = "`dpsel select` needs no preprocessing: its method stump takes any column"
# The first two characters of such an index's name, and of a name that is blank.
_UNNAMED, _BLANK = "__", ("", " ", "  ")


class Kind(Enum):
    """What a column holds, as far as its table says; the values are the words for messages."""

    NUMBER = "numbers"
    TEXT = "text"
    TIME = "dates or times"
    BINARY = "binary values"
    OTHER = "nested values"
    CATEGORY = "categories"
    """Only a dictionary says so."""
    FOLDER = "text from the names of folders"
    """Text, unless the user declares it to be numbers: the folder names must not decide that."""
    UNKNOWN = "unknown"
    """A CSV has no types."""


class Use(Enum):
    """What a column may be used for, beyond what its kind allows."""

    ANY = "anything"
    NAMED = "anything, if it is asked for by name"
    """A pandas index, or persons that were passed on: not meant to be a feature by default."""
    SCALED = "anything but persons"
    """Scaled by `dpsel preprocess`, so two persons may have become one."""
    UNSURE = "anything but persons, since it may have been scaled"
    """Of a scaled table whose columns have changed since."""


class Column(NamedTuple):
    """A column's name and kind, and what it may be used for."""

    name: str
    kind: Kind
    use: Use = Use.ANY

    @property
    def nameless(self) -> bool:
        """Return whether it has no name, like the row numbers that pandas and R write to a CSV."""
        return not self.name.strip(" ")

    @property
    def unnamed_index(self) -> bool:
        """Return whether it is a pandas index without a name.

        Whether a table has one depends on its rows: pandas does not store an index that only
        counts them.
        """
        return _UNNAMED_INDEX.fullmatch(self.name) is not None

    @property
    def hidden(self) -> bool:
        """Return whether the user cannot name it, so it cannot be meant as a feature."""
        return self.nameless or self.unnamed_index


@frozen
class Layout:
    """The positions of the columns that are read."""

    features: tuple[int, ...]
    names: tuple[str, ...]
    """The names of the features."""
    target: int
    labels: bool
    """Whether the target's cells are labels, not numbers."""
    person: int | None
    whole_rows: bool = False
    """Whether each batch must hold all features of its rows."""
    all_features: tuple[int, ...] = ()
    """All features of the table, if `features` are only some of them."""
    typed: bool = False
    """Whether the user said which columns are numbers; if so, no cell decides that."""
    words: bool = False
    """Whether features may hold anything, not only numbers."""

    def some(self, first: int, last: int) -> "Layout":
        """Return the layout with the features from `first` to before `last` only."""
        if (first, last) == (0, len(self.features)):
            return self
        return replace(
            self,
            features=self.features[first:last],
            names=self.names[first:last],
            all_features=self.all_features or self.features,
        )

    @property
    def target_and_person(self) -> list[int]:
        """Return the position of the target, and that of the person column if there is one."""
        return [self.target] if self.person is None else [self.target, self.person]

    @property
    def read(self) -> tuple[int, ...]:
        """Return the positions of all columns that are read."""
        return (*(self.all_features or self.features), *self.target_and_person)

    def moved(self, columns: Sequence[Column], there: Sequence[Column]) -> "Layout":
        """Return the layout of a table with the same columns in another order."""
        places = {column.name: place for place, column in enumerate(there)}

        def move(position: int) -> int:
            return places[columns[position].name]

        return replace(
            self,
            features=tuple(map(move, self.features)),
            target=move(self.target),
            person=None if self.person is None else move(self.person),
            all_features=tuple(map(move, self.all_features)),
        )


@frozen
class Wanted:
    """The columns that the user asked for, by name."""

    target: str
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    labels: bool = False
    person: str | None = None
    declared: frozenset[str] = frozenset()
    """Columns with bounds of their own: the user says that these are numbers."""
    bounded: bool = False
    """Whether there are bounds: a column with bounds is numeric."""
    words: bool = False
    """Whether features may hold anything, not only numbers."""
    never: frozenset[str] = frozenset()
    """Columns that are never features, according to their dictionary."""
    typed: bool = False
    """Whether there is a dictionary; if so, no cell decides what a column holds."""


def choose_columns(columns: Sequence[Column], wanted: Wanted, label: str) -> Layout:
    """Return the layout that the user asked for.

    Raises:
        InputError: If the table's columns are ambiguous, of the wrong kind, or none is left.
        UsageError: If the user named a column that is not there.
    """
    visible = visible_columns(columns)
    if len(visible) < len(columns):
        seen = [None if column.hidden else column.name for column in columns]
        refuse_repeated(seen, "column", label)
        return choose_columns(visible, wanted, label).moved(visible, columns)
    names = [column.name for column in columns]
    refuse_repeated(names, "column", label)
    target = position_of(names, wanted.target, "--target", label)
    person = None if wanted.person is None else position_of(names, wanted.person, "--person", label)
    if person == target:
        raise UsageError(f"--person and --target are the same column, '{wanted.target}'")
    excluded = {target, *positions_of(names, wanted.exclude, "--exclude", label)}
    excluded |= set() if person is None else {person}
    features = _chosen_features(columns, names, wanted, excluded, label)
    named = split_lists(wanted.features, set(names)) if wanted.features else []
    declared = wanted.declared.union(named)
    if not wanted.words:
        _refuse_kinds(columns, features, label, declared)
    if columns[target].kind is not Kind.FOLDER or wanted.target not in declared:
        _refuse_target(columns[target], label, labels=wanted.labels)
    if person is not None:
        _refuse_person(columns[person], label)
    return Layout(
        features=tuple(features),
        names=tuple(map(names.__getitem__, features)),
        target=target,
        labels=wanted.labels,
        person=person,
        typed=wanted.typed or wanted.bounded or bool(wanted.features),
        words=wanted.words,
    )


def _chosen_features(
    columns: Sequence[Column],
    names: Sequence[str],
    wanted: Wanted,
    excluded: set[int],
    label: str,
) -> list[int]:
    """Return the positions of the features, in the order of the table."""
    # Looked up once, not for each of perhaps a million columns: Enum members are slow to look up.
    by_name = Use.NAMED
    named_only = {place for place, column in enumerate(columns) if column.use is by_name}
    if wanted.never:
        _refuse_never(names, wanted)
        excluded = excluded | {place for place, name in enumerate(names) if name in wanted.never}
    if wanted.features:
        matching = positions_of(names, wanted.features, "--features", label, named_only)
        features = sorted(matching - excluded)
    else:
        excluded = excluded | named_only
        features = [place for place in range(len(names)) if place not in excluded]
    if not features:
        raise InputError(f"{label}: no feature column is left besides the target")
    return features


def _refuse_never(names: Sequence[str], wanted: Wanted) -> None:
    """Refuse `--features` that names a column that is never a feature."""
    named = split_lists(wanted.features, frozenset(names))
    for name in named:
        if name in wanted.never:
            raise UsageError(f"--features: '{name}' is never a feature: so its dictionary says")


def visible_columns(columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns that a user can name: all but the hidden ones."""
    if _beginnings(columns).isdisjoint((_UNNAMED, *_BLANK)):
        return columns
    return [column for column in columns if not column.hidden]


def _beginnings(columns: Sequence[Column]) -> set[str]:
    """Return the first two characters of all names, in one fast pass: there may be a million."""
    return {column.name[:2] for column in columns}


def nameless_notes(columns: Sequence[Column], label: str) -> list[str]:
    """Return a note for the holder if columns are left out because they have no name."""
    if _beginnings(columns).isdisjoint(_BLANK):
        return []
    places = [place for place, column in enumerate(columns, start=1) if column.nameless]
    if not places:
        return []
    others = "" if len(places) == 1 else f" (and {len(places) - 1} more)"
    return [f"{label}: column {places[0]}{others} has no name, so it is left out"]


def pandas_index(metadata: Mapping[bytes, bytes] | None) -> frozenset[str]:
    """Return the columns that are a pandas index, by the metadata of their Arrow schema."""
    try:
        found = json.loads((metadata or {}).get(PANDAS, b"{}"))["index_columns"]
        # An index that only counts rows is described by a mapping, and is not a column.
        return frozenset(name for name in found if isinstance(name, str))
    except (ValueError, KeyError, TypeError, RecursionError):
        return frozenset()


def marked_index(columns: Sequence[Column], index: Collection[str]) -> tuple[Column, ...]:
    """Return columns in which those of the `index` are marked for use by name only."""
    if not index:
        return tuple(columns)
    return tuple(
        column._replace(use=Use.NAMED) if column.name in index else column for column in columns
    )


def same_layout(
    layout: Layout, columns: Sequence[Column], label: str, there: Sequence[Column], other: str
) -> Layout:
    """Return the layout for another file of the same table, whose columns may be in another order.

    A pandas index that the layout does not use may be missing in either file: whether it is there
    may depend on the rows.
    """
    used = {columns[place].name for place in layout.read}
    expected = {column.name: column.kind for column in columns if _compared(column, used)}
    compared = [column for column in there if _compared(column, used)]
    names = {column.name for column in compared}
    if len(names) != len(compared) or names != expected.keys():
        raise InputError(f"{other}: its columns differ from those of {label}")
    for column in compared:
        if column.kind is not expected[column.name]:
            raise InputError(
                f"{other}: column '{column.name}' holds {column.kind.value}, "
                f"but {expected[column.name].value} in {label}"
            )
    here = layout.moved(columns, there)
    if here.person is not None:
        _refuse_person(there[here.person], other)
    return here


def _compared(column: Column, used: Collection[str]) -> bool:
    """Return whether all files of a table must have this column."""
    return column.name in used if column.use is Use.NAMED else not column.hidden


def _refuse_target(target: Column, label: str, *, labels: bool) -> None:
    """Refuse a target that is not numeric; with `labels`, one that is neither numeric nor text."""
    if target.kind in (Kind.BINARY, Kind.OTHER, Kind.TIME):
        raise InputError(
            f"{label}: the target '{target.name}' holds {target.kind.value}; give a column of "
            "numbers or labels"
        )
    if not labels and target.kind is Kind.FOLDER:
        raise InputError(
            f"{label}: the target '{target.name}' holds {target.kind.value}; name one of its "
            "labels with --positive LABEL, or if these are numbers, name it in --features or give "
            "it bounds"
        )
    if not labels and target.kind not in (Kind.NUMBER, Kind.UNKNOWN):
        raise InputError(
            f"{label}: the target '{target.name}' holds {target.kind.value}; "
            "name one of its labels with --positive LABEL, or all of them (`dpsel select` and "
            "`dpsel preprocess`: with --classes A,B,C; `dpsel evaluate`: --encode-target), or give "
            "a numeric column"
        )


def _refuse_person(person: Column, label: str) -> None:
    """Refuse a column that cannot tell persons apart."""
    if person.kind is Kind.OTHER:
        raise InputError(f"{label}: --person: '{person.name}' holds nested values")
    if person.use is Use.SCALED:
        raise InputError(
            f"{label}: --person: '{person.name}' was scaled, so several persons may have become "
            f"one; pass it on with `dpsel preprocess --person '{person.name}'`"
        )
    if person.use is Use.UNSURE:
        raise InputError(
            f"{label}: --person: by the record of `dpsel preprocess`, '{person.name}' may have "
            "been scaled before columns were changed, so several persons may have become one; "
            f"pass it on with `dpsel preprocess --person '{person.name}'`"
        )


def _refuse_features(columns: Sequence[Column], label: str) -> None:
    """Refuse columns that cannot be features in one message that says how to leave them out."""
    names = [column.name for column in columns]
    if len(names) > _MOST_NAMED:
        raise InputError(
            f"{label}: {len(names)} columns hold no numbers, such as '{names[0]}'; "
            f"pick columns with --features, a pattern such as 'x*' will do; {_STUMP_TAKES_THEM}"
        )
    one = len(names) == 1
    it, its = ("it", "it bounds of its own") if one else ("them", "them bounds of their own")
    numbers = f", or pick columns with --features; {_STUMP_TAKES_THEM}"
    if all(column.kind is Kind.FOLDER for column in columns):
        numbers = f", or if these are numbers, name {it} in --features or give {its}"
    raise InputError(
        f"{label}: column{'' if one else 's'} {_held(columns)}, not numbers; "
        f"leave {it} out with {_excluded(names)}{numbers}"
    )


def _held(columns: Sequence[Column]) -> str:
    """Return what columns hold, by kind: `'a', 'b' hold text, 'c' holds categories`."""
    kinds: dict[Kind, list[str]] = {}
    for column in columns:
        kinds.setdefault(column.kind, []).append(f"'{column.name}'")
    return ", ".join(
        f"{', '.join(names)} {'holds' if len(names) == 1 else 'hold'} {kind.value}"
        for kind, names in kinds.items()
    )


def _excluded(names: Sequence[str]) -> str:
    """Return the `--exclude` options that leave out columns; a name with a comma gets its own."""
    plain = ",".join(name for name in names if "," not in name)
    words = [plain, *(name for name in names if "," in name)]
    # Always quoted for the shell: blanks and stars are common in names.
    return " ".join("--exclude '{}'".format(w.replace("'", "'\\''")) for w in words if w)


def _refuse_kinds(
    columns: Sequence[Column], features: Sequence[int], label: str, declared: Collection[str]
) -> None:
    """Refuse features that are not numeric, according to their table."""
    # Looked up once, as above.
    fine = (Kind.NUMBER, Kind.UNKNOWN)
    if all(column.kind in fine for column in columns):
        return
    wrong = [
        column
        for column in [columns[place] for place in features]
        if column.kind not in fine and not (column.kind is Kind.FOLDER and column.name in declared)
    ]
    if wrong:
        _refuse_features(wrong, label)


def refuse_wordy(
    columns: Sequence[Column], wordy: Sequence[int], layout: Layout, label: str
) -> None:
    """Refuse columns without a type, by their positions, because they hold words."""
    if layout.target in wordy:
        _refuse_target(Column(columns[layout.target].name, Kind.TEXT), label, labels=False)
    if wordy:
        _refuse_features([columns[place]._replace(kind=Kind.TEXT) for place in wordy], label)
