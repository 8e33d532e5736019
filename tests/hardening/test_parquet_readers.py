"""Both readers of Parquet, for every type of column in every role: a row more may choose between.

Which of them reads a file depends on its number of rows and the size of its footer, so whatever
they do, an error included, has to be the same.
"""

import datetime as dt
import struct
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsel.errors import DpselError
from dpsel.reporter import Reporter
from dpsel.tables import parquet_footer
from dpsel.tables.columns import Wanted, choose_columns
from dpsel.tables.labels import TargetCoding
from dpsel.tables.opening import open_table
from dpsel.tables.whole_columns import WholeColumns
from dpsel.tables.wide_parquet import WideParquetTable
from tests.cli.conftest import Dpsel
from tests.sample_tables import scored

_NUMBERS = [1, 0, None, 1, 7, 0, 7]
_DAYS = [None if number is None else dt.date(2020, 1, 1 + number) for number in _NUMBERS]
_TIMES = [None if day is None else dt.datetime(2020, 1, day.day, 3) for day in _DAYS]
_CLOCKS = [None if number is None else dt.time(number) for number in _NUMBERS]
_SPANS = [None if number is None else dt.timedelta(number) for number in _NUMBERS]
_TEXTS = ["1", "1.0", None, "b", " b ", "", "true"]
_BYTES = [None if text is None else text.encode() for text in _TEXTS]
_FLOATS = [1.0, -0.0, None, float("nan"), 7.0, 0.5, float("inf")]


def _numbers(kind: pa.DataType) -> pa.Array:
    return pa.array(_NUMBERS, kind)


TYPES: dict[str, pa.Array] = {
    **{
        str(kind): _numbers(kind)
        for kind in (
            *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
            *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
            *(pa.decimal128(9, 2), pa.decimal128(38, 0), pa.decimal256(60, 3)),
        )
    },
    "half": pa.array([None if x is None else np.float16(x) for x in _FLOATS], pa.float16()),
    "float": pa.array(_FLOATS, pa.float32()),
    "double": pa.array(_FLOATS, pa.float64()),
    "whole double": pa.array([1.0, 0.0, 7.0, 7.0, 1.0, 1.0, 1.0]),
    "bool": pa.array([True, False, None, True, True, False, False]),
    "null": pa.nulls(7),
    "large whole": pa.array([2**53, 2**53 + 1, None, 2**62, -(2**62), 1, 0]),
    "decimal with a fraction": pa.array([Decimal("0.1"), Decimal(1), *[Decimal("0.5")] * 5]),
    "string": pa.array(_TEXTS),
    "large string": pa.array(_TEXTS, pa.large_string()),
    "string view": pa.array(_TEXTS, pa.string_view()),
    "category": pa.array(_TEXTS).dictionary_encode(),
    "category of whole numbers": _numbers(pa.int64()).dictionary_encode(),
    "category of floats": pa.array(_FLOATS).dictionary_encode(),
    "category of days": pa.array(_DAYS, pa.date32()).dictionary_encode(),
    "binary": pa.array(_BYTES, pa.binary()),
    "large binary": pa.array(_BYTES, pa.large_binary()),
    "binary view": pa.array(_BYTES, pa.binary_view()),
    "fixed binary": pa.array([b"ab", b"  ", None, b"01", b"1 ", b"ab", b"\0\0"], pa.binary(2)),
    "date32": pa.array(_DAYS, pa.date32()),
    "date64": pa.array(_DAYS, pa.date64()),
    "time32[s]": pa.array(_CLOCKS, pa.time32("s")),
    "time32[ms]": pa.array(_CLOCKS, pa.time32("ms")),
    "time64[us]": pa.array(_CLOCKS, pa.time64("us")),
    "time64[ns]": pa.array(_CLOCKS, pa.time64("ns")),
    **{f"duration[{unit}]": pa.array(_SPANS, pa.duration(unit)) for unit in ("ms", "us", "ns")},
    **{
        f"timestamp[{unit}] {zone}": pa.array(_TIMES, pa.timestamp(unit, zone))
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC", "Europe/Berlin")
    },
    "list": pa.array([[1.0]] * 7),
    "fixed list": pa.array([[1.0]] * 7, pa.list_(pa.float64(), 1)),
    "struct": pa.array([{"a": 1.0}] * 7),
    "map": pa.array([[("a", 1.0)]] * 7, pa.map_(pa.string(), pa.float64())),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), _numbers(pa.int8())),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(_TEXTS)),
    "opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "a", "b"), _numbers(pa.int64())),
    "tensor": pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float64(), [1]), pa.array([[1.0]] * 7, pa.list_(pa.float64(), 1))
    ),
    "uuid": pa.array([bytes([n or 0] * 16) for n in _NUMBERS], pa.uuid()),
}
ROLES: dict[str, dict[str, Any]] = {
    "feature": {},
    "declared feature": {"features": ("x", "it")},
    "excluded": {"exclude": ("it",)},
    "target": {"target": "it"},
    "label": {"target": "it", "positive": "1"},
    "person": {"person": "it"},
    "two rows a person": {"person": "it", "rows_per_person": 2},
}


