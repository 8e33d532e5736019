"""The report in a real browser: all pictures are there, nothing is said, nothing is asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpsel.evaluation.report import report_html
from dpsel.evaluation.report_figures import sweep_figures
from tests.browser import NEEDS_BROWSER, SURFACE, fresh_browser, opened, requests
from tests.tidy_results import HOSTILE, picked, tidy

pytestmark = NEEDS_BROWSER
IMAGES = """return Array.from(document.images, image => {
  const box = image.getBoundingClientRect();
  return {complete: image.complete, natural: image.naturalWidth, width: box.width,
          height: box.height, visible: image.checkVisibility(), address: image.currentSrc};
});"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with hostile names, written to a file."""
    results = tidy(datasets=("golub", HOSTILE), asked=("5",))
    figures = sweep_figures(results, picked(datasets=("golub", HOSTILE)))
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_html(HOSTILE, [(HOSTILE, HOSTILE)], results, figures, [HOSTILE]))
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A fresh browser."""
    with fresh_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_is_shown_and_nothing_is_asked_for(
    browser: Any, report: Path, theme: str, width: int, tmp_path: Path
) -> None:
    opened(browser, report, theme, width)
    images = browser.execute_script(IMAGES)
    assert len(images) == 5
    for image in images:
        assert image["complete"]
        assert image["visible"]
        assert min(image["natural"], image["width"], image["height"]) > 100
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == SURFACE[theme]
    assert browser.execute_script("return document.scripts.length") == 0
    assert browser.save_screenshot(str(tmp_path / f"{theme}.png"))
    asked = requests(browser)
    assert report.as_uri() in asked
    assert {address for address in asked if not address.startswith("data:")} == {report.as_uri()}
    assert browser.get_log("browser") == []


def test_pictures_are_light_or_dark_like_the_page(browser: Any, report: Path) -> None:
    addresses = {}
    for theme in ("light", "dark"):
        opened(browser, report, theme, 1400)
        addresses[theme] = {image["address"] for image in browser.execute_script(IMAGES)}
    assert addresses["light"].isdisjoint(addresses["dark"])


def test_the_page_is_printed_in_light_colours(browser: Any, report: Path) -> None:
    opened(browser, report, "dark", 1400)
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    print_media = {"media": "print", "features": [feature]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", print_media)
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == SURFACE["light"]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_the_console_would_notice_a_request(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<img src="missing.png"><script>console.log("said")</script>')
    opened(browser, page, "light", 1400)
    assert len(requests(browser)) == 2
    assert browser.get_log("browser") != []
