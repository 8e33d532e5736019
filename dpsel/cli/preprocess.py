"""`dpsel preprocess`."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dpsel.cli import preprocess_options as own
from dpsel.cli import shared_options as options
from dpsel.cli.terminal import TerminalReporter
from dpsel.errors import InputError, UsageError
from dpsel.preprocessing.options import DEFAULT_CLIP, Missing
from dpsel.preprocessing.writers import TableFormat, table_format_of
from dpsel.tables.formats import InputFormat, Orientation


def preprocess(
    table: own.InputArgument = None,
    output: own.OutputArgument = None,
    target: own.TargetColumn = None,
    show: own.Show = None,
    person: own.PersonColumn = None,
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
    from dpsel.system.process import take_interrupts_back

    take_interrupts_back()
    if show is not None:
        _print_provenance(show, input_format, separator)
        return
    if table is None or output is None or target is None:
        raise UsageError("give INPUT, OUTPUT and --target, or --show FILE")
    written = table_format or (
        TableFormat.PARQUET if output == "-" else table_format_of(Path(output).name)
    )
    if person is not None and (features_in is Orientation.ROWS or label_key is not None):
        raise UsageError("--person needs a table with a sample a row, and columns for features")
    from dpsel.preprocessing.request import make_preprocess_request
    from dpsel.tables.formats import Reading
    from dpsel.tables.transposed import RawTable

    plan = make_preprocess_request(
        target=target,
        person=person,
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
        table,
        target,
        features_in,
        labels,
        label_key,
        input_format,
        Reading(separator=separator).separator,
    )
    reporter = TerminalReporter(quiet=quiet, bar=not no_progress)
    others = [labels, bounds]
    _run(raw, output, written, plan, reporter, others=others, single=float32, force=force)


def _run(
    raw: Any,
    output: str,
    written: TableFormat,
    plan: Any,
    reporter: TerminalReporter,
    *,
    others: list[str | None],
    single: bool,
    force: bool,
) -> None:
    """Read, scale, write, and tell the holder."""
    from dpsel.preprocessing.run import prepare, write_prepared
    from dpsel.preprocessing.writers import open_writer
    from dpsel.system.output import STDOUT, Output, is_plain
    from dpsel.tables.provenance import sidecar, sidecar_text
    from dpsel.tables.sources import input_files, public_place, refuse_part

    refuse_part(raw.place, output)
    inputs = [*input_files(raw.place), *(Path(name) for name in others if name is not None)]
    beside = None
    with ExitStack() as opened:
        place = opened.enter_context(Output(output, force=force, inputs=inputs, owner_only=True))
        if written is TableFormat.CSV and is_plain(output):
            # It has a digest of the table, which tells whether a guess at all rows is right.
            name = str(sidecar(Path(output)))
            record = Output(name, force=force, inputs=inputs, owner_only=True)
            beside = opened.enter_context(record)
        opened.enter_context(reporter)
        open_again = raw.opener(labels_are_numbers=not plan.wanted.labels)
        prepared = prepare(open_again, plan, reporter)
        try:
            writer = open_writer(
                place.stream,
                prepared.names,
                written,
                prepared.provenance,
                prepared.person_type,
                single=single,
                seekable=output != STDOUT,
            )
            changes = write_prepared(open_again, prepared, writer, reporter, plan.threads)
        except OSError as error:
            raise place.failure(error) from None
        place.commit()
        if beside is not None:
            beside.write(sidecar_text(prepared.provenance, writer.digest()).encode())
        labels = None if raw.labels is None else public_place(raw.labels)
        reporter.table("what changed", changes.described(prepared))
        for note in changes.label_notes(prepared, plan.wanted.target, labels):
            reporter.note(note)
        _tell_scope(prepared, reporter)


def _tell_scope(prepared: Any, reporter: TerminalReporter) -> None:
    """Tell the holder what the guarantee will not cover."""
    if prepared.provenance.data_dependent:
        reporter.note(
            f"{', '.join(prepared.provenance.read_off_the_data)}: read off the data, so "
            "the guarantee of `dpsel select` will cover the selection only"
        )


def _print_provenance(place: str, input_format: InputFormat | None, separator: str | None) -> None:
    """Print how a table was made."""
    from dpsel.system.output import STDOUT, Output
    from dpsel.system.text import json_text
    from dpsel.tables.delimited import DelimitedTable
    from dpsel.tables.formats import Reading
    from dpsel.tables.opening import open_table, provenance_of_all, unchanged_table
    from dpsel.tables.sources import public_place

    with unchanged_table(
        open_table(place, input_format, Reading(separator=separator).separator)
    ) as table:
        if isinstance(table, DelimitedTable):
            table.read_through()
        found = provenance_of_all(table)
    if found is None:
        raise InputError(
            f"{public_place(place)}: was not written by `dpsel preprocess`, or has changed since, "
            "or has lost its record"
        )
    with Output(STDOUT, force=False) as output:
        output.write(json_text(found.to_dict()).encode())
