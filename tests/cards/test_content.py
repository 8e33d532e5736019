"""What a card says, and what it says first."""

import math
from pathlib import Path
from typing import Any

import pytest

from dpsel.cards.content import Words, card_of, chance, odds_text
from dpsel.cards.pages import markdown_card
from dpsel.cards.record import published
from tests.cards.records import fields, ledger_with, record


def plain(words: Words) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in words)


def sentences(section: str, **changes: Any) -> str:
    """Return what a section of a card without a ledger says."""
    (found,) = [one for one in card_of(record(**changes), None).sections if one.heading == section]
    return " ".join(map(plain, (*found.sentences, *found.points)))


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 0.5, 1, 2, 5, 6.9, 10, 20, 50.0, 700.0])
def test_odds_are_those_of_the_closed_form_and_never_too_small(epsilon: float) -> None:
    shown = float(odds_text(epsilon).replace(",", "").replace(" x 10^", "e"))
    assert math.exp(epsilon) <= shown * (1 + 1e-12)
    assert shown <= math.exp(epsilon) * 1.0101


def test_odds_are_written_to_be_read() -> None:
    assert [odds_text(e) for e in (0.1, 1, 2, 5, 10)] == ["1.11", "2.72", "7.39", "149", "22,100"]
    assert odds_text(30) == "1.07 x 10^13"
    assert odds_text(1e300) == "a number without a practical limit"
    assert [chance(e) for e in (0.1, 1, 2)] == [f"at most {p} %" for p in ("52.5", "73.2", "88.1")]
    assert chance(10) == chance(1e300) == "more than 99.9 %"


def test_the_guarantee_is_told_in_odds() -> None:
    told = sentences("What is promised")
    assert "equally likely (1:1) that the row is in the table or not" in told
    assert "can reach odds of at most 7.39:1 from this release" in told
    assert "from 50 % to at most 88.1 %" in told
    assert "From end to end: bounding, scoring and selection are covered." in told
    with_delta = sentences("What is promised", guarantee={"delta": 1e-6})
    assert "a chance of at most 7.39 p + 1e-06" in with_delta
    assert "But for a chance of 1e-06 this is as good as a release from which" in with_delta
    other = sentences("What is promised", guarantee={"neighbors": "replace-one"})
    assert "considers two values of the row equally likely (1:1) can reach" in other


def test_whom_it_is_about_depends_on_unit_and_neighbors() -> None:
    assert "whether this row is in the table at all" in sentences("About whom")
    persons = {"unit": "person", "rows_per_unit": 3, "neighbors": "replace-one"}
    told = sentences("About whom", guarantee=persons)
    assert "of each at most 3 rows counted" in told
    assert "which values this person has. How many there are is not hidden." in told
    assert "with m rows" in sentences("What it does not cover").replace("person with", "with")
    assert "m rows" not in sentences("What it does not cover", guarantee=persons)


def first_words(**changes: Any) -> str:
    """Return what follows the title of a card."""
    return markdown_card(card_of(record(**changes), None)).split("\n\n")[1]


def test_what_is_not_covered_is_said_first() -> None:
    assert first_words() == "## What was released"
    partial = first_words(guarantee={"end_to_end": False, "why": "selection only: no bounds"})
    assert partial == (
        "> **The guarantee does not cover all that was done to the data: selection only\\: no "
        "bounds.**"
    )
    seeded = first_words(guarantee=None)
    assert seeded == "> **This is not private, and not for release: drawn with a fixed seed.**"
    assert "What is promised" not in markdown_card(card_of(record(guarantee=None), None))


def test_the_ledger_says_what_else_was_spent_and_which_charge_this_is(tmp_path: Path) -> None:
    mine = fields(run_id="may", date="2024-05-01")
    history = ledger_with(tmp_path / "l", mine, target="came_back")
    text = markdown_card(card_of(record(run_id="may", date="2024-05-01"), history))
    assert "epsilon 2.5 is spent in 2 charges, and epsilon 7.5 is left." in text
    assert "taken together: from 1:1 to 12.2:1." in text
    assert "This release is charge 2." in text
    assert f"SHA-256 {history.head}." in text
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert [row.split(" | ")[2:] for row in rows] == [
        ["0.5", "0", "tool X", "booked |"],
        ["2", "0", r"target came\_back", "released |"],
    ]
    # The folders of the holder are nobody's business.
    assert "- Table: `visits.csv`\n" in text
    assert "anna" not in text


def test_a_record_that_is_not_in_the_ledger_is_told_apart(tmp_path: Path) -> None:
    history = ledger_with(tmp_path / "l", fields())
    card = card_of(record(selected_features=["ward", "sex"]), history)
    assert [plain(words) for words in card.warnings] == [
        "This release is not in the ledger patients: what it cost is not in its sums."
    ]
    assert "This release is charge" not in markdown_card(card)


def test_without_a_ledger_a_card_says_that_it_knows_of_nothing_else() -> None:
    assert sentences("What else was spent").startswith("No ledger was named for this card")


def test_a_record_of_the_first_version_has_a_card_too() -> None:
    first = fields(schema="dpsel.selection/1")
    for name in ("target", "positive", "method"):
        del first[name]
    text = markdown_card(card_of(published(first, "0" * 64), None))
    assert text.startswith("# Release card: 2 of 14 columns\n")
    assert "Target" not in text


def test_groups_of_columns_and_ranks_are_told() -> None:
    grouped = record(groups={"ward": ["ward_a", "ward_b"]}, row_ranks=True)
    text = markdown_card(card_of(grouped, None))
    assert text.startswith("# Release card: 2 of 14 columns and groups of columns, for ")
    assert "- Group: `ward`: `ward_a`, `ward_b`\n" in text
    assert "drew; numbers counted by their ranks within the row\n" in text


def test_a_card_is_the_same_for_the_same_input(tmp_path: Path) -> None:
    history = ledger_with(tmp_path / "l", fields())
    assert card_of(record(), history) == card_of(record(), history)
