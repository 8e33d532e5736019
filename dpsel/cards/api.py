"""`dpsel.card`, and what it shares with the command."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from dpsel.budget.api import named_history
from dpsel.budget.ledger import History
from dpsel.budget.options import LedgerPlace
from dpsel.cards.html import html_card
from dpsel.cards.markdown import markdown_card
from dpsel.cards.options import CardFormat, CardLook
from dpsel.cards.record import Published, published, read_record
from dpsel.cards.registry import registry_entry
from dpsel.cards.words import card_of
from dpsel.python import python_function, record_of
from dpsel.system.text import json_text

if TYPE_CHECKING:
    from dpsel.core.release import Selection


@python_function(CardLook, LedgerPlace)
def card(
    record: "Selection | str | Path",
    *,
    card_format: str = "markdown",
    ledger: str | None = None,
    ledger_file: str | Path | None = None,
) -> str:
    """Make a page of a record for those who sign a release, and for those who read it.

    Privacy:
        Guarantee: none is needed; a record and a ledger are public, and nothing else is looked at.
        Tested by: tests/cards/test_words.py

    Args:
        record: What `select` or `baseline` returned, or the file of a record in JSON.
        card_format: `markdown`, `html`, or `yaml` for an entry of the registry of deployments.
        ledger: Say what else was spent, by this ledger.
        ledger_file: The file of the ledgers, if it is not in its usual place.

    Raises:
        InputError: If the file is not a record.
        UsageError: If there is no such ledger, or format.
    """
    given = locals()
    look, place = record_of(CardLook, given), record_of(LedgerPlace, given)
    return card_text(look.card_format, _published(record), ledger_history(look, place))


def _published(record: "Selection | str | Path") -> Published:
    """Return a record, from a file or as `select` returns it."""
    if isinstance(record, str | Path):
        return read_record(str(record))
    text = json_text(record.to_dict())
    return published(record.to_dict(), hashlib.sha256(text.encode()).hexdigest())


def ledger_history(look: CardLook, place: LedgerPlace) -> History | None:
    """Return the ledger that is named, with all its charges; None if none is."""
    return None if look.ledger is None else named_history(look.ledger, place)


def card_text(card_format: CardFormat, record: Published, history: History | None) -> str:
    """Return a card in the format that is asked for."""
    if card_format is CardFormat.YAML:
        return registry_entry(record, history)
    written = card_of(record, history)
    return html_card(written) if card_format is CardFormat.HTML else markdown_card(written)
