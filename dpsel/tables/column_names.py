"""Finding columns by the names that a user gave: single names, lists with commas, and globs."""

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from dpsel.errors import InputError, UsageError
from dpsel.system.text import did_you_mean
from dpsel.tables.formats import SEPARATORS


def position_of(names: Sequence[str], name: str, option: str, label: str) -> int:
    """Return the position of a named column."""
    if name in names:
        return names.index(name)
    hint = _hint(name, names)
    if option == "--target" and not hint:
        hint = (
            "; `dpsel dictionary init` lists its columns. The first line of a CSV must name them: "
            "remove lines above it. If its rows are features, as in genes x samples, transpose it "
            "first: `dpsel preprocess --features-in rows --as-is`"
        )
    raise UsageError(f"{option}: {label} has no column '{name}'{hint}")


def positions_of(
    names: Sequence[str],
    patterns: Sequence[str],
    option: str,
    label: str,
    named_only: Collection[int] = (),
) -> set[int]:
    """Return the positions of the columns that match any pattern, which is a name or a glob.

    A glob does not match the columns in `named_only`.
    """
    found: set[int] = set()
    if not patterns:
        return found
    places = {name: place for place, name in enumerate(names)}
    for pattern in split_lists(patterns, places.keys()):
        if pattern in places:
            found.add(places[pattern])
            continue
        matches = {place for place, name in enumerate(names) if fnmatchcase(name, pattern)}
        matches.difference_update(named_only)
        if not matches:
            raise UsageError(f"{option}: {label} has no column '{pattern}'{_hint(pattern, names)}")
        found |= matches
    return found


def split_lists(patterns: Sequence[str], names: Collection[str]) -> list[str]:
    """Split `a,b` at its commas, unless a column has exactly that name."""
    return [
        part
        for pattern in patterns
        for part in ([pattern] if pattern in names else pattern.split(","))
    ]


def _hint(name: str, names: Sequence[str]) -> str:
    """Return a hint for a name that is not there: the likely separator, or the nearest name."""
    # Blanks are common in names: they may be separators only if there is but one name.
    for sign in SEPARATORS if len(names) > 1 else f"{SEPARATORS} ":
        if any(name in other.split(sign) for other in names if sign in other):
            shown = "$'\\t'" if sign == "\t" else f"'{sign}'"
            return f", only as a part of a longer name; try --separator {shown}"
    return did_you_mean(name, names)


def refuse_repeated(names: Sequence[str | None], what: str, label: str) -> None:
    """Refuse names if two are the same; None is not a name, but counts as a place.

    The message gives their places, not the name: without a header, or in a damaged file, a name
    may be a cell.
    """
    if len(set(names)) == len(names):
        return
    seen: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        first = place if name is None else seen.setdefault(name, place)
        if first != place:
            raise InputError(f"{label}: {what}s {first} and {place} have the same name; rename one")
