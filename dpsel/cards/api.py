"""The function `dpsel.card`, and what it shares with the command."""

import hashlib
from pathlib import Path

from dpsel.budget.api import named_history
from dpsel.budget.ledger import History
from dpsel.budget.options import LedgerPlace
from dpsel.cards.content import card_of
from dpsel.cards.options import CardFormat, CardLook
from dpsel.cards.pages import html_card, markdown_card
from dpsel.cards.record import Published, published, read_record
from dpsel.cards.registry import registry_entry
from dpsel.core.selection import Selection
from dpsel.python import python_function, record_of
from dpsel.system.text import json_text


@python_function(CardLook, LedgerPlace)
def card(
    record: Selection | str | Path,
    *,
    card_format: str = "markdown",
    ledger: str | None = None,
    ledger_file: str | Path | None = None,
) -> str:
    """Make a page about a release, for those who sign it and those who read it.

    Privacy:
        Guarantee: none is needed; a record and a ledger are public, and nothing else is read.
        Tested by: tests/cards/test_content.py

    Args:
        record: A selection from `select` or `baseline`, or the JSON file of its record.
        card_format: `markdown`, `html`, or `yaml` for an entry in the registry of deployments.
        ledger: The ledger whose other charges the card lists.
        ledger_file: The file of the ledgers, if it is not the default one.

    Raises:
        InputError: If the file is not a record.
        UsageError: If there is no such ledger, or format.
    """
    given = locals()
    look, place = record_of(CardLook, given), record_of(LedgerPlace, given)
    return card_text(look.card_format, _published(record), ledger_history(look, place))


def _published(record: Selection | str | Path) -> Published:
    """Return the record in a file, or that of a selection."""
    if isinstance(record, str | Path):
        return read_record(str(record))
    text = json_text(record.to_dict())
    return published(record.to_dict(), hashlib.sha256(text.encode()).hexdigest())


def ledger_history(look: CardLook, place: LedgerPlace) -> History | None:
    """Return the named ledger with all its charges; None if none is named."""
    return None if look.ledger is None else named_history(look.ledger, place)


def card_text(card_format: CardFormat, record: Published, history: History | None) -> str:
    """Return the card of a record in the given format."""
    if card_format is CardFormat.YAML:
        return registry_entry(record, history)
    page = card_of(record, history)
    return html_card(page) if card_format is CardFormat.HTML else markdown_card(page)
