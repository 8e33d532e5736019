"""`dpsel preprocess`."""

from pathlib import Path
from typing import Any

from dpsel.cli import options
from dpsel.cli import preprocess_options as own
from dpsel.cli.render import TerminalReporter
from dpsel.core.choices import DEFAULT_CLIP, Missing
from dpsel.core.errors import InputError, UsageError
from dpsel.io.formats import Orientation, TableFormat, table_format_of


def preprocess(
    table: own.InputArgument = None,
    output: own.OutputArgument = None,
    target: own.TargetColumn = None,
    show: own.Show = None,
    features: options.Features = [],  # noqa: B006
    exclude: options.Exclude = [],  # noqa: B006
    positive: options.Positive = None,
    encode_target: own.EncodeTarget = False,
    classes: own.Classes = None,
    bounds: own.PublicBoundsFile = None,
    center: own.CenterOption = None,
    scale: own.ScaleOption = None,
    clip: own.Clip = DEFAULT_CLIP,
    missing: own.MissingOption = Missing.ZERO,
    features_in: own.FeaturesIn = Orientation.COLUMNS,
    labels: own.Labels = None,
    label_key: own.LabelKey = None,
    input_format: options.InputFormatOption = None,
    separator: options.Separator = None,
    threads: options.Threads = None,
    table_format: own.TableFormatOption = None,
    float32: own.Float32 = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """Turn a raw table into a bounded one for `dpsel select`, and record what was done.

    With --bounds only public inputs are used, and the guarantee of `dpsel select` covers every
    step. Without them, centre and scale are read off the data, as in the paper, and it covers the
    selection only. The written table is as private as the raw one.

    Example: dpsel preprocess visits.csv bounded.parquet --target cost --bounds public.toml

    Example: dpsel preprocess golub.csv golub.parquet --target y --encode-target --scale robust
    """
    from dpsel.io.interrupts import take_interrupts_back

    take_interrupts_back()
    if show is not None:
        _print_provenance(show)
        return
    if table is None or output is None or target is None:
        raise UsageError("give INPUT, OUTPUT and --target, or --show FILE")
    written = table_format or (
        TableFormat.PARQUET if output == "-" else table_format_of(Path(output).name)
    )
    from dpsel.io.raw_tables import RawTable
    from dpsel.plan import plan_separator
    from dpsel.preprocess_plan import make_preprocess_plan

    plan = make_preprocess_plan(
        target=target,
        features=features,
        exclude=exclude,
        positive=positive,
        encode_target=encode_target,
        classes=classes,
        bounds=bounds,
        center=center,
        scale=scale,
        clip=clip,
        missing=missing,
        threads=threads,
    )
    raw = RawTable(
        table, target, features_in, labels, label_key, input_format, plan_separator(separator)
    )
    reporter = TerminalReporter(quiet=quiet, bar=not no_progress)
    _run(raw, output, written, plan, reporter, single=float32, force=force)


def _run(
    raw: Any,
    output: str,
    written: TableFormat,
    plan: Any,
    reporter: TerminalReporter,
    *,
    single: bool,
    force: bool,
) -> None:
    """Read, scale, write, and tell the holder."""
    from dpsel.io.output import STDOUT, Output
    from dpsel.io.provenance import sidecar, sidecar_text
    from dpsel.io.raw_tables import label_files
    from dpsel.io.sources import input_files
    from dpsel.io.writers import open_writer
    from dpsel.preprocessing import prepare, write_prepared

    inputs = [*input_files(raw.place), *label_files(raw.labels)]
    with Output(output, force=force, inputs=inputs) as place, reporter:
        open_again = raw.opener()
        prepared = prepare(open_again, plan, reporter)
        try:
            writer = open_writer(
                place.stream,
                [*prepared.layout.names, plan.wanted.target],
                written,
                prepared.provenance,
                single=single,
                seekable=output != STDOUT,
            )
            changes = write_prepared(open_again, prepared, writer, reporter, plan.threads)
        except OSError as error:
            raise place.failure(error) from None
        place.commit()
        reporter.table("what changed", changes.described(prepared))
        if prepared.provenance.data_dependent:
            reporter.note(
                f"{', '.join(prepared.provenance.read_off_the_data)}: read off the data, so "
                "the guarantee of `dpsel select` will cover the selection only"
            )
    if written is TableFormat.CSV and output != STDOUT:
        with Output(str(sidecar(Path(output))), force=True) as beside:
            beside.write(sidecar_text(prepared.provenance, Path(output)).encode())


def _print_provenance(place: str) -> None:
    """Print how a table was made."""
    from contextlib import closing

    from dpsel.io.output import STDOUT, Output
    from dpsel.io.tables import open_table
    from dpsel.io.text import json_text

    with closing(open_table(place)) as table:
        found = table.provenance
    if found is None:
        raise InputError(f"{place}: was not written by `dpsel preprocess`, or has lost the record")
    with Output(STDOUT, force=False) as output:
        output.write(json_text(found.to_dict()).encode())
