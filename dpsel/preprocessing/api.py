"""`dpsel.preprocess` and `dpsel.provenance`, and the code that they share with the command."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from dpsel.errors import UsageError
from dpsel.options import Dataclass
from dpsel.preprocessing.options import Coding, Purpose, RawLayout, ScalingMethod, TableWriting
from dpsel.preprocessing.request import make_preprocess_request
from dpsel.preprocessing.run import preprocess_in_memory, preprocess_table, recorded_provenance
from dpsel.preprocessing.writers import open_outputs
from dpsel.python import Warner, python_function, record_of
from dpsel.records import frozen
from dpsel.selection.options import FeatureColumns
from dpsel.tables.formats import FileFormat, Reading
from dpsel.tables.provenance import AS_IS, Provenance
from dpsel.tables.raw import RawTable

_PREPROCESS: tuple[type[Dataclass], ...] = (
    *(Purpose, FeatureColumns, Coding, ScalingMethod, RawLayout, Reading, TableWriting),
)


@frozen
class Preprocessed:
    """A bounded table, and how it was made. It is as private as the raw one: not for release.

    `dpsel.select` accepts it as a table, and so does anything that reads Arrow streams.
    """

    provenance: Provenance
    table: Any | None = field(repr=False)
    """A pyarrow table with the record in its metadata; None if it was written to a file."""
    output: str | None
    """The file that was written, if any."""

    def to_dict(self) -> dict[str, Any]:
        """Return how the table was made, as plain values."""
        return self.provenance.to_dict()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows and the record as an Arrow stream."""
        if self.table is None:
            raise UsageError(f"this table was written to {self.output}; read it from there")
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Return how the table was scaled, and where it is."""
        made = self.provenance
        if made.data_dependent:
            scope = f"scaling from the data: {', '.join(made.read_off_the_data)}"
        else:
            as_is = made.scale == AS_IS
            scope = "every cell as it is" if as_is else "scaling from public inputs alone"
        where = f"in {self.output}" if self.table is None else "in .table, of pyarrow"
        return f"Preprocessed: as private as the raw table, not for release\n  {scope}\n  {where}"


@python_function(*_PREPROCESS)
def preprocess(
    table: Any,
    output: str | Path | None = None,
    *,
    target: str | int,
    person: str | int | None = None,
    features: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    positive: str | None = None,
    encode_target: bool = False,
    classes: str | Sequence[str] | None = None,
    bounds: str | Path | Mapping[Any, Any] | None = None,
    center: str | None = None,
    scale: str | None = None,
    clip: float = 0.75,
    missing: str = "zero",
    as_is: bool = False,
    numeric_target: bool = False,
    features_in: str = "columns",
    labels: str | Path | None = None,
    label_key: str | None = None,
    input_format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
    threads: int | None = None,
    table_format: str | None = None,
    float32: bool = False,
    force: bool = False,
) -> Preprocessed:
    """Turn a raw table into a bounded one for `select`, with a record of what was done.

    With `bounds` only public inputs are used, and the guarantee of `select` covers every step.
    Without them, center and scale are read off the data, and it covers only the selection.

    Privacy:
        Guarantee: none; the table is as private as the raw one.
        Tested by: tests/cli/test_preprocess.py

    Args:
        table: A path or a frame, as for `select`, or a GEO series matrix.
        output: Write the table to this .parquet, .csv or .arrow file; otherwise it is returned.
        target: The column to predict.
        person: The column that says whose row it is; passed on unchanged, for `select`.
        features: Names or globs of the columns to choose from; all others if empty.
        exclude: Names or globs of columns to leave out.
        positive: The label of the target that counts 1; any other counts -1.
        encode_target: Code the target's labels as 0, 1, 2, ...
        classes: The labels in the order of their codes; public.
        bounds: Public bounds: `{"age": (0, 120)}`, a TOML or JSON file, or a mapping of its shape.
        center: What becomes 0: `mean`, `median` or `none`.
        scale: What becomes 1: `max-abs`, `robust` or `none`.
        clip: With `scale="robust"`: clip at this many robust standard deviations.
        missing: What a missing cell becomes: `zero`, the center, or the column's `mean` or
            `median`.
        as_is: Change no cell; only transpose a table with features in rows.
        numeric_target: With `as_is`: the target is numeric, not labels.
        features_in: `columns`, or `rows` as in genes x samples.
        labels: With `features_in="rows"`: a file with the samples' labels.
        label_key: For a GEO series matrix: the sample characteristic that is the label.
        input_format: The format of the file, if its name does not tell.
        separator: What separates the cells of a CSV, if its first line does not tell.
        decimal: The decimal sign of a CSV: a point or a comma.
        threads: How many threads read and compute; all cores if not given.
        table_format: The format to write, if the name of `output` does not tell.
        float32: 32-bit numbers: half the size.
        force: Replace an existing output file.

    Raises:
        UsageError: If an argument does not fit.
        InputError: If the table or the bounds cannot be used.
        OutputError: If the file cannot be written.
    """
    given = {**locals(), "show": None}
    purpose, reading = record_of(Purpose, given), record_of(Reading, given)
    layout, method = record_of(RawLayout, given), record_of(ScalingMethod, given)
    writing, reporter = record_of(TableWriting, given), Warner(*_PREPROCESS)
    place = None if output is None else str(output)
    if place is not None:
        writing.format_of(place)
    raw = asked_table(table, purpose, layout, reading)
    request = make_preprocess_request(
        str(purpose.target),
        purpose.person,
        record_of(FeatureColumns, given),
        record_of(Coding, given),
        method,
        reading,
    )
    if place is None:
        found, made = preprocess_in_memory(raw, request, reporter, single=writing.float32)
        return Preprocessed(made, found, None)
    with open_outputs(place, writing, table, (layout.labels, method.bounds)) as outputs:
        made = preprocess_table(raw, request, outputs, reporter)
    return Preprocessed(made, None, place)


@python_function(FileFormat)
def provenance(
    table: Any,
    *,
    input_format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
) -> Provenance:
    """Say how a table was preprocessed.

    Args:
        table: A path, or a frame that still has the metadata of its schema.
        input_format: The format of the file, if its name does not tell.
        separator: What separates the cells of a CSV, if its first line does not tell.
        decimal: The decimal sign of a CSV: a point or a comma.

    Raises:
        InputError: If it was not preprocessed, or has changed since, or has lost its record.
    """
    return recorded_provenance(table, record_of(FileFormat, locals()))


def asked_table(table: Any, purpose: Purpose, layout: RawLayout, reading: FileFormat) -> RawTable:
    """Return the requested raw table, before anything is opened."""
    raw = RawTable(
        table,
        str(purpose.target),
        layout.features_in,
        layout.labels,
        layout.label_key,
        reading,
    )
    if purpose.person is not None and raw.transposed:
        raise UsageError("--person needs a table with a sample a row, and columns for features")
    return raw
