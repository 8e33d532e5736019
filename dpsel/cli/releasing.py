"""What `select` and `baseline` share: open an account, carry a job out, write what it releases."""

from collections.abc import Callable
from contextlib import suppress

import typer

from dpsel.budget.account import NoAccount, Run, open_account
from dpsel.budget.payment import Payment
from dpsel.cli.options import Terminal, Writing
from dpsel.cli.terminal import TerminalReporter, say
from dpsel.errors import InputError, OutputError
from dpsel.selection.options import Statement
from dpsel.selection.record import record_text, stated_date
from dpsel.selection.run import Job, carry_out
from dpsel.system.output import Output, print_text
from dpsel.system.process import take_interrupts_back
from dpsel.system.text import json_text
from dpsel.tables.places import public_place
from dpsel.tables.sources import input_files, refuse_part


def release_table(
    table: str,
    run: Run,
    payment: Payment,
    writing: Writing,
    terminal: Terminal,
    statement: Statement,
    context: typer.Context,
    job: Callable[[TerminalReporter], Job],
) -> None:
    """Charge, run, store and write, in this order; notes go to the holder before the record."""
    take_interrupts_back()
    date = stated_date(statement.date)
    if payment.dry_run:
        _print_quote(table, run, payment, terminal, context)
        return
    reporter = TerminalReporter(quiet=terminal.quiet, bar=not terminal.no_progress)
    account = open_account(run, payment, reporter)
    if account.is_at(writing.output):
        raise OutputError(f"{writing.output}: is the ledger itself; name another file")
    refuse_part(table, writing.output)
    inputs = []
    # A run id that has its release needs no table; if it is needed, it is missed later.
    with suppress(InputError):
        inputs = input_files(table)
    unprotected = run.not_private is not None
    if unprotected:
        reporter.warn(f"{run.not_private}: the result is not for release")
    with Output(
        writing.output, force=writing.force, inputs=inputs, owner_only=unprotected
    ) as place:
        with reporter:
            released = carry_out(job(reporter), account, date)
        _write(place, record_text(released.record, writing.output_format), account)


def _write(place: Output, text: str, account: NoAccount) -> None:
    """Write a release; if that fails, say where it is kept."""
    try:
        place.write(text.encode())
    except OutputError as error:
        kept = account.kept()
        raise error if kept is None else OutputError(f"{error}; {kept}") from None
    except KeyboardInterrupt:
        if (kept := account.kept()) is not None:
            say("note", kept)
        raise


def _print_quote(
    table: str, run: Run, payment: Payment, terminal: Terminal, context: typer.Context
) -> None:
    """Print what a run would cost and what it was told, by options or by a file, on stdout.

    If it would be refused, refuse it after that.
    """
    from dpsel.cli.config import given_options

    with TerminalReporter(quiet=terminal.quiet, bar=False) as reporter:
        found = open_account(run, payment, reporter).quote()
    told = {"table": public_place(table), "options": given_options(context)}
    print_text(json_text({**found.to_dict(), **told}))
    found.refuse_overrun()
