"""A real browser, for tests of pages: without one they are skipped."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

webdriver: Any = pytest.importorskip(
    "selenium.webdriver", reason="needs selenium to drive a browser"
)
WebDriverWait: Any = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NEEDS_BROWSER = pytest.mark.skipif(
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


@contextmanager
def fresh_browser(profile: Path) -> Iterator[Any]:
    """Start a browser that keeps its console and its requests, and end it."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def opened(browser: Any, page: Path, theme: str, width: int) -> None:
    """Open a page anew, with nothing of what came before in the logs."""
    browser.get("about:blank")
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())
    # On a busy machine the driver may return while the page is still being read.
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(READ) == page.as_uri())


def requests(browser: Any) -> set[str]:
    """Return the addresses that the page asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
