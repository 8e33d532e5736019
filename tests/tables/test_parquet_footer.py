"""The shape of Parquet files of every kind, against what pyarrow says of them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsel.tables.parquet_footer import FooterShape, footer_shape

NAMES = [f"x{i}" for i in range(300)] + ["a name of its own", "ä" * 70, "y" * 200, ""]


def shape_of(path: Path) -> FooterShape | None:
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    return footer_shape(content[-8 - length : -8])


def written(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("required", [False, True])
def test_plain_floats_are_known_by_name(kind: pa.DataType, required: bool, tmp_path: Path) -> None:
    fields = [pa.field(name, kind, nullable=not required) for name in NAMES]
    table = pa.table([np.zeros(7)] * len(NAMES), schema=pa.schema(fields))
    found = shape_of(written(table, tmp_path / "t.parquet"))
    assert found is not None
    assert found.floats is not None
    assert (found.deepest, found.rows, found.floats.read()) == (1, 7, NAMES)


@pytest.mark.parametrize("single_places", [[], [0], [3], [150, 151], [303]])
def test_both_precisions_may_be_mixed(single_places: list[int], tmp_path: Path) -> None:
    kinds = [pa.float32() if i in single_places else pa.float64() for i in range(len(NAMES))]
    schema = pa.schema(list(zip(NAMES, kinds, strict=True)))
    table = pa.table([np.zeros(1)] * len(NAMES), schema=schema)
    found = shape_of(written(table, tmp_path / "t.parquet"))
    assert found is not None
    assert found.floats is not None
    assert found.floats.read() == NAMES


@pytest.mark.parametrize(
    "other",
    [
        pa.array([1]),
        pa.array(["a"]),
        pa.array([True]),
        pa.array([1.5], pa.float16()),
        pa.array([1], pa.date32()),
        pa.array([b"abcd"], pa.binary(4)),
        pa.array([[1.0]]),
        pa.array([{"a": 1.0}]),
        pa.array([{"a": 1.0, "b": [2.0]}]),
        pa.array(["a"]).dictionary_encode(),
        pa.nulls(1),
    ],
)
@pytest.mark.parametrize("place", [0, 5, 299])
def test_a_single_other_column_makes_names_unknown(
    other: pa.Array, place: int, tmp_path: Path
) -> None:
    columns = {name: pa.array([0.5]) for name in NAMES[:300]}
    columns[NAMES[place]] = other
    found = shape_of(written(pa.table(columns), tmp_path / "t.parquet"))
    assert found is not None
    assert (found.floats, found.rows) == (None, 1)


def test_a_name_that_is_no_text_is_found_when_names_are_read(tmp_path: Path) -> None:
    path = written(pa.table({"abcd": [0.5], "y": [0.5]}), tmp_path / "t.parquet")
    path.write_bytes(path.read_bytes().replace(b"abcd", b"ab\xff\xfe"))
    found = shape_of(path)
    assert found is not None
    assert found.floats is not None
    with pytest.raises(UnicodeDecodeError):
        found.floats.read()
