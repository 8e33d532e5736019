"""The report in a real browser: all pictures are there, nothing is said, nothing is asked for."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpsel.evaluation.report import report_html, sweep_figures
from tests.tidy_results import HOSTILE, picked, tidy

webdriver: Any = pytest.importorskip(
    "selenium.webdriver", reason="needs selenium to drive a browser"
)
WebDriverWait: Any = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait
pytest.importorskip("matplotlib", reason="figures need matplotlib, the extra `plot`")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="needs chromium and chromedriver on the path"
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SURFACE = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 28)"}
READ = 'return document.readyState === "complete" ? document.URL : ""'
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
    """A fresh browser that keeps its console and its requests."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def opened(browser: Any, report: Path, theme: str, width: int) -> None:
    """Open the report anew, with nothing of what came before in the logs."""
    browser.get("about:blank")
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(report.as_uri())
    # On a busy machine the driver may return while the page is still being read.
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(READ) == report.as_uri())


def requests(browser: Any) -> set[str]:
    """Return the addresses that the page asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }


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
