"""GEO's series-matrix files become tables of one sample a row, with a characteristic as label."""

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpsel.errors import InputError
from dpsel.tables import series_matrix
from dpsel.tables import transposed as feature_rows
from dpsel.tables.columns import Wanted, choose_columns
from dpsel.tables.formats import is_series_matrix
from dpsel.tables.labels import TargetCoding
from dpsel.tables.series_matrix import read_series_matrix
from dpsel.tables.sources import Source
from dpsel.tables.table import RowReader
from dpsel.tables.transposed import TransposedTable

ABOUT = """\
!Series_title\t"Prostate; a "rough" title"
!Series_geo_accession\t"GSE1"

!Sample_title\t"one"\t"two"\t"three"
!Sample_geo_accession\t"GSM1"\t"GSM2"\t"GSM3"
!Sample_characteristics_ch1\t"Disease state: tumor"\t"age: 61"\t"disease state: normal: benign"
!Sample_characteristics_ch1\t"age: 58"\t"disease state: normal"\t""
!Sample_characteristics_ch1\t"grade 3"\t"smoker:"\t"seen at 12:30"
!Sample_characteristics_ch2\t"dye: red"\t"dye: red"\t"dye: red"
"""
BEGIN = "!series_matrix_table_begin\n"
MATRIX = '"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"\n"1007_s_at"\t7.5\t-1e-3\t\n"1053_at"\tnull\t2\t3.25\n'
END = "!series_matrix_table_end\n"
WHOLE = ABOUT + BEGIN + MATRIX + END


def read(folder: Path, content: str | bytes, key: str | None = "disease state") -> Any:
    path = folder / "m.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_series_matrix(Source(path), label_key=key, target="y")


def check(table: Any) -> None:
    """Check the cells of the small matrix, the order of its columns, and their types."""
    assert table.column_names == ["1007_s_at", "1053_at", "y"]
    assert table.schema.types == [pa.float64(), pa.float64(), pa.large_string()]
    first, second, labels = (column.to_pylist() for column in table.columns)
    assert first[:2] == [7.5, -0.001]
    assert second[1:] == [2.0, 3.25]
    assert math.isnan(first[2])
    assert math.isnan(second[0])
    assert labels == ["tumor", "normal", "normal: benign"]


def test_a_series_matrix_is_turned_round(tmp_path: Path) -> None:
    check(read(tmp_path, WHOLE))
    check(read(tmp_path, WHOLE.replace("\n", "\r\n")))
    check(read(tmp_path, b"\xef\xbb\xbf" + WHOLE.rstrip("\n").encode()))
    check(read(tmp_path, WHOLE.replace('"', "")))
    check(read(tmp_path, gzip.compress(WHOLE.encode())))
    check(read(tmp_path, pa.compress(WHOLE.encode(), codec="zstd", asbytes=True)))


def test_a_file_with_quoted_marks_is_read(tmp_path: Path) -> None:
    quoted = WHOLE
    for mark in ("!Sample_geo_accession", "!Sample_characteristics_ch1", BEGIN[:-1], END[:-1]):
        quoted = quoted.replace(mark, f'"{mark}"')
    check(read(tmp_path, quoted.replace(f'{BEGIN[:-1]}"', f'{BEGIN[:-1]}"\t\t')))


@pytest.mark.parametrize(
    ("key", "labels"),
    [
        (" DISEASE State", ["tumor", "normal", "normal: benign"]),
        ("age", ["58", "61", None]),
        ("smoker", [None, None, None]),
    ],
)
def test_labels_follow_their_key_in_whatever_line(
    key: str, labels: list[str | None], tmp_path: Path
) -> None:
    assert read(tmp_path, WHOLE, key)["y"].to_pylist() == labels


def test_labels_go_with_the_names_of_samples_not_with_their_order(tmp_path: Path) -> None:
    matrix = '"ID_REF"\t"GSM3"\t"GSM4"\t"GSM1"\n"a"\t3\t4\t1\n'
    found = read(tmp_path, ABOUT + BEGIN + matrix + END)
    assert found.to_pydict() == {"a": [3.0, 4.0, 1.0], "y": ["normal: benign", None, "tumor"]}


