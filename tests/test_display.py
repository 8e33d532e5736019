"""Records in notebooks: what is promised comes first, and no name is taken for HTML."""

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

import dpsel
from dpsel.budget.charges import Terms
from dpsel.core.guarantee import Neighbors
from dpsel.core.selection import Selection
from dpsel.display import ALARM, ALARM_INK, block_html, printable, shortened
from dpsel.evaluation.run import Evaluation
from dpsel.planning.options import Guesses, Simulation, TargetGuess, Wish
from dpsel.planning.plan import Advice, Balance, Curve, Plan
from dpsel.planning.request import make_plan_request
from dpsel.selection.options import Method
from dpsel.system.text import json_text
from tests.cards.records import HOSTILE, fields
from tests.cards.test_pages import Page
from tests.evaluation.test_unseen import asked as sweep_of
from tests.ledgers import asked, make_ledger
from tests.tidy_results import picked, tidy

LONG = "gene" * 5_000
# A half of a pair is no Unicode: neither frames nor ledgers take it.
NO_UNICODE = "\ud800 日本"
NAMES = (
    *(name for name in HOSTILE if name != NO_UNICODE),
    LONG,
    '"><svg onload=alert(1)>',
    "' style='position:fixed",
    "שם of a column",
)


def selection_of(name: str, **guarantee: object) -> Selection:
    """Return a selection with this name wherever somebody else's words may stand."""
    return Selection.from_dict(
        fields(
            selected_features=[name, "ward"],
            target=name,
            method=name,
            score=name,
            mechanism={"name": name},
            guarantee=guarantee or {"end_to_end": False, "why": name},
        )
    )


def plan_of(name: str) -> Plan:
    wish, guesses = Wish(k=2, epsilon="0.5,2"), Guesses(rows=80, features=10)
    shares = np.array([0.2, 0.7])
    return Plan(
        make_plan_request(wish, guesses, TargetGuess(share=0.3), Simulation()),
        {Method.STUMP: Curve((0.5, 2.0), shares - 0.1, shares, shares + 0.1)},
        {0.5: None, 2.0: 0.3},
        Advice(Method.STUMP, name),
        {0.5: 2, 2.0: 2},
        Balance(name, name, name, name, {0.5: name, 2.0: None}),
        name,
    )


def evaluation_of(name: str) -> Evaluation:
    results = tidy(datasets=(name, "alon"), methods=(name,))
    return Evaluation(results, picked(name=name), [name], {"tables": [name]}, sweep_of("stump"))


def ledger_of(name: str, folder: Path) -> dpsel.Ledger:
    """Return a ledger for persons by this column, if a ledger can be, with two charges."""
    place = folder / "ledgers.db"
    terms = Terms(Neighbors.ADD_REMOVE, name)
    file = make_ledger(place, "10", terms=terms)
    charge = file.charge("patients", asked("2", terms=terms, target=name))
    release = fields(guarantee={"end_to_end": False, "why": name})
    file.store("patients", charge.charge, json_text(release))
    ledger = dpsel.Ledger("patients", ledger_file=place)
    ledger.reserve(epsilon=1)
    return ledger


Made = Callable[[str], object]


@pytest.fixture(params=["Selection", "Plan", "Evaluation", "Ledger"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """What makes a record with a name wherever somebody else's words may stand."""

    def ledger(name: str) -> dpsel.Ledger:
        return ledger_of(name, Path(mkdtemp(dir=tmp_path)))

    makers: dict[str, Made] = {
        "Selection": selection_of,
        "Plan": plan_of,
        "Evaluation": evaluation_of,
        "Ledger": ledger,
    }
    return makers[request.param]


def html_of(record: object) -> str:
    """Return what a notebook shows of a record."""
    return str(record._repr_html_())  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:40]))
def test_a_notebook_shows_names_as_text_only(made: Made, name: str) -> None:
    usual, shown = Page(html_of(made("x"))), html_of(made(name))
    found = Page(shown)
    assert (found.tags, found.attributes) == (usual.tags, usual.attributes)
    assert not {"script", "style", "link", "img"} & set(found.tags)
    assert found.text.count(printable(name)[:80]) >= 2
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
    assert len(shown) < 12_000
    shown.encode()


def test_what_is_no_unicode_is_escaped() -> None:
    for record in (selection_of(NO_UNICODE), plan_of(NO_UNICODE)):
        assert r"\ud800 日本" in html_of(record)
        html_of(record).encode()


def test_colours_are_those_of_the_notebook_but_for_the_stamp(made: Made) -> None:
    shown = html_of(made("x"))
    outside = shown.replace(f"background:{ALARM};color:{ALARM_INK}", "")
    assert not re.findall("#[0-9a-f]{3}|color|background", outside)


def first_line(record: object) -> str:
    """Return what a notebook shows first."""
    return Page(html_of(record)).text.strip().splitlines()[0]


def test_a_selection_states_its_guarantee_first() -> None:
    whole = selection_of("x", end_to_end=True)
    assert first_line(whole) == "private: epsilon 2, add-remove of rows, end to end"
    assert ALARM not in html_of(whole)
    part = selection_of("x", end_to_end=False, why="bounds were read off the data")
    assert first_line(part).endswith("the selection only, not end to end")
    stamp = html_of(part).splitlines()[2]
    assert ALARM in stamp
    assert "NOT END TO END: bounds were read off the data" in stamp


def test_a_selection_without_a_guarantee_is_stamped_red() -> None:
    seeded = Selection.from_dict(fields(guarantee=None))
    assert first_line(seeded) == "NOT PRIVATE, not for release: drawn with a fixed seed"
    assert ALARM in html_of(seeded).splitlines()[1]


def test_of_many_features_the_first_are_shown() -> None:
    many = Selection.from_dict(fields(selected_features=[f"f{place}" for place in range(25)]))
    found = Page(html_of(many))
    assert found.tags.count("code") == 21
    assert "and 5 more" in found.text


def test_a_plan_says_first_that_it_is_public() -> None:
    assert first_line(plan_of("x")) == "a plan, made from public guesses: it may be passed on"
    assert ALARM not in html_of(plan_of("x"))
    assert "70 % (60-80)" in html_of(plan_of("x"))


def test_an_evaluation_is_never_private() -> None:
    evaluation = evaluation_of("x")
    assert first_line(evaluation) == "NOT PRIVATE, not for release: for the data's holder only"
    assert ALARM in html_of(evaluation).splitlines()[1]
    assert evaluation.conclusions[0] in Page(html_of(evaluation)).text


def test_a_ledger_states_its_limit_first_and_what_is_left(tmp_path: Path) -> None:
    ledger = ledger_of("patient", tmp_path)
    limit = "epsilon 10, add-remove of persons by column 'patient'"
    assert first_line(ledger) == f"all charges together: at most {limit}"
    assert "NOT END TO END, but for the selection only: charge 1" in html_of(ledger)
    said = Page(html_of(ledger)).text
    assert all(one in said for one in ("spentepsilon 2", "reservedepsilon 1", "leftepsilon 7"))
    (tmp_path / "ledgers.db").unlink()
    assert ALARM in html_of(ledger)


def test_a_long_text_is_cut_where_it_is_shown() -> None:
    assert shortened("a" * 80) == "a" * 80
    assert shortened("a" * 1234) == "a" * 80 + "… (1,234 signs)"
    assert len(block_html(promise=LONG)) < 1000
    assert len(repr(selection_of(LONG))) < 1000
