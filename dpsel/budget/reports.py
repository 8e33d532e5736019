"""Ledgers and their charges as text: JSON, CSV or aligned columns."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from dpsel.budget.chain import Chain
from dpsel.budget.ledger import Charge, Standing
from dpsel.budget.options import ExportFormat, ReportFormat
from dpsel.system.text import json_text, printable

SCHEMA_ID = "dpsel.budget/1"
_AMOUNTS = [(name, part) for name in ("epsilon", "delta") for part in ("spent", "left", "limit")]
_LOG = ("number", "time", "epsilon", "delta", "command", "score", "mechanism", "k", "run_id")


def ledger_text(ledger: Standing, report_format: ReportFormat) -> str:
    """Return one ledger."""
    if report_format is ReportFormat.TEXT:
        return _columns([_HEADER, _cells(ledger)])
    return json_text({"schema": SCHEMA_ID, **ledger.to_dict()})


def ledgers_text(ledgers: Sequence[Standing], report_format: ReportFormat) -> str:
    """Return all ledgers."""
    if report_format is ReportFormat.TEXT:
        return _columns([_HEADER, *map(_cells, ledgers)])
    fields = [ledger.to_dict() for ledger in ledgers]
    return json_text({"schema": SCHEMA_ID, "ledgers": fields})


def log_text(ledger: Standing, charges: Sequence[Charge], report_format: ReportFormat) -> str:
    """Return the charges of a ledger, in order."""
    fields = [charge.to_dict() for charge in charges]
    if report_format is ReportFormat.TEXT:
        rows = [[_cell(entry[name]) for name in (*_LOG, "released")] for entry in fields]
        return _columns([[*_LOG, "released"], *rows])
    return json_text({"schema": SCHEMA_ID, "ledger": ledger.name, "log": fields})


def chain_text(ledger: str, chain: Chain) -> str:
    """Return that a ledger verifies."""
    return json_text({"schema": SCHEMA_ID, "ledger": ledger, **chain.to_dict()})


def export_text(ledger: Standing, charges: Sequence[Charge], export_format: ExportFormat) -> str:
    """Return all of a ledger; in CSV without parameters and releases."""
    if export_format is ExportFormat.CSV:
        return _csv(ledger, charges)
    log = [{**charge.to_dict(), **_released(charge)} for charge in charges]
    return json_text({"schema": SCHEMA_ID, **ledger.to_dict(), "log": log})


def _released(charge: Charge) -> dict[str, Any]:
    """Return a charge's public parameters, and its release.

    At the time of the charge `scope` says what the options alone promise. How the table was made
    may say otherwise, and is known when the release is: then the scope is that of the release.
    """
    release = None if charge.release is None else json.loads(charge.release)
    parameters = dict(charge.asked.parameters)
    guarantee = release.get("guarantee") if isinstance(release, dict) else None
    if isinstance(guarantee, dict) and "scope" in parameters:
        parameters["scope"] = guarantee.get("why")
    return {"parameters": parameters, "release": release}


def _csv(ledger: Standing, charges: Sequence[Charge]) -> str:
    """Return charges as CSV, one a line."""
    names = ["ledger", "number", "time", "epsilon", "delta", "neighbors", "unit", "person"]
    names += ["rows_per_unit", "command", "score", "mechanism", "k", "run_id", "released"]
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: _cell(value) for name, value in {"ledger": ledger.name, **charge.to_dict()}.items()}
        for charge in charges
    )
    return text.getvalue()


_HEADER = ["ledger", *(f"{name} {part}" for name, part in _AMOUNTS), "charges", "for"]


def _cells(ledger: Standing) -> list[str]:
    """Return a ledger as one line of a table."""
    fields = ledger.to_dict()
    amounts = [fields[part][name] for name, part in _AMOUNTS]
    return [ledger.name, *amounts, str(ledger.charges), str(ledger.terms)]


def _cell(value: Any) -> str:
    """Return a value in a word."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows with their columns aligned."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    )
    return "".join(f"{line}\n" for line in lines)