def test_lines_after_the_table_are_not_read(tmp_path: Path) -> None:
    check(read(tmp_path, WHOLE + "more\t1\t2\t3\n"))
    check(read(tmp_path, WHOLE + "more\t1\t2\t3\n" * 10_000))


@pytest.mark.parametrize("text_bytes", [1, 7, 64])
def test_the_cut_into_blocks_does_not_matter(
    text_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_matrix, "_HEAD_BYTES", text_bytes)
    monkeypatch.setattr(feature_rows, "TEXT_BYTES", text_bytes)
    check(read(tmp_path, WHOLE))
    check(read(tmp_path, WHOLE.replace("\n", "\r\n") + "more\t1\t2\t3\n" * 20))
    almost = "!series_matrix_table_ending"
    found = read(tmp_path, WHOLE.replace('"1053_at"', almost))
    assert found.column_names == ["1007_s_at", almost, "y"]
    for content in (ABOUT + BEGIN, ABOUT + BEGIN + MATRIX, ABOUT + BEGIN + MATRIX + END[:-5]):
        with pytest.raises(InputError, match="has no line !series_matrix_table_end, so it is cut"):
            read(tmp_path, content)


def test_a_head_without_an_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_matrix, "_LONGEST_HEAD", 10_000)
    monkeypatch.setattr(series_matrix, "_HEAD_BYTES", 1000)
    check(read(tmp_path, "!Series_title\tx\n" * 500 + WHOLE))
    with pytest.raises(InputError, match="has no line !series_matrix_table_begin; give a"):
        read(tmp_path, "!Series_title\tx\n" * 1000 + WHOLE)


def test_a_matrix_that_does_not_fit_in_memory_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    samples = [f"GSM{place}" for place in range(200)]
    names = "\t".join(samples)
    states = "\t".join(f"state: {place % 2}" for place in range(200))
    rows = rng.normal(size=(900, 200)).round(6).tolist()
    lines = [f"g{place}\t" + "\t".join(map(str, row)) for place, row in enumerate(rows)]
    text = (
        f"!Sample_geo_accession\t{names}\n!Sample_characteristics_ch1\t{states}\n"
        f"{BEGIN}ID_REF\t{names}\n" + "\n".join(lines) + f"\n{END}"
    )
    monkeypatch.setattr(feature_rows, "TEXT_BYTES", 1 << 18)
    whole = read(tmp_path, text, "state")
    monkeypatch.setenv("DPSEL_MEMORY", "100KB")
    kept = read(tmp_path, text, "state")
    assert isinstance(whole, pa.Table)
    assert isinstance(kept, TransposedTable)
    layout = choose_columns(kept.columns, Wanted("y", labels=True), "m")
    batches = [one.read() for one in kept.pending_batches(layout, RowReader(TargetCoding("1")))]
    assert len(batches) > 1
    found = np.concatenate([batch.X for batch in batches])
    assert np.array_equal(found, np.array(rows).T)
    expected = np.column_stack([whole.column(place).to_numpy() for place in range(900)])
    assert np.array_equal(found, expected)


def test_a_wide_array_round_trips_bit_by_bit(tmp_path: Path) -> None:
    X = np.random.default_rng(6).normal(size=(22_283, 20))
    samples = [f"GSM{place}" for place in range(20)]
    names = [f"{place}_at" for place in range(len(X))]
    quoted = "\t".join(f'"{name}"' for name in samples)
    states = "\t".join(f'"state: {place % 2}"' for place in range(20))
    rows = (
        f'"{name}"\t' + "\t".join(map(repr, row))
        for name, row in zip(names, X.tolist(), strict=True)
    )
    lines = [
        f"!Sample_geo_accession\t{quoted}",
        f"!Sample_characteristics_ch1\t{states}",
        "!series_matrix_table_begin",
        f'"ID_REF"\t{quoted}',
        *rows,
        "!series_matrix_table_end",
    ]
    found = read(tmp_path, "\n".join(lines), "state")
    assert found.column_names == [*names, "y"]
    assert found["y"].to_pylist() == ["0", "1"] * 10
    back = np.stack([found.column(place).to_numpy() for place in range(len(X))])
    assert np.array_equal(back.view(np.uint64), X.view(np.uint64))


