"""The command `dpsel card`."""

import os
from contextlib import suppress
from typing import Annotated

import typer

from dpsel.budget.options import LedgerPlace
from dpsel.cards.options import CardFormat, CardLook
from dpsel.cli.forms import form
from dpsel.cli.options import CardFile, Debugging
from dpsel.errors import OutputError, UsageError
from dpsel.system.output import Output

RecordArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECORD",
        help="A JSON record from `dpsel select` or `dpsel baseline`; - for stdin.",
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
    """Turn a record into a page for those who approve a release and those who read it.

    It states what was released and about whom, the guarantee in words and odds, what the guarantee
    does not cover, and with --ledger what else was spent. It uses the record and the ledger alone.

    Example: dpsel card record.json --ledger patients --format html --output card.html
    """
    from dpsel.cards.api import card_text, ledger_history
    from dpsel.cards.record import read_record

    published = read_record(record)
    _refuse_output(writing.output, record, look, place)
    text = card_text(look.card_format, published, ledger_history(look, place))
    unprotected = published.selection.guarantee is None
    with Output(writing.output, force=writing.force, owner_only=unprotected) as output:
        output.write(text.encode())


def _refuse_output(output: str, record: str, look: CardLook, place: LedgerPlace) -> None:
    """Refuse to write over the ledger or the record, and a page that no browser would show."""
    from dpsel.budget.ledger import LedgerFile

    if output.lower().endswith((".html", ".htm")) and look.card_format is not CardFormat.HTML:
        raise UsageError(f"{output}: is the name of an HTML page; give --format html")
    if look.ledger is not None and LedgerFile(place.path).is_at(output):
        raise OutputError(f"{output}: is the ledger itself; name another file")
    with suppress(OSError):
        if os.path.samefile(output, record):
            raise OutputError(f"{output}: is the record itself; name another file")
