"""Ledgers and their charges as JSON, CSV, text of at most 80 columns, or HTML for notebooks."""

import csv
import io
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from dpsel.budget.amounts import Amount
from dpsel.budget.chain import Chain
from dpsel.budget.charges import Charge, Reservation, Standing
from dpsel.budget.ledger import History
from dpsel.budget.options import ExportFormat, ReportFormat
from dpsel.display import Fact, block_html, printable
from dpsel.system.text import json_text

SCHEMA_ID = "dpsel.budget/1"
_WIDTH = 80
_LAST_CHARGES = 5
_CSV = (
    *("ledger", "number", "time", "epsilon", "delta", "neighbors", "unit", "person"),
    *("rows_per_unit", "command", "table", "target", "score", "mechanism", "k", "run_id"),
    *("end_to_end", "scope", "by", "user", "note", "released"),
)


def ledger_text(ledger: Standing, report_format: ReportFormat) -> str:
    """Return one ledger as JSON or text."""
    if report_format is ReportFormat.TEXT:
        return _wrapped(_ledger_lines(ledger))
    return json_text({"schema": SCHEMA_ID, **ledger.to_dict()})


def ledgers_text(ledgers: Sequence[Standing], report_format: ReportFormat) -> str:
    """Return all ledgers as JSON or text."""
    if report_format is ReportFormat.TEXT:
        return "\n".join(_wrapped(_ledger_lines(ledger)) for ledger in ledgers)
    fields = [ledger.to_dict() for ledger in ledgers]
    return json_text({"schema": SCHEMA_ID, "ledgers": fields})


def log_text(history: History, report_format: ReportFormat) -> str:
    """Return the charges and reservations of a ledger as JSON or text, in order."""
    if report_format is ReportFormat.TEXT:
        charges = map(_charge_lines, history.charges)
        blocks = [*charges, *map(_reservation_lines, history.reservations)]
        return "\n".join(map(_wrapped, blocks))
    return json_text({"schema": SCHEMA_ID, **history.to_dict()})


def ledger_block(history: History) -> str:
    """Return a ledger as a short HTML block for a notebook, with its last charges."""
    ledger = history.ledger
    limit = f"all charges together: at most {ledger.limit.words()}, {ledger.terms}"
    facts: list[Fact] = [("ledger", [ledger.name]), ("spent", ledger.spent.words())]
    if ledger.reserved != Amount():
        facts.append(("reserved", ledger.reserved.words()))
    facts.append(("left", ledger.left.words()))
    facts.append(("charges", f"{ledger.charges}, since {_day_and_time(ledger.created)}"))
    charges = [charge.to_dict() for charge in history.charges]
    partly = [str(one["number"]) for one in charges if one["end_to_end"] is False]
    stamp = f"NOT END TO END, but for the selection only: charge {', '.join(partly)}"
    rows = [["charge", "day", "epsilon", "delta", "for"]]
    for one in charges[-_LAST_CHARGES:]:
        purpose = one["target"] or one["by"] or one["command"]
        rows.append([str(one["number"]), one["time"][:10], one["epsilon"], one["delta"], purpose])
    stamps, table = [stamp] if partly else [], rows if charges else []
    return block_html(promise=limit, stamps=stamps, facts=facts, table=table)


def charge_text(ledger: Standing, charge: Charge) -> str:
    """Return a booked charge, and what it leaves, as JSON."""
    fields = {"ledger": ledger.name, "left": ledger.left.to_dict(), "charge": charge.to_dict()}
    return json_text({"schema": SCHEMA_ID, **fields})


def reservation_text(ledger: Standing, made: Reservation) -> str:
    """Return a reservation, or the freeing of one, and what it leaves, as JSON."""
    fields = {"ledger": ledger.name, "left": ledger.left.to_dict(), "reservation": made.to_dict()}
    return json_text({"schema": SCHEMA_ID, **fields})


def chain_text(ledger: str, chain: Chain) -> str:
    """Return the verified chain of a ledger as JSON."""
    return json_text({"schema": SCHEMA_ID, "ledger": ledger, **chain.to_dict()})


def export_text(history: History, export_format: ExportFormat) -> str:
    """Return a whole ledger; in CSV without parameters and releases."""
    if export_format is ExportFormat.CSV:
        return _csv(history)
    return json_text(export_fields(history))


def export_fields(history: History) -> dict[str, Any]:
    """Return a whole ledger as plain values."""
    return {
        "schema": SCHEMA_ID,
        **history.ledger.to_dict(),
        "log": [charge.exported() for charge in history.charges],
        "reservations": [one.to_dict() for one in history.reservations],
    }


def _csv(history: History) -> str:
    """Return charges as CSV, one per line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _CSV, lineterminator="\n")
    writer.writeheader()
    for charge in history.charges:
        fields = {"ledger": history.ledger.name, **charge.to_dict()}
        writer.writerow({name: _cell(value) for name, value in fields.items()})
    return text.getvalue()


def _cell(value: Any) -> str:
    """Return a value as a CSV cell."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _ledger_lines(ledger: Standing) -> list[str]:
    """Return how a ledger stands, as lines of text."""
    fields = ledger.to_dict()
    lines = [f"{ledger.name}: {ledger.terms}"]
    for name in ("epsilon", "delta"):
        spent, held = fields["spent"][name], fields["reserved"][name]
        reserved = f", {held} reserved" if getattr(ledger.reserved, name) else ""
        left, limit = fields["left"][name], fields["limit"][name]
        lines.append(f"  {name + ':':8} {spent} spent{reserved}, {left} left of {limit}")
    lines.append(f"  charges: {ledger.charges}, since {_day_and_time(ledger.created)}")
    return lines


def _charge_lines(charge: Charge) -> list[str]:
    """Return a charge as lines of text: its cost, its purpose, its user and note."""
    fields, cost = charge.to_dict(), charge.asked.cost.words()
    first = f"{charge.number}. {_day_and_time(charge.time)}, {cost}, {charge.outcome}"
    scope = {True: "end to end", False: "not end to end", None: "not known"}[fields["end_to_end"]]
    about = {
        "command": fields["command"],
        "by": fields["by"],
        "target": fields["target"],
        "table": fields["table"],
        "k": fields["k"],
        "method": ", ".join(filter(None, (fields["score"], fields["mechanism"]))) or None,
        "guarantee": None if fields["by"] is not None else f"{scope}: {fields['scope']}",
        "run id": fields["run_id"],
        "user": fields["user"],
        "note": fields["note"],
    }
    return [first, *_named(about)]


def _reservation_lines(one: Reservation) -> list[str]:
    """Return a reservation, or the freeing of one, as lines of text."""
    what = "reserved" if one.frees is None else f"freed: reservation {one.frees}"
    first = f"reservation {one.number}. {_day_and_time(one.time)}, {one.amount.words()}, {what}"
    return [first, *_named({"user": one.user, "note": one.note})]


def _named(about: dict[str, Any]) -> list[str]:
    """Return names and values, one per line; those without a value are left out."""
    return [f"   {name}: {value}" for name, value in about.items() if value is not None]


def _day_and_time(time: str) -> str:
    """Return a time without fractions of a second."""
    return f"{time[:19].replace('T', ' ')}Z"


def _wrapped(lines: Iterable[str]) -> str:
    """Return lines wrapped at 80 columns; continuation lines are indented."""
    wrapped: list[str] = []
    for line in lines:
        shown = printable(line)
        indent = " " * (len(shown) - len(shown.lstrip()) + 2)
        wrapped += textwrap.wrap(shown, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    return "".join(f"{line}\n" for line in wrapped)
