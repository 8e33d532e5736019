"""The content of a card: a record and a ledger in sentences. The layout is in `pages.py`."""

import json
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal

from dpsel.budget.amounts import Amount
from dpsel.budget.charges import Charge
from dpsel.budget.ledger import History
from dpsel.cards.record import Published
from dpsel.core.guarantee import Guarantee, Neighbors
from dpsel.core.selection import Part, Question, Selection
from dpsel.records import frozen


@frozen
class Name:
    """A name that somebody else chose, such as a column's. Shown literally, as code."""

    text: str


@frozen
class Quoted:
    """A text that somebody else wrote. Shown literally, never read as markup."""

    text: str


Words = tuple[str | Name | Quoted, ...]
"""A sentence: our own words, with names and texts of others."""


@frozen
class CardTable:
    """Rows of cells under headings."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@frozen
class Section:
    """A section of a card: sentences, facts by name, bullet points, a table. Any may be missing."""

    heading: str
    sentences: tuple[Words, ...] = ()
    facts: tuple[tuple[str, Words], ...] = ()
    table: CardTable | None = None
    points: tuple[Words, ...] = ()


@frozen
class Card:
    """One page about one release. Warnings come first."""

    title: Words
    warnings: tuple[Words, ...]
    sections: tuple[Section, ...]


def card_of(record: Published, ledger: History | None) -> Card:
    """Return the card of a record and of its ledger; equal inputs give equal cards.

    Privacy:
        Guarantee: none is needed; a record and a ledger are public, and nothing else is read.
        Tested by: tests/cards/test_content.py
    """
    selection, charge = record.selection, None if ledger is None else charge_for(record, ledger)
    guarantee = selection.guarantee
    sections = [_released(record, charge), _about_whom(guarantee)]
    if guarantee is not None:
        sections += [_promised(guarantee), _not_covered(guarantee)]
    sections += [_spent(ledger, charge), _signatures()]
    return Card(_title(selection), tuple(_warnings(selection, ledger, charge)), tuple(sections))


def charge_for(record: Published, ledger: History) -> Charge | None:
    """Return the charge whose stored release is this record, if there is one."""
    for charge in ledger.charges:
        if charge.release is not None and json.loads(charge.release) == record.fields:
            return charge
    return None


def odds_text(epsilon: float) -> str:
    """Return e^epsilon with three digits, rounded up, so that "at most" stays true."""
    if epsilon > _FINITE:
        return "a number without a practical limit"
    most = _up(Decimal(repr(float(epsilon))).exp(_EXACT))
    if most < _WRITTEN_OUT:
        return f"{most:,f}"
    return f"{most.scaleb(-most.adjusted()):f} x 10^{most.adjusted()}"


def chance(epsilon: float) -> str:
    """Return, in percent and rounded up, how sure someone can become who was 50 % sure."""
    grown = Decimal(repr(float(min(epsilon, 100.0)))).exp(_EXACT)
    percent = (100 * grown / (1 + grown)).quantize(Decimal("0.1"), ROUND_CEILING)
    return f"at most {percent} %" if percent < 100 else "more than 99.9 %"


_EXACT = Context(prec=40)
_FINITE = 1000.0
_WRITTEN_OUT = Decimal(10) ** 9


def _up(number: Decimal) -> Decimal:
    """Return a number rounded up to three digits."""
    return Context(prec=3, rounding=ROUND_CEILING).plus(number)


def count_words(selection: Selection) -> str:
    """Return how many features were released, out of how many."""
    what = "columns and groups of columns" if selection.groups else "columns"
    return f"{len(selection.selected_features)} of {selection.n_features:,} {what}"


def _title(selection: Selection) -> Words:
    """Return the title: what was released."""
    count = count_words(selection)
    if selection.question is None:
        return (f"Release card: {count}",)
    return (f"Release card: {count}, for ", Name(selection.question.target))


def _warnings(selection: Selection, ledger: History | None, charge: Charge | None) -> list[Words]:
    """Return the warnings: no or partial guarantee, or not in the ledger."""
    warnings: list[Words] = []
    if selection.guarantee is None:
        because = Quoted(selection.no_guarantee_because or "")
        warnings.append(("This is not private, and not for release: ", because, "."))
    elif not selection.guarantee.scope.end_to_end:
        why = Quoted(selection.guarantee.scope.why)
        warnings.append(("The guarantee does not cover all that was done to the data: ", why, "."))
    if ledger is not None and charge is None:
        name = Name(ledger.ledger.name)
        warnings.append(
            ("This release is not in the ledger ", name, ": what it cost is not in its sums.")
        )
    return warnings


def _released(record: Published, charge: Charge | None) -> Section:
    """Return the section on what was released, and how it was selected."""
    selection, question = record.selection, record.selection.question
    sentence: Words = (f"The names of {count_words(selection)}",)
    if question is not None:
        sentence = (*sentence, ", chosen by a score, with noise, as the best predictors of the ")
        sentence = (*sentence, "column ", Name(question.target))
    facts: list[tuple[str, Words]] = [("Released", _listed(selection.selected_features))]
    facts += [("Group", (Name(name), ": ", *_listed(of))) for name, of in selection.groups.items()]
    facts += [] if question is None else _question(question)
    facts.append(("Method", _method(selection)))
    if selection.budget:
        facts.append(("Epsilon spent on", _parts(selection.budget)))
    if charge is not None and isinstance(table := charge.asked.parameters.get("table"), str):
        # Only the file's name: the folders above it are not for readers.
        facts.append(("Table", (Name(table.replace("\\", "/").rsplit("/", 1)[-1]),)))
    if question is not None and question.run_id is not None:
        facts.append(("Run id", (Name(question.run_id),)))
    if question is not None and question.date is not None:
        facts.append(("Date", (question.date,)))
    facts.append(("Record", (f"SHA-256 {record.digest}",)))
    facts.append(("Made by", ("dpsel ", Quoted(selection.version))))
    return Section("What was released", ((*sentence, "."),), tuple(facts))


def _question(question: Question) -> list[tuple[str, Words]]:
    """Return the target and the candidate columns."""
    target: Words = (Name(question.target),)
    if question.positive is not None:
        target = (*target, ": ", Name(question.positive), " against all others")
    elif question.classes:
        target = (*target, ": one of ", *_listed(question.classes))
    among: Words = ("all columns but the target",)
    if question.features:
        among = ("columns named by ", *_listed(question.features))
    if question.exclude:
        among = (*among, ", without ", *_listed(question.exclude))
    return [("Target", target), ("Chosen from", among)]


def _method(selection: Selection) -> Words:
    """Return how features were scored and drawn."""
    question = selection.question
    method = None if question is None else question.method
    named: Words = () if method is None else (Name(method), ": ")
    parameters = "".join(f", {name} {value}" for name, value in selection.parameters.items())
    drawn: Words = (" scored, ", Name(selection.mechanism), " drew", Quoted(parameters))
    row_ranks = question is not None and question.row_ranks
    ranks = ("; numbers counted by their ranks within the row",) if row_ranks else ()
    return (*named, Name(selection.score), *drawn, *ranks)


def _parts(budget: Sequence[Part]) -> Words:
    """Return how epsilon was split among the steps."""
    parts: list[str | Quoted] = []
    for part in budget:
        parts += ["; " if parts else "", Quoted(part.name), f" {part.epsilon:g}"]
    return tuple(parts)


def _listed(names: Sequence[str]) -> Words:
    """Return names separated by commas."""
    parts: list[str | Name] = []
    for name in names:
        parts += [", ", Name(name)] if parts else [Name(name)]
    return tuple(parts)


def _about_whom(guarantee: Guarantee | None) -> Section:
    """Return the section on whose data are protected."""
    if guarantee is None:
        text = "About everybody in the table, and nobody is protected."
        return Section("About whom", ((text,),))
    who, rows = guarantee.unit.name, guarantee.unit.rows
    if who == "person":
        most = "one row" if rows == 1 else f"{rows:,} rows"
        text = f"About the persons in the table; of each at most {most} counted. "
        text += "Every single person is protected, with all rows: "
    else:
        text = "About the rows of the table. Every single row is protected: "
    if guarantee.neighbors is Neighbors.ADD_REMOVE:
        text += f"whether this {who} is in the table at all, and with which values."
    else:
        text += f"which values this {who} has. How many there are is not hidden."
    return Section("About whom", ((text,),))


def _promised(guarantee: Guarantee) -> Section:
    """Return the section on the guarantee, in words and odds."""
    epsilon, delta = guarantee.epsilon, guarantee.delta
    who, factor = guarantee.unit.name, odds_text(epsilon)
    numbers = f"epsilon {epsilon:g}" + (f" and delta {delta:g}" if delta else "")
    someone = f"someone who considers it equally likely (1:1) that the {who} is in the table or not"
    if guarantee.neighbors is Neighbors.REPLACE_ONE:
        someone = f"someone who considers two values of the {who} equally likely (1:1)"
    first = f"Differential privacy with {numbers}, for every {who}. "
    if delta:
        first += f"Whatever could be concluded without the {who} with a chance of p is concluded "
        first += f"with it with a chance of at most {factor} p + {delta:g}, and the other way "
        first += f"round. But for a chance of {delta:g} this is as good as a release from which "
        first += f"{someone} can reach odds of at most {factor}:1."
    else:
        first += f"S{someone[1:]} can reach odds of at most {factor}:1 from this release: from "
        first += (
            f"50 % to {chance(epsilon)}. This holds whatever else they know, for every outcome."
        )
    sentences: list[Words] = [(first,)]
    if guarantee.scope.end_to_end:
        sentences.append(("From end to end: ", Quoted(guarantee.scope.why), "."))
    return Section("What is promised", tuple(sentences))


def _not_covered(guarantee: Guarantee) -> Section:
    """Return the section on what the guarantee does not cover."""
    points: list[Words] = []
    if not guarantee.scope.end_to_end:
        points.append(("What was done to the data before: ", Quoted(guarantee.scope.why), "."))
    else:
        points.append(("How the table was made before it was read.",))
    if guarantee.unit.name == "row":
        factor = odds_text(guarantee.epsilon)
        text = f"A person with m rows: the odds are then at most {factor} to the power of m"
        text += ", and delta grows with m too." if guarantee.delta else "."
        points.append((text,))
    else:
        points.append(("What a person's data say about others, such as relatives.",))
    public = "Names and types of columns, labels, bounds and all options are public inputs: if "
    public += "somebody chose them by looking at the data, that is not covered."
    points.append((public,))
    general = "What is true in general: that these columns predict the target may say something "
    general += f"about a {guarantee.unit.name} that never was in the table."
    points.append((general,))
    points.append(("Other releases about the same people: costs add up, see below.",))
    points.append(("People who can read the table itself, or measure how long the program runs.",))
    return Section("What it does not cover", points=tuple(points))


def _spent(history: History | None, charge: Charge | None) -> Section:
    """Return the section on what else was charged to the ledger."""
    heading = "What else was spent"
    if history is None:
        text = "No ledger was named for this card, so it does not say what else was released "
        return Section(heading, ((f"{text}about the same people.",),))
    ledger = history.ledger
    count = f"{ledger.charges} charge{'' if ledger.charges == 1 else 's'}"
    text = f" is for {ledger.terms.neighbors} of "
    person: Words = ("rows",)
    if ledger.terms.person is not None:
        person = ("persons by the column ", Name(ledger.terms.person))
    sums = f". Of {ledger.limit.words()}, {ledger.spent.words()} is spent in {count}, "
    if ledger.reserved != Amount():
        sums += f"{ledger.reserved.words()} is reserved, "
    sums += f"and {ledger.left.words()} is left."
    sentences: list[Words] = [("The ledger ", Name(ledger.name), text, *person, sums)]
    if ledger.spent.epsilon and not ledger.spent.delta:
        total = odds_text(float(ledger.spent.epsilon))
        sentences.append((f"All that was charged to it, taken together: from 1:1 to {total}:1.",))
    if charge is not None:
        sentences.append((f"This release is charge {charge.number}.",))
    if history.head is not None:
        sentences.append((f"The head of its chain is the SHA-256 {history.head}.",))
    rows = tuple(_charge_row(one) for one in history.charges)
    table = (
        CardTable(("charge", "day", "epsilon", "delta", "for", "outcome"), rows) if rows else None
    )
    return Section(heading, tuple(sentences), table=table)


def _charge_row(charge: Charge) -> tuple[str, ...]:
    """Return a charge as cells of the table."""
    fields = charge.to_dict()
    what = fields["by"]
    if what is None:
        what = fields["command"] if fields["target"] is None else f"target {fields['target']}"
    number, day = str(charge.number), charge.time[:10]
    return (number, day, fields["epsilon"], fields["delta"], str(what), charge.outcome)


def _signatures() -> Section:
    """Return the section for signatures."""
    line: Words = ("." * 40,)
    facts = tuple((who, line) for who in ("Data holder", "Privacy officer", "Date and place"))
    return Section("Signed", facts=facts)
