"""`dpsel card`."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from dpsel.budget.options import LedgerPlace
from dpsel.cards.options import CardFormat, CardLook
from dpsel.cli.forms import form
from dpsel.cli.options import CardFile, Debugging
from dpsel.errors import OutputError

if TYPE_CHECKING:
    from dpsel.budget.ledger import History
    from dpsel.cards.record import Published

RecordArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECORD",
        help="A record that `dpsel select` or `dpsel baseline` wrote, in JSON; - for stdin.",
        show_default=False,
    ),
]


@form
def card(
    record: RecordArgument,
    look: CardLook,
    place: LedgerPlace,
    writing: CardFile,
    debugging: Debugging,
) -> None:
    """Make a page of a record for those who sign a release, and for those who read it.

    It says what was released, about whom, with which guarantee in words and odds, what that does
    not cover, and with --ledger what else was spent. Made from the record and the ledger alone.

    Example: dpsel card record.json --ledger patients --format html --output card.html
    """
    from dpsel.cards.record import read_record
    from dpsel.system.output import Output

    published = read_record(record)
    _refuse_output(writing.output, record, look, place)
    text = _text(look.card_format, published, _history(look, place))
    unprotected = published.guarantee is None
    with Output(writing.output, force=writing.force, owner_only=unprotected) as output:
        output.write(text.encode())


def _refuse_output(output: str, record: str, look: CardLook, place: LedgerPlace) -> None:
    """Refuse to write over what the card is made of."""
    from dpsel.budget.ledger import LedgerFile

    if look.ledger is not None and LedgerFile(place.path).is_at(output):
        raise OutputError(f"{output}: is the ledger itself; name another file")
    with suppress(OSError):
        if os.path.samefile(output, record):
            raise OutputError(f"{output}: is the record itself; name another file")


def _history(look: CardLook, place: LedgerPlace) -> "History | None":
    """Return the ledger that is named, with all its charges; None if none is."""
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name

    if look.ledger is None:
        return None
    return LedgerFile(place.path).history(check_name(look.ledger))


def _text(card_format: CardFormat, published: "Published", history: "History | None") -> str:
    """Return a card in the format that is asked for."""
    from dpsel.cards.html import html_card
    from dpsel.cards.markdown import markdown_card
    from dpsel.cards.registry import registry_entry
    from dpsel.cards.words import card_of

    if card_format is CardFormat.YAML:
        return registry_entry(published, history)
    written = card_of(published, history)
    return html_card(written) if card_format is CardFormat.HTML else markdown_card(written)
