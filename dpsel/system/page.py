"""Pages of HTML that stand alone: `page.html`, filled; without scripts, links or requests."""

from importlib.resources import files
from string import Template

from dpsel.display import ALARM, ALARM_INK, safe


def page_html(title: str, style: str, body: str) -> str:
    """Return a page in light or dark colours.

    Args:
        title: Plain text.
        style: What the page's own style sheet says beyond that of all pages.
        body: HTML already.
    """
    frame = Template(files("dpsel.system").joinpath("page.html").read_text("utf-8"))
    shown = {"alarm": ALARM, "alarm_ink": ALARM_INK, "title": safe(title)}
    return frame.substitute(shown, style=style.rstrip(), body=body)