def outcome(path: Path, **asked: Any) -> Any:
    """Return the scores, or what is said instead; anything that is no error of ours is a fault."""
    try:
        return scored(str(path), **asked).values.tolist()
    except DpselError as error:
        return type(error).__name__, str(error)


def by_both_readers(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the outcomes of all roles by the tall and by the wide reader."""
    found = []
    for footer in (1 << 20, 1):
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", footer)
        found.append({role: outcome(path, **asked) for role, asked in ROLES.items()})
    return found


@pytest.mark.parametrize("kind", TYPES)
def test_both_readers_of_parquet_do_the_same_with_every_type_in_every_role(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ones = pa.array([1.0, 0.5, 0.25, 0.125, -1.0, 0.75, 0.375])
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": ones, "y": ones, "it": TYPES[kind]}), path)
    tall, wide = by_both_readers(path, monkeypatch)
    assert wide == tall
    assert isinstance(tall["excluded"], list)


def test_the_other_reader_was_really_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    read: list[str] = []
    for kind, column in TYPES.items():
        path = tmp_path / f"{len(read)}.parquet"
        pq.write_table(pa.table({"x": [1.0] * 7, "y": [1.0] * 7, "it": column}), path)
        if isinstance(open_table(path), WideParquetTable):
            read.append(kind)
    times = ("time", "date64")
    rare = {kind for kind in TYPES if kind.startswith(times) or "decimal" in kind}
    assert set(read) >= set(TYPES) - rare - {"bool8", "json", "opaque", "tensor"}
    assert rare.isdisjoint(read)


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
def test_both_readers_of_parquet_do_the_same_with_the_long_integers_of_polars(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(pl, kind):
        pytest.skip("this polars has no such type")
    ones = [1.0, 0.5, 0.25]
    cells = pl.Series([1, None, 2**100], dtype=getattr(pl, kind))
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": ones, "y": ones, "it": cells}).write_parquet(path)
    tall, wide = by_both_readers(path, monkeypatch)
    assert wide == tall


DAYS_OF_2021 = struct.pack("<qi", 0, dt.date(2021, 1, 1).toordinal() + 1_721_425)
ODD_TIMES = {
    "time32": pa.array([0, -5, 2**31 - 1], pa.int32()).view(pa.time32("ms")),
    "time64": pa.array([0, -5, 2**62], pa.int64()).view(pa.time64("us")),
    "time64[ns]": pa.array([0, -5, 2**63 - 1], pa.int64()).view(pa.time64("ns")),
    "instants": pa.array([0, 2**63 - 1, -(2**63)], pa.int64()).view(pa.timestamp("us")),
    "days": pa.array([0, 2**31 - 1, -(2**31)], pa.int32()).view(pa.date32()),
    "spans": pa.array([0, 2**63 - 1, -(2**63)], pa.int64()).view(pa.duration("ms")),
    "INT96": pa.array([dt.datetime(2021, 1, 1), dt.datetime(2020, 1, 1), None]),
}


@pytest.mark.parametrize("kind", ODD_TIMES)
def test_both_readers_of_parquet_read_the_same_from_times_out_of_range(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"it": ODD_TIMES[kind], "y": [0.0, 1.0, 0.0]})
    path, plain = tmp_path / "t.parquet", {"use_dictionary": False, "compression": "none"}
    pq.write_table(table, path, use_deprecated_int96_timestamps=kind == "INT96", **plain)
    # As Spark and Impala write 9999-12-31: the time of day, and the Julian day.
    last_day = struct.pack("<qi", 0, dt.date(9999, 12, 31).toordinal() + 1_721_425)
    assert (DAYS_OF_2021 in path.read_bytes()) == (kind == "INT96")
    path.write_bytes(path.read_bytes().replace(DAYS_OF_2021, last_day))
    found = []
    for footer in (1 << 20, 1):
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", footer)
        opened = open_table(path)
        with closing(opened):
            layout = choose_columns(opened.columns, Wanted(target="y", words=True), "table")
            columns = WholeColumns(opened, layout, TargetCoding(), None, 1, Reporter())
            found += [X.tolist() for X in columns.reduce(lambda batch: np.array(batch.X))]
    tall, wide = map(repr, found)
    assert wide == tall


DP_SIS = ("--method", "dp-sis", "--lower", "-1", "--upper", "1")


@pytest.mark.parametrize(
    "asked",
    [
        ("select", "--positive", "1", "--k", "1", "--epsilon", "1"),
        ("select", "--person", "who", "--k", "1", "--epsilon", "1"),
        ("select", "--positive", "1", "--k", "1", "--epsilon", "1", *DP_SIS),
        ("select", "--person", "who", "--k", "1", "--epsilon", "1", *DP_SIS),
        ("preprocess", "--encode-target"),
        ("preprocess", "--positive", "1"),
    ],
)
def test_float_labels_and_persons_of_a_wide_file_stop_no_command(
    asked: tuple[str, ...], tmp_path: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    floats = pa.array([1.0, 0.0, 1.0, None])
    pq.write_table(pa.table({"x": floats, "who": floats, "y": floats}), tmp_path / "t.parquet")
    output = [tmp_path / "o.parquet"] if asked[0] == "preprocess" else []
    result = dpsel(asked[0], tmp_path / "t.parquet", *output, "--target", "y", *asked[1:])
    assert (result.code, "error" in result.err) == (0, False)
