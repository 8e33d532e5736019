"""The command `dpsel baseline`: it makes a request and a job, which `release_table` carries out."""

from functools import partial

import typer

from dpsel.budget.payment import Payment
from dpsel.cli.forms import form
from dpsel.cli.options import ConfigFile, TableArgument, Terminal, Writing
from dpsel.selection.options import (
    BaselinePrivacy,
    Blocks,
    Bounding,
    ColumnChoice,
    Statement,
    VoteDrawing,
)
from dpsel.tables.formats import Reading


@form
def baseline(
    context: typer.Context,
    table: TableArgument,
    blocks: Blocks,
    columns: ColumnChoice,
    privacy: BaselinePrivacy,
    bounding: Bounding,
    drawing: VoteDrawing,
    payment: Payment,
    reading: Reading,
    writing: Writing,
    statement: Statement,
    terminal: Terminal,
    config: ConfigFile,
) -> None:
    """Select features with the methods that `dpsel select` is compared with.

    two-stage: each block of rows votes for features with a LASSO, and a private top-k selects from
    the votes (Kifer et al.). dpkendall: k private rounds (Dick et al.). sis and lasso: the largest
    scores and coefficients, without privacy. A table that does not fit in memory is kept in a
    temporary file.

    Example: dpsel baseline data.parquet --target y --k 5 --epsilon 2 --method two-stage --blocks 10
    """
    from dpsel.cli.releasing import release_table
    from dpsel.selection.baseline import BaselineJob, baseline_run, make_baseline_request

    request = make_baseline_request(columns, privacy, blocks, bounding, drawing, reading)
    make_job = partial(BaselineJob, table, request)
    run = baseline_run(table, request)
    release_table(table, run, make_job, payment, writing, statement, terminal, context)
