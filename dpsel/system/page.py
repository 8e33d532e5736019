"""Pages of HTML that stand alone: `page.html`, filled; without scripts, links or requests."""

from html import escape
from importlib.resources import files
from string import Template

from dpsel.system.text import printable


def page_html(title: str, style: str, body: str) -> str:
    """Return a page in light or dark colours.

    Args:
        title: Plain text.
        style: What the page's own style sheet says beyond that of all pages.
        body: HTML already.
    """
    frame = Template(files("dpsel.system").joinpath("page.html").read_text("utf-8"))
    return frame.substitute(title=safe(title), style=style.rstrip(), body=body)


def safe(text: str) -> str:
    """Return any text as HTML, on one line."""
    return escape(printable(text))
