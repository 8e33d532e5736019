"""Whatever names a record holds: a card shows them, and they are never taken for a format."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from dpsel.budget.ledger import History
from dpsel.cards.content import Card, card_of
from dpsel.cards.pages import code_span, escaped, html_card, markdown_card
from dpsel.display import printable
from tests.cards.records import HOSTILE, fields, ledger_with, record

markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py, as rich does")


class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(markdown: str) -> Page:
    """Return the page that GitHub's flavour makes of a text, with tags and addresses taken."""
    return Page(
        markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    )


@pytest.fixture
def ledger(tmp_path: Path) -> History:
    return ledger_with(tmp_path / "l", fields())


def hostile_card(name: str, ledger: History) -> Card:
    """Return a card with this name wherever somebody else's words may stand."""
    return card_of(
        record(
            selected_features=[name, "ward"],
            target=name,
            positive=name,
            groups={name: [name]},
            features=[name],
            exclude=[name],
            method=name,
            score=name,
            mechanism={"name": name, name: name},
            version=name,
            run_id=name,
            budget=[{"name": name, "epsilon": 1.5}],
            guarantee={"end_to_end": False, "why": name},
        ),
        ledger,
    )


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_page_of_html_holds_names_as_text_only(name: str, ledger: History) -> None:
    usual, page = Page(html_card(hostile_card("x", ledger))), html_card(hostile_card(name, ledger))
    found = Page(page)
    assert (found.tags, found.attributes) == (usual.tags, usual.attributes)
    assert "script" not in found.tags
    assert found.text.count(printable(name)) >= 12
    assert all(sign.isprintable() or sign == "\n" for sign in page)
    page.encode()


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_markdown_shows_names_as_they_are(name: str, ledger: History) -> None:
    usual = rendered(markdown_card(hostile_card("x", ledger)))
    page = markdown_card(hostile_card(name, ledger))
    found = rendered(page)
    assert (found.tags, found.attributes) == (usual.tags, usual.attributes)
    if name.strip():
        assert found.text.count(printable(name)) >= 12
    page.encode()


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_cell_of_a_table_stays_one_cell(name: str) -> None:
    table = f"| a | b |\n| --- | --- |\n| {escaped(name)} | {escaped(name)} |"
    found = rendered(table)
    assert found.tags.count("td") == 2
    assert not set(found.tags) - {"table", "thead", "tbody", "tr", "th", "td"}


def test_no_address_is_made_a_link_where_addresses_are_linked() -> None:
    linked = markdown_it.MarkdownIt("commonmark")
    for name in HOSTILE:
        for text in (escaped(name), code_span(name)):
            assert "<a" not in linked.render(f"Quoted: {text}")
    assert r"https\:" in escaped("https://evil.example")
    assert r"www\.evil" in escaped("www.evil.example")
    assert r"\@" in escaped("me@evil.example")
    assert escaped("0.5 of 1,000 (a-b)") == "0.5 of 1,000 (a-b)"


def test_nothing_is_loaded_and_nothing_runs(ledger: History) -> None:
    page = html_card(card_of(record(), ledger))
    assert "<script" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert "default-src" in page
    assert page.count("prefers-color-scheme: dark") == 1


def test_pages_are_the_same_bytes_for_the_same_input(ledger: History) -> None:
    for write in (html_card, markdown_card):
        assert write(card_of(record(), ledger)) == write(card_of(record(), ledger))
