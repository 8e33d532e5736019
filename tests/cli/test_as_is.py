"""`dpsel preprocess --as-is`: genes in rows for methods that need no scaling."""

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dpsel.tables.formats import Orientation
from dpsel.tables.raw import RawTable
from dpsel.tables.transposed import TransposedTable
from tests.cli.conftest import ROOT, Dpsel
from tests.sample_tables import numbers

ARRAYS = ROOT / "sample_data" / "arrays.csv"
ARRAYS_LABELS = ROOT / "sample_data" / "arrays_labels.csv"
SAMPLES, GENES = 40, 30
# Names of samples, which no message may show.
NAMES = [f"Zoe-Smith-{place}" for place in range(SAMPLES)]
LABELS = ["tumor", "healthy", "NA", "tumor", "benign"] * (SAMPLES // 5)
ONE_ROW_A_GENE = ("--target", "tissue", "--features-in", "rows", "--as-is")


def straight_frame() -> pl.DataFrame:
    """Return numbers as arrays have them, with gaps and an infinity, a row a sample."""
    frame = numbers(SAMPLES, GENES).drop("y") * 3.0 + 7.0
    first, *_ = frame.columns
    gaps = [None if place % 7 == 3 else value for place, value in enumerate(frame[first])]
    gaps[1] = float("inf")
    return frame.with_columns(pl.Series(first, gaps), pl.Series("tissue", LABELS))


def write_genes(folder: Path, frame: pl.DataFrame) -> tuple[Path, Path]:
    """Write a frame with a row a gene, and its labels apart, in another order."""
    turned = frame.drop("tissue").transpose(
        include_header=True, header_name="gene", column_names=NAMES[: frame.height]
    )
    turned.write_csv(folder / "genes.csv")
    labels = pl.DataFrame({"sample": NAMES[: frame.height], "tissue": frame["tissue"]})
    labels.reverse().write_csv(folder / "labels.csv")
    return folder / "genes.csv", folder / "labels.csv"


def write_series_matrix(path: Path, frame: pl.DataFrame) -> None:
    """Write a frame as a series matrix of GEO."""
    names = "\t".join(f'"{name}"' for name in NAMES)
    states = "\t".join(f'"tissue: {label}"' for label in frame["tissue"])
    text = [
        '!Series_title\t"A study"',
        f"!Sample_geo_accession\t{names}",
        f"!Sample_characteristics_ch1\t{states}",
        "!series_matrix_table_begin",
        f'"ID_REF"\t{names}',
    ]
    for gene in frame.drop("tissue").iter_columns():
        cells = ["" if cell is None else str(cell) for cell in gene]
        text.append("\t".join([f'"{gene.name}"', *cells]))
    text.append("!series_matrix_table_end")
    path.write_bytes(gzip.compress("\n".join(text).encode() + b"\n"))


ASKED = [
    ("--positive", "tumor"),
    ("--positive", "tumor", "--row-ranks"),
    ("--classes", "tumor,healthy,benign"),
    ("--positive", "tumor", "--method", "kendall"),
    ("--positive", "tumor", "--method", "dp-sis", "--lower", 0, "--upper", 14),
]


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_a_turned_table_selects_what_a_table_of_samples_selects(
    ending: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    frame = straight_frame()
    frame.write_csv(tmp_path / "samples.csv")
    genes, labels = write_genes(tmp_path, frame)
    output = tmp_path / f"turned.{ending}"
    made = dpsel("preprocess", genes, output, *ONE_ROW_A_GENE, "--labels", labels)
    assert (made.code, made.out) == (0, "")
    assert made.err.splitlines() == [
        f"features: {GENES}",
        "method: every cell as it is",
        "missing cells: 6.6%",
        f"note: 20.0% of the rows have no label in '{labels}'",
    ]
    for asked in ASKED:
        ask = ("--target", "tissue", "--k", 3, "--epsilon", 1, *asked, "--quiet")
        for seed in (1, 2):
            records = [
                dpsel("select", table, *ask, "--seed", seed)
                for table in (output, tmp_path / "samples.csv")
            ]
            assert records[0].code == 0
            assert records[0] == records[1]
        released = [
            json.loads(dpsel("select", table, *ask).out)["guarantee"]
            for table in (output, tmp_path / "samples.csv")
        ]
        assert released[0] == released[1]
        assert released[0]["end_to_end"] is True


def test_cells_and_labels_stay_what_they_are(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = straight_frame()
    genes, labels = write_genes(tmp_path, frame)
    output = tmp_path / "turned.parquet"
    assert dpsel("preprocess", genes, output, *ONE_ROW_A_GENE, "--labels", labels).code == 0
    written = pl.read_parquet(output)
    assert written.columns == frame.columns
    assert written["tissue"].to_list() == frame["tissue"].to_list()
    expected = frame.drop("tissue").to_numpy()
    assert np.array_equal(written.drop("tissue").to_numpy(), expected, equal_nan=True)
    shown = json.loads(dpsel("preprocess", "--show", output).out)
    as_is = {"data_dependent", "read_off_the_data", "center", "scale", "missing"}
    assert {name: shown[name] for name in as_is} == {
        "data_dependent": False,
        "read_off_the_data": [],
        "center": "as-is",
        "scale": "as-is",
        "missing": "as-is",
    }


def test_one_sample_more_changes_neither_columns_nor_record(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = straight_frame().with_columns(tissue=pl.Series(["5"] * (SAMPLES - 1) + ["healthy"]))
    shown = []
    for rows in (SAMPLES, SAMPLES - 1):
        genes, labels = write_genes(tmp_path, frame.head(rows))
        output = tmp_path / f"{rows}.parquet"
        assert dpsel("preprocess", genes, output, *ONE_ROW_A_GENE, "--labels", labels).code == 0
        schema = pl.read_parquet_schema(output)
        shown.append((dpsel("preprocess", "--show", output), schema, list(schema)))
    assert shown[0] == shown[1]


def test_a_series_matrix_is_turned_round_as_it_is(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = straight_frame()
    path, output = tmp_path / "GSE1_series_matrix.txt.gz", tmp_path / "turned.parquet"
    write_series_matrix(path, frame)
    asked = ("--target", "tissue", "--label-key", "Tissue", "--as-is")
    assert dpsel("preprocess", path, output, *asked).code == 0
    genes, labels = write_genes(tmp_path, frame)
    other = tmp_path / "other.parquet"
    assert dpsel("preprocess", genes, other, *ONE_ROW_A_GENE, "--labels", labels).code == 0
    assert output.read_bytes() == other.read_bytes()
    refused = dpsel("preprocess", path, output, *asked[:2], "--as-is", "--force")
    assert refused.err.startswith(f"error: {path.name}: say which characteristic is the label")


def test_numbers_to_predict_are_asked_for(dpsel: Dpsel, tmp_path: Path) -> None:
    ages = [str(30.5 + place) for place in range(SAMPLES)]
    frame = straight_frame().with_columns(tissue=pl.Series([*ages[:-1], "unknown"]))
    frame.write_csv(tmp_path / "samples.csv")
    genes, labels = write_genes(tmp_path, frame)
    output = tmp_path / "turned.parquet"
    asked = (genes, output, *ONE_ROW_A_GENE, "--labels", labels, "--force")
    labels.write_text(labels.read_text().replace("unknown", "70"))
    made = dpsel("preprocess", *asked)
    assert made.err.splitlines()[-1] == (
        "note: all labels of 'tissue' are numbers; if they are a quantity, and no classes, give "
        "--numeric-target"
    )
    select = ("--target", "tissue", "--k", 3, "--epsilon", 1, "--seed", 1, "--quiet")
    refused = dpsel("select", output, *select)
    assert (refused.code, refused.out) == (3, "")
    assert "the target 'tissue' holds text" in refused.err
    write_genes(tmp_path, frame)
    assert "numeric-target" not in dpsel("preprocess", *asked).err
    assert dpsel("preprocess", *asked, "--numeric-target").code == 0
    found = dpsel("select", output, *select)
    assert found.code == 0
    assert found == dpsel("select", tmp_path / "samples.csv", *select)


def test_a_table_larger_than_memory_is_turned_round_as_it_is(
    dpsel: Dpsel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    genes, labels = write_genes(tmp_path, straight_frame())
    found = []
    for memory in ("1GB", "2KB"):
        monkeypatch.setenv("DPSEL_MEMORY", memory)
        for numeric in ((), ("--numeric-target",)):
            labels.write_text(labels.read_text().replace("tumor", "1"))
            output = tmp_path / f"{memory}{len(numeric)}.parquet"
            asked = (genes, output, *ONE_ROW_A_GENE, "--labels", labels, *numeric)
            assert dpsel("preprocess", *asked).code == 0
            found.append(output.read_bytes())
    raw = RawTable(str(genes), "tissue", Orientation.ROWS, str(labels), None)
    assert isinstance(raw.opener(labels_are_numbers=False)(), TransposedTable)
    assert found[:2] == found[2:]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_scores_with_bounds_refuse_a_table_that_was_left_as_it_is(
    ending: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    output = tmp_path / f"turned.{ending}"
    asked = ("--labels", ARRAYS_LABELS, *ONE_ROW_A_GENE, "--quiet")
    assert dpsel("preprocess", ARRAYS, output, *asked).code == 0
    ask = ("--target", "tissue", "--positive", "tumor", "--k", 3, "--epsilon", 2, "--quiet")
    for method in (("--score", "dot"), ("--score", "covariance"), ("--method", "dp-sis")):
        refused = dpsel("select", output, *ask, *method)
        assert (refused.code, refused.out) == (2, "")
        assert "or a table that `dpsel preprocess` wrote without --as-is; the" in refused.err
    found = dpsel("select", output, *ask, "--method", "dp-sis", "--lower", 0, "--upper", 10)
    assert "bounds were given as public inputs" in json.loads(found.out)["guarantee"]["why"]


@pytest.mark.parametrize("memory", ["1GB", "2KB"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_was_read_off_the_data_before_is_not_forgotten(
    ending: str, memory: str, dpsel: Dpsel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", memory)
    genes, labels = write_genes(tmp_path, straight_frame())
    scaled = tmp_path / f"scaled.{ending}"
    first = ("--target", NAMES[0], "--exclude", "gene", "--person", "gene", "--quiet")
    assert dpsel("preprocess", genes, scaled, *first).code == 0
    # Genes have to come first, which is done here by a tool that keeps the record.
    if ending == "parquet":
        metadata = pl.read_parquet_metadata(scaled)
        frame = pl.read_parquet(scaled).select("gene", pl.exclude("gene"))
        frame.write_parquet(scaled, metadata=dict(metadata))
    else:
        pl.read_csv(scaled).select("gene", pl.exclude("gene")).write_csv(scaled)
    turned = tmp_path / "turned.parquet"
    made = dpsel("preprocess", scaled, turned, *ONE_ROW_A_GENE, "--labels", labels)
    assert made.err.splitlines()[-1].startswith("note: each column's mean, each column's largest")
    ask = ("--target", "tissue", "--positive", "tumor", "--k", 1, "--epsilon", 1, "--quiet")
    guarantee = json.loads(dpsel("select", turned, *ask).out)["guarantee"]
    assert guarantee["end_to_end"] is False
    refused = dpsel("select", turned, *ask, "--require-end-to-end")
    assert (refused.code, refused.out) == (2, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--positive", "tumor"), "--as-is leaves labels as they are; name them in `dpsel select`"),
        (("--encode-target",), "--as-is leaves labels as they are; name them in `dpsel select`"),
        (("--classes", "a,b,c"), "--as-is leaves labels as they are; name them in `dpsel select`"),
        (("--bounds", "b.toml"), "--as-is changes no cell; leave out --bounds"),
        (("--center", "mean"), "--as-is changes no cell; leave out --center"),
        (("--scale", "none"), "--as-is changes no cell; leave out --scale"),
        (("--clip", "0.5"), "--as-is changes no cell; leave out --clip"),
        (("--missing", "mean"), "--as-is changes no cell; leave out --missing"),
        (
            ("--features-in", "columns"),
            "--as-is is for tables that have to be transposed: give --features-in rows, if a "
            "row is a feature; else `dpsel select` reads this table as it is",
        ),
    ],
)
def test_what_does_not_go_with_as_is_is_refused(
    options: tuple[str, ...], message: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    refused = dpsel("preprocess", ARRAYS, tmp_path / "t.csv", *ONE_ROW_A_GENE, *options)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(f"error: {message}")
    assert not list(tmp_path.iterdir())


def test_a_target_of_numbers_is_a_matter_of_as_is(dpsel: Dpsel, tmp_path: Path) -> None:
    asked = (ARRAYS, tmp_path / "t.csv", *ONE_ROW_A_GENE[:-1], "--numeric-target")
    assert dpsel("preprocess", *asked).err == "error: --numeric-target goes with --as-is\n"


def test_no_message_shows_a_sample(dpsel: Dpsel, tmp_path: Path) -> None:
    genes, labels = write_genes(tmp_path, straight_frame())
    header, *lines = genes.read_text().splitlines()
    first, *samples = header.split(",")
    last = lines[-1].split(",")[1:]
    texts = {
        "repeated": [",".join([first, samples[0], *samples[:-1]]), *lines],
        "nameless": [",".join([first, "", *samples[1:]]), *lines],
        "no_corner": [",".join(samples), *lines],
        "no_features": [header],
        "like_target": [header, *lines, ",".join(["tissue", *last])],
        "right": [header, *lines],
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(text) + "\n")
    pl.read_csv(genes).select(*samples, first).write_parquet(tmp_path / "no_names.parquet")
    (tmp_path / "few.csv").write_text("sample,label\n" + f"{samples[0]},tumor\n")
    (tmp_path / "others.csv").write_text("sample,label\nx,tumor\n")
    (tmp_path / "twice.csv").write_text(f"{samples[0]},tumor\n" * 2)
    (tmp_path / "one.csv").write_text("tumor\n" * 3)
    tables = [tmp_path / f"{name}.csv" for name in texts] + [tmp_path / "no_names.parquet"]
    codes = []
    for table in tables:
        right = table.name == "right.csv"
        others = ("few", "others", "twice", "one") if right else ()
        for given in (labels, None, *(tmp_path / f"{name}.csv" for name in others)):
            asked = () if given is None else ("--labels", given)
            result = dpsel(
                "preprocess", table, tmp_path / "o.csv", *ONE_ROW_A_GENE, *asked, "--force"
            )
            assert "Smith" not in result.err + result.out
            codes.append(result.code)
    assert codes.count(0) == 3
    assert set(codes) == {0, 3}


def test_clipping_most_cells_is_noted_with_a_remedy(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = straight_frame().with_columns(tissue=pl.Series(["a", "b"] * (SAMPLES // 2)))
    genes, labels = write_genes(tmp_path, frame)
    bounds = tmp_path / "b.toml"
    bounds.write_text("[default]\nlower = 0\nupper = 1\n")
    rows = (genes, tmp_path / "o.csv", *ONE_ROW_A_GENE[:-1], "--labels", labels, "--force")
    coded = ("--positive", "a")
    turned = "need no scaling, write them as they are, with --as-is"
    for options, remedy in (
        (("--center", "none", "--scale", "none"), "give public bounds with --bounds, or for"),
        (("--bounds", bounds), "give wider bounds, or for"),
        (("--scale", "robust", "--clip", "0.1"), "give a larger --clip, or for"),
    ):
        result = dpsel("preprocess", *rows, *coded, *options)
        (note,) = [line for line in result.err.splitlines() if "were clipped" in line]
        assert remedy in note
        assert note.endswith(turned)
        assert dpsel("preprocess", *rows, *coded, *options, "--quiet").err == ""
    assert "were clipped" not in dpsel("preprocess", *rows, *coded, "--scale", "robust").err
    frame.write_csv(tmp_path / "samples.csv")
    straight = (tmp_path / "samples.csv", tmp_path / "o.csv", "--target", "tissue", "--force")
    result = dpsel("preprocess", *straight, *coded, "--bounds", bounds)
    assert "which need no scaling, take the raw table\n" in result.err


def test_a_note_gives_the_share_of_cells_that_are_not_numbers(dpsel: Dpsel, tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("snp,s1,s2,s3\na,AA,AB,BB\nb,1,AB,BB\n")
    (tmp_path / "labels.csv").write_text("s1,ill\ns2,well\ns3,ill\n")
    asked = (*ONE_ROW_A_GENE, "--labels", tmp_path / "labels.csv")
    result = dpsel("preprocess", tmp_path / "calls.csv", tmp_path / "o.csv", *asked)
    assert result.code == 0
    assert "note: 83.3% of the cells are missing or not numbers\n" in result.err


@pytest.mark.parametrize("name", ["GSE1_series_matrix.txt.gz", "GSE1.tsv.gz"])
def test_select_says_how_a_series_matrix_is_turned_round(
    name: str, dpsel: Dpsel, tmp_path: Path
) -> None:
    write_series_matrix(tmp_path / name, straight_frame())
    ask = ("--target", "tissue", "--positive", "tumor", "--k", 1, "--epsilon", 1)
    refused = dpsel("select", tmp_path / name, *ask)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err == (
        f"error: {name}: is a GEO series matrix, with a feature in every row; transpose it first: "
        f"`dpsel preprocess {name} transposed.parquet --target LABEL --label-key KEY --as-is`\n"
    )


def test_select_says_how_genes_in_rows_are_turned_round(dpsel: Dpsel, tmp_path: Path) -> None:
    ask = ("--target", "tissue", "--positive", "tumor", "--k", 1, "--epsilon", 1)
    refused = dpsel("select", ARRAYS, *ask)
    assert (refused.code, refused.out) == (2, "")
    assert "`dpsel preprocess --features-in rows --as-is`" in refused.err
