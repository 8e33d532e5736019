"""A card in a real browser: light or dark like the system, nothing is said or asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpsel.cards.pages import html_card
from tests.browser import NEEDS_BROWSER, SURFACE, fresh_browser, opened, requests
from tests.cards.records import HOSTILE, fields, ledger_with
from tests.cards.test_pages import hostile_card

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A card full of hostile names, written to a file."""
    folder = tmp_path_factory.mktemp("card")
    history = ledger_with(folder / "ledger", fields(), target=HOSTILE[0])
    (folder / "card.html").write_text(html_card(hostile_card(" ".join(HOSTILE), history)))
    return folder / "card.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A fresh browser."""
    with fresh_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_fits_the_window_and_nothing_is_asked_for(
    browser: Any, card: Path, theme: str, width: int, tmp_path: Path
) -> None:
    opened(browser, card, theme, width)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == SURFACE[theme]
    assert browser.execute_script("return document.scripts.length") == 0
    assert browser.execute_script("return document.images.length") == 0
    assert browser.save_screenshot(str(tmp_path / f"{theme}.png"))
    asked = requests(browser)
    assert {address for address in asked if not address.startswith("data:")} == {card.as_uri()}
    assert browser.get_log("browser") == []
