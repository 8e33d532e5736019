"""Records and ledgers for tests of cards."""

from pathlib import Path
from typing import Any

from dpsel.budget.ledger import History, LedgerFile
from dpsel.cards.record import Published, published
from dpsel.system.text import json_text
from tests.ledgers import asked, make_ledger

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1)) ![b](http://evil.example/x.png)",
    "https://evil.example www.evil.example me@evil.example",
    "a | b || c",
    "`` ` ```",
    "`",
    " ",
    "**bold** _it_ ~~no~~ # h",
    "- item\n1. one\n\n# Heading\n> quote",
    "\u202egnp.exe\u2066\x00\x1b[31m",
    "${title} $title {{x}} %s",
    "&lt;b&gt; &amp; \"quoted\" 'too'",
    "--- # yaml: *alias &anchor !!python/object",
    "\\(\\alpha\\) $$x$$ \\",
    "\ud800 日本",
)


def fields(**changes: Any) -> dict[str, Any]:
    """Return the fields of a record; `guarantee` as a mapping changes some of its fields."""
    guarantee: dict[str, Any] = {
        "epsilon": 2.0,
        "delta": 0.0,
        "neighbors": "add-remove",
        "unit": "row",
        "rows_per_unit": 1,
        "end_to_end": True,
        "why": "bounding, scoring and selection are covered",
    }
    stated = changes.pop("guarantee", {})
    return {
        "schema": "dpsel.selection/2",
        "selected_indices": [1, 6],
        "selected_features": ["ward", "glucose"],
        "k": 2,
        "n_features": 14,
        "target": "came_back",
        "positive": "yes",
        "method": "stump",
        "score": "stump",
        "mechanism": {"name": "permute-and-flip"},
        "guarantee": None if stated is None else guarantee | stated,
        "no_guarantee_because": "drawn with a fixed seed" if stated is None else None,
        "version": "0.1.0",
        **changes,
    }


def record(**changes: Any) -> Published:
    """Return a record."""
    return published(fields(**changes), "0" * 64)


def ledger_with(place: Path, release: dict[str, Any] | None, **parameters: Any) -> History:
    """Return a ledger with two charges, of which the second is for this release."""
    file: LedgerFile = make_ledger(place)
    file.charge("patients", asked("0.5", by="tool X"))
    charge = file.charge("patients", asked("2", table="/home/anna/visits.csv", **parameters)).charge
    if release is not None:
        file.store("patients", charge, json_text(release))
    return file.history("patients")
