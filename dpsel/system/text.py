"""Text: nearest spellings, small public files, JSON that a terminal can show, and HTML pages."""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, Literal

from dpsel.display import ALARM, ALARM_INK, safe
from dpsel.errors import InputError

_MANY_NAMES = 5_000


def nearest(name: str, names: Sequence[str]) -> str | None:
    """Return the name that is spelled most like `name`, None if none is similar."""
    folded = {other.casefold(): other for other in names}
    if name.casefold() in folded:
        return folded[name.casefold()]
    # Comparing spellings is slow: of very many names, only those with the same first letter.
    if len(names) > _MANY_NAMES:
        names = [other for other in names if other[:1] == name[:1]][:_MANY_NAMES]
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return the nearest name as the end of a message; empty if none is similar."""
    near = nearest(name, names)
    return "" if near is None else f"; did you mean '{near}'?"


_BEYOND_ASCII = re.compile("[^\n -~]")


def text_of(path: str | Path, option: str) -> str:
    """Return a small public file as text; `option` is the option that named it."""
    if not str(path):
        raise InputError(f"{option}: the name of the file is empty")
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError):
        raise InputError(f"{Path(path).name}: cannot be read as text") from None


def parsed(text: str, label: str, written_as: Literal["JSON", "TOML"]) -> Any:
    """Return the content of a text in JSON or TOML; messages call it `label`."""
    # Imported here because most runs have no such file.
    import tomllib

    try:
        return json.loads(text) if written_as == "JSON" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{label}: is not {written_as}: {error}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{label}: cannot be read as {written_as}") from None


def json_text(fields: Mapping[str, Any]) -> str:
    """Return a record as JSON that is safe to print, and that parses to the same record.

    JSON allows control characters from U+007F on, marks that reverse the direction of writing, and
    other invisible characters; here they are all escaped.
    """
    text = json.dumps(fields, indent=2, ensure_ascii=False)
    return _BEYOND_ASCII.sub(_escaped_if_unseen, text) + "\n"


def _escaped_if_unseen(found: re.Match[str]) -> str:
    """Return a character unchanged, or escaped as in JSON if it is not printable."""
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def page_html(title: str, style: str, body: str) -> str:
    """Return a page of HTML in light or dark colors, without scripts, links or requests.

    It is `page.html`, filled in.

    Args:
        title: Plain text.
        style: CSS rules to add to the style sheet that all pages share.
        body: HTML.
    """
    # Imported here because most runs write no page.
    from importlib.resources import files

    frame = Template(files("dpsel.system").joinpath("page.html").read_text("utf-8"))
    shown = {"alarm": ALARM, "alarm_ink": ALARM_INK, "title": safe(title)}
    return frame.substitute(shown, style=style.rstrip(), body=body)
