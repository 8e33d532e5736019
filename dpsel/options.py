"""Options of commands: fields of records, each with its flag, its help and its default.

A record is declared once, where it is used, and serves the command line, Python and the ledger.
`dpsel.cli.forms` makes the options of a command of it; nothing here knows Typer.
"""

from collections.abc import Mapping
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
    """How a field of a record is written on a command line, and what its help says."""

    flag: str
    metavar: str | None
    help: str
    shown: str | bool
    """What the help says the default is; True for the default itself, False for nothing."""
    panel: str | None
    """The part of the help it stands in; None for the first."""


def option(
    flag: str,
    help: str,
    default: Any = MISSING,
    *,
    shown: str | bool = True,
    panel: str | None = None,
) -> Any:
    """Return a field of a record: `--flag METAVAR`, or `--flag` alone for flags and choices."""
    name, _, metavar = flag.partition(" ")
    about = Option(name, metavar or None, help, shown, panel)
    return field(default=default, metadata={KEY: about})


def same_as(record: type[Dataclass], name: str, *default: Any) -> Any:
    """Return a field of a record as another record has it: its flag, its help and its default.

    With a default of its own, MISSING for none, the help shows that one.
    """
    found = next(about for about in fields(record) if about.name == name)
    if not default:
        return field(default=found.default, metadata=found.metadata)
    return field(default=default[0], metadata={KEY: replace(found.metadata[KEY], shown=True)})


def filled(record: type[Record], values: Mapping[str, Any]) -> Record:
    """Return a record with the values of its own fields; lists become tuples."""
    own = {about.name: values[about.name] for about in fields(record)}
    return record(**{n: tuple(v) if isinstance(v, list) else v for n, v in own.items()})
