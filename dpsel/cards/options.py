"""The options of `dpsel card`. Imports nothing heavy: `--help` is instant."""

from enum import StrEnum

from dpsel.options import option
from dpsel.records import frozen


class CardFormat(StrEnum):
    """How a card is written."""

    MARKDOWN = "markdown"
    HTML = "html"
    YAML = "yaml"


@frozen(kw_only=True)
class CardLook:
    """How a card is written, and whose ledger it tells about."""

    card_format: CardFormat = option(
        "--format",
        "A page in Markdown or HTML, or an entry for the registry of deployments, in YAML.",
        CardFormat.MARKDOWN,
    )
    ledger: str | None = option(
        "--ledger NAME", "Say what else was spent, by this ledger.", None, panel="Budget"
    )
