"""The command `dpsel select`: it makes a request and a job, which `release_table` carries out."""

from functools import partial

import typer

from dpsel.budget.payment import Payment
from dpsel.cli.forms import form
from dpsel.cli.options import ConfigFile, TableArgument, Terminal, Writing
from dpsel.cluster.place import Place
from dpsel.dictionary.options import DictionaryFile
from dpsel.selection.options import (
    Bounding,
    ColumnChoice,
    Drawing,
    Privacy,
    Scoring,
    Statement,
    TargetFacts,
)
from dpsel.tables.formats import Reading


@form
def select(
    context: typer.Context,
    table: TableArgument,
    columns: ColumnChoice,
    facts: TargetFacts,
    bounding: Bounding,
    dictionary: DictionaryFile,
    privacy: Privacy,
    scoring: Scoring,
    drawing: Drawing,
    payment: Payment,
    reading: Reading,
    place: Place,
    writing: Writing,
    statement: Statement,
    terminal: Terminal,
    config: ConfigFile,
) -> None:
    """Select the K features that matter most for a target, with differential privacy.

    Prints a JSON record with only what may be published: the selected columns, the method and the
    guarantee. Everything else goes to stderr, which is for the data holder.

    Example: dpsel select data.parquet --target y --k 5 --epsilon 2

    With labels: dpsel select visits.csv --target came_back --positive yes --k 3 --epsilon 1

    On a cluster: dpsel select 'data/*.parquet' --target y --k 5 --epsilon 2 --cluster
    tls://head:8786
    """
    from dpsel.cli.releasing import release_table
    from dpsel.selection.api import select_job
    from dpsel.selection.request import check_place, make_request, select_run

    request = make_request(columns, facts, bounding, privacy, scoring, drawing, reading, dictionary)
    scheduler = place.scheduler()
    check_place(request, scheduler)
    make_job = partial(select_job, table, request, scheduler=scheduler)
    run = select_run(table, request)
    release_table(table, run, make_job, payment, writing, statement, terminal, context)