KEYS = "'Disease state', 'age', 'smoker'"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            None,
            "m.txt: say which characteristic is the label, with `dpsel preprocess --label-key "
            f"KEY`: {KEYS}",
        ),
        ("xyz", f"m.txt: has no characteristic 'xyz'; it has {KEYS}"),
        (
            "Smokers",
            "m.txt: has no characteristic 'Smokers'; it has 'smoker', 'Disease state', 'age'",
        ),
        ("dye", f"m.txt: has no characteristic 'dye'; it has {KEYS}"),
    ],
)
def test_a_key_that_is_not_there_is_refused_with_those_that_are(
    key: str | None, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, WHOLE, key)
    assert str(raised.value) == message


def test_of_very_many_keys_the_first_are_listed(tmp_path: Path) -> None:
    line = '!Sample_characteristics_ch1\t"key {}: 1"\n'
    about = '!Sample_geo_accession\t"GSM1"\n' + "".join(map(line.format, range(25)))
    with pytest.raises(InputError) as raised:
        read(tmp_path, about + BEGIN + MATRIX + END, None)
    assert str(raised.value).endswith("'key 18', 'key 19' and 5 more")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            ABOUT + MATRIX + END,
            "m.txt: has no line !series_matrix_table_begin; give a series matrix of GEO, whole",
        ),
        (
            "",
            "m.txt: has no line !series_matrix_table_begin; give a series matrix of GEO, whole",
        ),
        (
            ABOUT + BEGIN + MATRIX,
            "m.txt: has no line !series_matrix_table_end, so it is cut short; get it again",
        ),
        (
            BEGIN + MATRIX + END,
            "m.txt: has no line !Sample_geo_accession with the samples' names",
        ),
        (
            '!Sample_geo_accession\t"GSM1"\n' + BEGIN + MATRIX + END,
            "m.txt: has no characteristics of samples to take labels from",
        ),
        (
            ABOUT.replace("GSM", "X") + BEGIN + MATRIX + END,
            "m.txt: the samples of its table are not those of !Sample_geo_accession",
        ),
        (ABOUT + BEGIN + END, "m.txt: is empty; a first line with column names is needed"),
        (
            ABOUT + BEGIN + MATRIX.splitlines()[0] + "\n" + END,
            "m.txt: has no feature; one a row is needed",
        ),
        (
            WHOLE.replace("1053_at", "1007_s_at"),
            "m.txt: features 1 and 2 have the same name; rename one",
        ),
        (
            WHOLE.replace("1053_at", "y"),
            "m.txt: feature 'y' is named like --target; rename one",
        ),
        (
            WHOLE.replace("GSM3", "GSM1"),
            "m.txt: samples 1 and 3 have the same name; rename one",
        ),
        (
            gzip.compress(WHOLE.encode(), mtime=0)[:-20],
            "m.txt: cannot be read as a series matrix; "
            "it is damaged, cut short or in another format",
        ),
    ],
)
def test_what_is_no_series_matrix_is_refused(
    content: str | bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, content)
    assert str(raised.value) == message


def test_a_series_matrix_is_known_by_its_first_bytes() -> None:
    for begin in ("!Series_title\t", "!series_matrix", '"!Series_title"', '\ufeff"!Series_'):
        assert is_series_matrix(begin.encode())
    for begin in ("", "!Serie", "!Sample_title", "Series_title", "ID_REF\tGSM1", "PAR1"):
        assert not is_series_matrix(begin.encode())
