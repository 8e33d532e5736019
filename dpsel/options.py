"""Declare the options of commands as fields of records, with their flags, help and defaults.

A record is declared once, next to the code that uses it, and serves the command line, the Python
functions and the ledger. `dpsel.cli.forms` turns it into Typer options; nothing here imports Typer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, field, fields, replace
from typing import Any, ClassVar, Protocol, TypeVar

from dpsel.records import frozen

KEY = "option"


class Dataclass(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Record = TypeVar("Record", bound=Dataclass)


@frozen
class Option:
    """The flag and the help of a field."""

    flag: str
    metavar: str | None
    help: str
    shown: str | bool
    """The default as the help shows it: True for the default itself, False for none."""
    panel: str | None
    """The panel of the help that lists the option; None for the first panel."""


def option(
    flag: str,
    help: str,
    default: Any = MISSING,
    *,
    shown: str | bool = True,
    panel: str | None = None,
) -> Any:
    """Declare a field as an option: `--flag METAVAR`, or just `--flag` for flags and choices."""
    name, _, metavar = flag.partition(" ")
    about = Option(name, metavar or None, help, shown, panel)
    return field(default=default, metadata={KEY: about})


def same_as(record: type[Dataclass], name: str, *default: Any) -> Any:
    """Declare a field with the flag, help and default of a field of another record.

    A default given here replaces the other one, in the help too; MISSING makes the option required.
    """
    original = next(about for about in fields(record) if about.name == name)
    if not default:
        return field(default=original.default, metadata=original.metadata)
    return field(default=default[0], metadata={KEY: replace(original.metadata[KEY], shown=True)})


def one_of(names: Sequence[str]) -> str:
    """Return names as a help text lists them: `a, b or c`."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def filled(record: type[Record], values: Mapping[str, Any]) -> Record:
    """Make a record from those values that belong to its fields; lists become tuples."""
    own = {about.name: values[about.name] for about in fields(record)}
    return record(**{n: tuple(v) if isinstance(v, list) else v for n, v in own.items()})
