"""The documentation site builds without a warning, and its pages need nobody else."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import NEEDS_BROWSER, fresh_browser, opened, requests
from tests.test_notebooks import NOTEBOOKS

ROOT = Path(__file__).parents[1]
PAGES = (
    "index",
    "tutorials/first_selection",
    "reference/commands",
    "explanation/sharp_edges",
    "reference/methods",
    "reference/accuracy",
    "notebooks/hospital",
)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with warnings as errors: a link that leads nowhere is one."""
    for package in ("sphinx", "myst_parser", "pydata_sphinx_theme"):
        pytest.importorskip(package, reason="the site needs the extra `docs`")
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(made)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with fresh_browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def test_every_page_is_in_the_site(site: Path) -> None:
    written = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    written |= {path.relative_to(ROOT / "docs").with_suffix(".md") for path in NOTEBOOKS}
    made = {path.relative_to(site).with_suffix(".md") for path in site.rglob("*.html")}
    assert written <= made


@NEEDS_BROWSER
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_opens_without_an_error_and_asks_no_other_host(
    site: Path, browser: Any, page: str, theme: str, width: int
) -> None:
    opened(browser, site / f"{page}.html", theme, width)
    assert browser.find_elements("css selector", "article h1")
    assert browser.execute_script("return document.documentElement.dataset.theme") == theme
    asked = requests(browser)
    assert asked
    assert [one for one in asked if not one.startswith((site.as_uri(), "data:"))] == []
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
