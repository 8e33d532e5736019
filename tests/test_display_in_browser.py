"""Records in a browser, as a notebook shows them: whatever names they hold, nothing is run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import NEEDS_BROWSER, SURFACE, fresh_browser, opened, requests
from tests.test_display import NAMES, evaluation_of, html_of, ledger_of, plan_of, selection_of

pytestmark = [pytest.mark.long, NEEDS_BROWSER]

# A notebook brings its own colours, and puts numbers to the right.
NOTEBOOK = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">
<style>
body { background: #ffffff; color: #1b1f24; }
@media (prefers-color-scheme: dark) { body { background: #16181c; color: #e8eaed; } }
td, th { text-align: right; }
</style>"""
STAMPS = """return [...document.querySelectorAll("div")].map(one => getComputedStyle(one))
    .filter(one => one.backgroundColor === "rgb(179, 38, 30)").map(one => one.color)"""
INK = 'return [...document.querySelectorAll("td")].map(one => getComputedStyle(one).color)'


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with fresh_browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All four records with hostile names, as outputs of one notebook."""
    folder = tmp_path_factory.mktemp("notebook")
    name = " ".join(NAMES)
    records = [*map(selection_of, NAMES), plan_of(name), evaluation_of(name)]
    shown = map(html_of, [*records, ledger_of(name, folder)])
    (folder / "page.html").write_text(NOTEBOOK + "<hr>".join(shown))
    return folder / "page.html"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_records_run_nothing_and_fit_the_notebook(
    page: Path, browser: Any, theme: str, width: int
) -> None:
    opened(browser, page, theme, width)
    assert browser.execute_script("return document.scripts.length + document.images.length") == 0
    assert requests(browser) <= {page.as_uri(), "data:,"}
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == SURFACE[theme]
    own = browser.execute_script("return getComputedStyle(document.body).color")
    assert set(browser.execute_script(INK)) == {own}
    stamps = browser.execute_script(STAMPS)
    # A stamp on each selection, which is not end to end, on the evaluation and on the ledger.
    assert stamps == ["rgb(255, 255, 255)"] * (len(NAMES) + 2)
