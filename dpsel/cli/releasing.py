"""What `select` and `baseline` share: pay for a run, carry it out, write what it releases."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dpsel.cli.terminal import TerminalReporter, say
from dpsel.errors import InputError, OutputError
from dpsel.selection.record import OutputFormat

Run = Callable[[Callable[[], None]], Any]


def release(
    run: Run,
    order: Any,
    reporter: TerminalReporter,
    *,
    table: str,
    ledger: str | None,
    ledger_file: str | None,
    run_id: str | None,
    output: str,
    output_format: OutputFormat,
    force: bool,
) -> None:
    """Charge, run, store and write, in this order; notes go to the holder before the record."""
    from dpsel.budget.account import carry_out, open_purse
    from dpsel.selection.record import record_text
    from dpsel.system.output import Output
    from dpsel.tables.sources import input_files, refuse_part

    purse = open_purse(order, reporter, ledger=ledger, ledger_file=ledger_file, run_id=run_id)
    if purse is not None and purse.file.is_at(output):
        raise OutputError(f"{output}: is the ledger itself; name another file")
    refuse_part(table, output)
    inputs = []
    # A run id that has its release needs no table; if it is needed, it is missed later.
    with suppress(InputError):
        inputs = input_files(table)
    unprotected = order.not_private is not None
    if unprotected:
        reporter.warn(f"{order.not_private}: the result is not for release")
    with Output(output, force=force, inputs=inputs, owner_only=unprotected) as place:
        with reporter:
            released = carry_out(run, purse, reporter)
        try:
            place.write(record_text(released.record, output_format).encode())
        except OutputError as error:
            if purse is None:
                raise
            raise OutputError(f"{error}; {_where_it_is(purse, run_id)}") from None
        except KeyboardInterrupt:
            if purse is not None:
                say("note", _where_it_is(purse, run_id))
            raise


def _where_it_is(purse: Any, run_id: str | None) -> str:
    """Return how to get a release that was charged and stored, but not written."""
    again = (
        f"run it again with --run-id {run_id}, at no cost"
        if run_id is not None
        else f"`dpsel budget export {purse.name}` prints it"
    )
    return f"the release was charged and is kept: {again}"


def print_cost(
    order: Any,
    *,
    ledger: str | None,
    ledger_file: str | None,
    run_id: str | None,
    quiet: bool,
) -> None:
    """Print what a run would cost on stdout; if it would be refused, refuse it after that."""
    from dpsel.budget.account import open_purse, quote
    from dpsel.system.output import STDOUT, Output
    from dpsel.system.text import json_text

    with TerminalReporter(quiet=quiet, bar=False) as reporter:
        purse = open_purse(order, reporter, ledger=ledger, ledger_file=ledger_file, run_id=run_id)
        found = quote(order, purse)
    with Output(STDOUT, force=False) as place:
        place.write(json_text(found.to_dict()).encode())
    found.refuse_overrun()
