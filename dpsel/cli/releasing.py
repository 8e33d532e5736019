"""What `select` and `baseline` share: open an account, carry out the run, write its record."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import typer

from dpsel.budget.account import Account, Run, open_account
from dpsel.budget.payment import Payment
from dpsel.cli.config import given_options
from dpsel.cli.options import Terminal, Writing
from dpsel.cli.terminal import TerminalReporter, say
from dpsel.display import printable
from dpsel.errors import InputError, OutputError
from dpsel.reporter import Reporter
from dpsel.selection.options import OutputFormat, Statement, stated_date
from dpsel.selection.run import Job, carry_out
from dpsel.system.output import Output, print_text
from dpsel.system.process import take_interrupts_back
from dpsel.system.text import json_text
from dpsel.tables.places import public_place
from dpsel.tables.table_files import input_files, refuse_part


def release_table(
    table: str,
    run: Run,
    make_job: Callable[[Reporter], Job],
    payment: Payment,
    writing: Writing,
    statement: Statement,
    terminal: Terminal,
    context: typer.Context,
) -> None:
    """Carry out a run and write its record; with `--dry-run`, only print what it would cost.

    The output is opened first, so that a run that cannot be written is not charged. Notes to the
    holder are shown before the record is written.
    """
    take_interrupts_back()
    date = stated_date(statement.date)
    if payment.dry_run:
        _print_quote(table, run, payment, terminal, context)
        return
    reporter = TerminalReporter(quiet=terminal.quiet, bar=not terminal.no_progress)
    account = open_account(run, payment, reporter)
    _refuse_output(writing.output, table, account)
    not_private = run.not_private is not None
    if not_private:
        reporter.warn(f"{run.not_private}: the result is not for release")
    with Output(
        writing.output, force=writing.force, inputs=_files_of(table), owner_only=not_private
    ) as output:
        with reporter:
            release = carry_out(make_job(reporter), account, date)
        _write(output, record_text(release.record, writing.output_format), account)


def record_text(record: str, output_format: OutputFormat) -> str:
    """Return a JSON record unchanged, or only its names or indices, one per line."""
    if output_format is OutputFormat.JSON:
        return record
    fields = json.loads(record)
    if output_format is OutputFormat.NAMES:
        return "".join(f"{printable(name)}\n" for name in fields["selected_features"])
    return "".join(f"{index}\n" for index in fields["selected_indices"])


def _refuse_output(output: str, table: str, account: Account) -> None:
    """Refuse to write over the ledger, or into a folder or pattern that is read."""
    if account.is_at(output):
        raise OutputError(f"{output}: is the ledger itself; name another file")
    refuse_part(table, output)


def _files_of(table: str) -> list[Path]:
    """Return the files of a table, which the output must not replace; none if it is missing.

    A run id with a stored release needs no table. If one is needed, opening it fails later.
    """
    with suppress(InputError):
        return input_files(table)
    return []


def _write(output: Output, text: str, account: Account) -> None:
    """Write the record; if that fails, say how to get the stored release."""
    try:
        output.write(text.encode())
    except OutputError as error:
        # A release has a price, so it is never lost without a message.
        advice = account.recovery_advice()
        raise OutputError(str(error) if advice is None else f"{error}; {advice}") from None
    except KeyboardInterrupt:
        if (advice := account.recovery_advice()) is not None:
            say("note", advice)
        raise


def _print_quote(
    table: str, run: Run, payment: Payment, terminal: Terminal, context: typer.Context
) -> None:
    """Print what a run would cost, and its options, as JSON; then refuse it if a run would be."""
    with TerminalReporter(quiet=terminal.quiet, bar=False) as reporter:
        quote = open_account(run, payment, reporter).quote()
    asked = {"table": public_place(table), "options": given_options(context)}
    print_text(json_text({**quote.to_dict(), **asked}))
    quote.refuse_overrun()
