"""The first page of the core names every file of it, once."""

import re
from pathlib import Path

import dpsel.core


def test_every_file_of_the_core_has_its_place_in_the_order_of_reading() -> None:
    folder = Path(dpsel.core.__path__[0])
    files = sorted(path.name for path in folder.rglob("*.py") if path.name != "__init__.py")
    files.remove("registry.py")  # Scores and mechanisms have one each.
    text = (dpsel.core.__doc__ or "").partition("The order in which to read:")[2]
    named = sorted(re.findall(r"\w+\.py", text))
    named.remove("registry.py")
    assert named == files


def test_there_are_fifteen_words() -> None:
    words = re.findall(r"^    ([A-Z][a-z]+) {2,}", dpsel.core.__doc__ or "", re.M)
    assert len(words) == len(set(words)) == 15
