"""The options of `dpsel card`. This module imports nothing heavy: `--help` is instant."""

from enum import StrEnum

from dpsel.options import option
from dpsel.records import frozen


class CardFormat(StrEnum):
    """The formats of a card."""

    MARKDOWN = "markdown"
    HTML = "html"
    YAML = "yaml"


@frozen(kw_only=True)
class CardLook:
    """The format of a card, and the ledger that it reports on."""

    card_format: CardFormat = option(
        "--format",
        "A page in Markdown or HTML, or an entry for the registry of deployments in YAML.",
        CardFormat.MARKDOWN,
    )
    ledger: str | None = option(
        "--ledger NAME", "Also show what else was spent from this ledger.", None, panel="Budget"
    )
