"""The command `dpsel preprocess`."""

from typing import Annotated

import typer

from dpsel.cli.forms import form
from dpsel.cli.options import ConfigFile, Terminal
from dpsel.cli.terminal import TerminalReporter
from dpsel.errors import UsageError
from dpsel.preprocessing.options import Coding, Purpose, RawLayout, ScalingMethod, TableWriting
from dpsel.selection.options import FeatureColumns
from dpsel.system.output import print_text
from dpsel.system.process import take_interrupts_back
from dpsel.system.text import json_text
from dpsel.tables.formats import Reading

InputArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        help="The raw table: anything that `dpsel select` reads, or a GEO series matrix.",
        show_default=False,
    ),
]
OutputArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="OUTPUT",
        help="Where to write: a .parquet, .csv or .arrow file, or - for stdout.",
        show_default=False,
    ),
]


@form
def preprocess(
    table: InputArgument = None,
    output: OutputArgument = None,
    *,
    purpose: Purpose,
    columns: FeatureColumns,
    coding: Coding,
    method: ScalingMethod,
    layout: RawLayout,
    reading: Reading,
    writing: TableWriting,
    terminal: Terminal,
    config: ConfigFile,
) -> None:
    """Turn a raw table into a bounded one for `dpsel select`, and record what was done.

    With --bounds, only public inputs are used, and the guarantee of `dpsel select` covers every
    step. Without it, center and scale are computed from the data, as in the paper, and the
    guarantee covers the selection only. The written table is as private as the raw one.

    The methods stump and kendall need no scaling: --as-is transposes a table with genes in rows,
    and changes no cell. Any other raw table goes to `dpsel select` as it is.

    Example: dpsel preprocess visits.csv bounded.parquet --target cost --bounds public.toml

    Example: dpsel preprocess golub.csv golub.parquet --target y --encode-target --scale robust

    Example: dpsel preprocess genes.csv t.parquet --features-in rows --labels l.csv -t y --as-is
    """
    from dpsel.preprocessing.api import asked_table
    from dpsel.preprocessing.request import make_preprocess_request
    from dpsel.preprocessing.run import preprocess_table, recorded_provenance
    from dpsel.preprocessing.writers import open_outputs

    take_interrupts_back()
    if purpose.show is not None:
        print_text(json_text(recorded_provenance(purpose.show, reading).to_dict()))
        return
    target, person = purpose.target, purpose.person
    if table is None or output is None or target is None:
        raise UsageError("give INPUT, OUTPUT and --target, or --show FILE")
    # Refuse an output name without a known format before anything is opened.
    writing.format_of(output)
    raw = asked_table(table, purpose, layout, reading)
    request = make_preprocess_request(target, person, columns, coding, method, reading)
    others = (layout.labels, method.bounds)
    with (
        open_outputs(output, writing, table, others) as outputs,
        TerminalReporter(quiet=terminal.quiet, bar=not terminal.no_progress) as reporter,
    ):
        preprocess_table(raw, request, outputs, reporter)
