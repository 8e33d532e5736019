"""The options of `preprocess`, one record per group. `evaluate` shares some of them.

It imports nothing heavy: the command line shows these options, and `--help` must be instant.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Any

from dpsel.errors import UsageError
from dpsel.options import option
from dpsel.records import frozen
from dpsel.tables.formats import ENDINGS, INPUT, Orientation

COLUMNS, METHOD, OUTPUT = "Columns", "Method", "Output"


class Center(StrEnum):
    """The value of a column that becomes 0."""

    MEAN = "mean"
    MEDIAN = "median"
    NONE = "none"


class Scale(StrEnum):
    """The distance from the center that becomes 1."""

    MAX_ABS = "max-abs"
    """That of the farthest value, as in the paper."""

    ROBUST = "robust"
    """A number of robust standard deviations; values farther away are clipped."""

    NONE = "none"
    """1 itself; values farther away are clipped."""


DEFAULT_CLIP = 0.75
"""From `benchmarks/clipping.py`: the largest value at which robust scaling does as well at epsilon
5 as the paper's scaling at 10, on real and synthetic tables."""


class Missing(StrEnum):
    """What a missing value becomes."""

    ZERO = "zero"
    """The value that becomes 0: the column's center."""

    MEAN = "mean"
    MEDIAN = "median"


class TableFormat(StrEnum):
    """The formats of tables that can be written."""

    PARQUET = "parquet"
    CSV = "csv"
    ARROW = "arrow"


@frozen(kw_only=True)
class Purpose:
    """What to do with a table: predict a target, for persons or rows, or show its record."""

    target: str | None = option("--target COLUMN", "The column to predict.", None, shown=False)
    show: str | None = option("--show FILE", "Print how a table was preprocessed, and exit.", None)
    person: str | None = option(
        "--person COLUMN",
        "The column that identifies the person: copied unchanged, for `dpsel select`.",
        None,
        panel=COLUMNS,
    )


@frozen(kw_only=True)
class Coding:
    """How a target of labels becomes numbers."""

    encode_target: bool = option(
        "--encode-target", "Encode the target's labels as 0, 1, 2, ...", False, panel=COLUMNS
    )
    classes: str | tuple[str, ...] | None = option(
        "--classes A,B,C",
        "The labels in the order of their codes. Public: nothing is read from the data.",
        None,
        shown="sorted, as found in the data",
        panel=COLUMNS,
    )
    numeric_target: bool = option(
        "--numeric-target",
        "With --as-is: the target is numeric, not labels.",
        False,
        panel=COLUMNS,
    )


@frozen(kw_only=True)
class ScalingMethod:
    """How columns are brought to [-1, 1]: by public bounds, or by the data."""

    bounds: str | Path | Mapping[str, Any] | None = option(
        "--bounds FILE",
        "Public bounds, in TOML or JSON, for an end-to-end guarantee.",
        None,
        panel=METHOD,
    )
    center: Center | None = option(
        "--center",
        "The value that becomes 0.",
        None,
        shown="mean; median with --scale robust",
        panel=METHOD,
    )
    scale: Scale | None = option(
        "--scale",
        "The distance from the center that becomes 1: the largest, C robust standard deviations "
        "(see --clip), or 1.",
        None,
        shown="max-abs",
        panel=METHOD,
    )
    clip: float = option(
        "--clip C",
        "With --scale robust: clip at C robust standard deviations.",
        DEFAULT_CLIP,
        panel=METHOD,
    )
    missing: Missing = option(
        "--missing",
        "What a missing cell becomes: the center, or the column's mean or median.",
        Missing.ZERO,
        panel=METHOD,
    )
    as_is: bool = option(
        "--as-is",
        "With genes in rows: transpose the table, and change no cell. The methods stump and "
        "kendall need no scaling.",
        False,
        panel=METHOD,
    )


@frozen(kw_only=True)
class RawLayout:
    """How a raw table is laid out, and where its labels are."""

    features_in: Orientation = option(
        "--features-in",
        "Whether features are columns, or rows as in genes x samples.",
        Orientation.COLUMNS,
        panel=INPUT,
    )
    labels: str | None = option(
        "--labels FILE", "With --features-in rows: the labels of the samples.", None, panel=INPUT
    )
    label_key: str | None = option(
        "--label-key KEY",
        "For a GEO series matrix: the sample characteristic to use as the label.",
        None,
        panel=INPUT,
    )


@frozen(kw_only=True)
class TableWriting:
    """How the bounded table is written."""

    table_format: TableFormat | None = option(
        "--format",
        "The format to write.",
        None,
        shown="from the name of OUTPUT; parquet for -",
        panel=OUTPUT,
    )
    float32: bool = option("--float32", "Write 32-bit numbers: half the size.", False, panel=OUTPUT)
    force: bool = option("--force", "Replace an existing output file.", False, panel=OUTPUT)

    def format_of(self, output: str) -> TableFormat:
        """Return the requested format, or the one that the name of the output implies."""
        if self.table_format is not None:
            return self.table_format
        if output == "-":
            return TableFormat.PARQUET
        name = PurePath(output).name
        found = str(ENDINGS.get(PurePath(name).suffix.lower(), ""))
        if found not in tuple(TableFormat):
            raise UsageError(
                f"{name}: cannot tell the format to write; end it with .parquet, .csv or .arrow, "
                f"or say which with --format {'|'.join(TableFormat)}"
            )
        return TableFormat(found)
