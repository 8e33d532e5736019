"""Scores from shards: the same bits, notes and refusals as in one run over the whole table."""

import io
import itertools
import os
import pickle
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsel.budget.account import Account
from dpsel.budget.payment import Demands
from dpsel.cli.app import run
from dpsel.cluster import shard_files
from dpsel.cluster.shard_files import split_files, table_files
from dpsel.cluster.shards import Cluster, Partial, Shard, ShardWork, merge_totals, score_shard
from dpsel.core.batch import Batch
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.guarantee import MOST_ROWS, Neighbors, Unit
from dpsel.core.persons import KeptRows, RowMask
from dpsel.core.release import release
from dpsel.core.scores.kendall import KendallScore
from dpsel.core.scores.registry import SCORES, STUMP
from dpsel.core.selection import Selection
from dpsel.errors import InputError, UsageError
from dpsel.selection.request import select_run
from dpsel.selection.run import carry_out
from dpsel.tables import parquet_footer
from dpsel.tables.table import read_batches
from tests.sample_tables import (
    WRITERS,
    Silent,
    job_of,
    numbers,
    request_for,
    selected,
    write_ipc_stream,
)

ROOT = Path(__file__).parents[2]
ROWS = 60
LABELS = ["ill", "well", None, "other"]
ENDINGS = {
    "parquet": lambda frame, path: frame.write_parquet(path, row_group_size=7),
    "arrow": lambda frame, path: write_batches(frame, path),
    "arrows": write_ipc_stream,
    "csv": WRITERS["t.csv"],
    "tsv": WRITERS["t.tsv"],
    "csv.gz": WRITERS["t.csv.gz"],
}


def write_batches(frame: pl.DataFrame, path: Path) -> None:
    import pyarrow as pa

    table = frame.to_arrow()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=9)


def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    who = [None if p == 0 else f"p{p}" for p in rng.integers(0, 15, ROWS)]
    return numbers(ROWS, 5, seed=3).with_columns(
        who=pl.Series(who), label=pl.Series([LABELS[i % 4] for i in range(ROWS)])
    )


# `stump` finds its weights first: see test_stump.py.
ADDED_UP = [name for name in SCORES if name != STUMP]
FRAME = table()


class Tree:
    """Does all shards here, in a drawn order, and merges them over a drawn tree."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.shards = 0
        self.sent: list[bytes] = []

    def __call__(
        self, work: ShardWork, shards: Sequence[Shard], progress: Callable[[float], None]
    ) -> Iterable[Partial]:
        self.shards = len(shards)
        state = self._sent(work)
        found = [self._sent(score_shard(state, self._sent(shard), 2)) for shard in shards]
        order = [found[place] for place in self._rng.permutation(len(found)).tolist()]
        while len(order) > 1:
            some = [order.pop() for _ in range(int(self._rng.integers(2, 4))) if order]
            merged = self._sent(merge_totals(state, some))
            order.insert(int(self._rng.integers(len(order) + 1)), merged)
            if self._rng.random() < 0.1:
                break
        progress(1.0)
        return order

    def _sent(self, thing: Any) -> Any:
        """Return what comes out at the other end."""
        self.sent.append(pickle.dumps(thing))
        return pickle.loads(self.sent[-1])


def outcome(
    place: Any, options: dict[str, Any], cluster: Cluster | None
) -> tuple[Selection | str, list[str]]:
    """Return the release, or what was refused, and all notes."""
    reporter = Silent()
    plan = request_for(**{"k": 2, "seed": 1, **options})
    try:
        return selected(place, plan, reporter, cluster), reporter.notes
    except (InputError, UsageError) as error:
        return str(error), reporter.notes


def exact_scores(
    place: Any, options: dict[str, Any], cluster: Cluster | None, monkeypatch: pytest.MonkeyPatch
) -> list[Any]:
    """Return the private scores that reach the mechanism."""
    caught: list[Any] = []
    right = release

    def catch(scores: Any, *arguments: Any, **others: Any) -> Any:
        caught.append((scores.values.tolist(), scores.sensitivity))
        return right(scores, *arguments, **others)

    with monkeypatch.context() as patch:
        patch.setattr("dpsel.selection.run.release", catch)
        return [outcome(place, options, cluster), caught]


def write_files(frame: pl.DataFrame, folder: Path, ending: str, cuts: Sequence[int]) -> str:
    """Write a table as several files, cut at these rows; return what names them all."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    edges = [0, *sorted(cuts), len(frame)]
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        ENDINGS[ending](frame[start:end], folder / f"{number:02}.{ending}")
    return f"{folder}/*.{ending}"


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_scores_are_the_same_bits_for_any_partition_and_tree(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ending = data.draw(st.sampled_from(list(ENDINGS)))
    options: dict[str, Any] = {"score": data.draw(st.sampled_from(ADDED_UP))}
    if data.draw(st.booleans()):
        options |= {"person": "who", "rows_per_person": data.draw(st.integers(1, 4))}
    if data.draw(st.booleans()):
        options |= {"target": "label", "positive": data.draw(st.sampled_from(["ill", "none"]))}
    options["exclude"] = [name for name in ("who", "label") if name not in options.values()]
    cuts = data.draw(st.lists(st.integers(0, ROWS), max_size=4))
    target_bytes = data.draw(st.sampled_from([1, 300, 2000, 10_000, 1 << 28]))
    tree = Tree(np.random.default_rng(data.draw(st.integers(0, 1000))))
    place = write_files(FRAME, tmp_path_factory.getbasetemp() / "shards", ending, cuts)
    monkeypatch = pytest.MonkeyPatch()
    expected = exact_scores(place, options, None, monkeypatch)
    found = exact_scores(place, options, Cluster(tree, target_bytes), monkeypatch)
    assert found == expected
    assert len(expected[1]) == 1


@pytest.mark.parametrize("score", ADDED_UP)
@pytest.mark.parametrize("person", [None, "who"])
def test_wide_files_are_scored_alike(
    score: str, person: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    place = write_files(FRAME, tmp_path / "t", "parquet", [20, 30])
    exclude = ["label"] if person else ["label", "who"]
    options = {"score": score, "person": person, "exclude": exclude}
    tree = Tree(np.random.default_rng(0))
    found = exact_scores(place, options, Cluster(tree, 2000), monkeypatch)
    assert found == exact_scores(place, options, None, monkeypatch)
    assert tree.shards > 1


@pytest.mark.parametrize("score", ADDED_UP)
def test_groups_of_a_dictionary_are_scored_alike(
    score: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = write_files(FRAME, tmp_path / "t", "parquet", [20, 30])
    names = [name for name in FRAME.columns if name not in ("who", "label", "y")]
    told = {
        "person": "who",
        "columns": {"label": {"kind": "ignore"}},
        "groups": {"some": {"columns": names[1:3]}},
    }
    options = {"score": score, "dictionary": told}
    cluster = Cluster(Tree(np.random.default_rng(0)), 2000)
    found = exact_scores(place, options, cluster, monkeypatch)
    assert found == exact_scores(place, options, None, monkeypatch)
    assert len(found[1][0][0]) == len(names) - 1


@pytest.mark.parametrize("footer", [1, 1 << 20])
def test_odd_persons_and_an_index_in_some_files_are_read_alike(
    footer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", footer)
    frame = numbers(12, 3)
    persons: list[list[Any]] = [[1, 2, None], [1.0, float("nan"), 3.0], [4, 4, 1], [2, 9, 9]]
    for number, who in enumerate(persons):
        part = frame[3 * number : 3 * number + 3].with_columns(who=pl.Series(who))
        if number % 2:
            part = part.with_columns(__index_level_0__=pl.Series([5, 6, 7]))
        part.write_parquet(tmp_path / f"{number}.parquet", row_group_size=2)
    tree = Tree(np.random.default_rng(0))
    found = exact_scores(str(tmp_path), {"person": "who"}, Cluster(tree, 1), monkeypatch)
    # The first row of each person, in the order of the files.
    kept = frame[[0, 1, 5, 6, 10]].with_columns(who=pl.Series([1, 2, 3, 4, 9]))
    assert found[1] == exact_scores(str(tmp_path), {"person": "who"}, None, monkeypatch)[1]
    assert found[1] == exact_scores(kept, {"person": "who"}, None, monkeypatch)[1]
    assert tree.shards >= 4


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_splits_hold_every_group_once_and_are_about_as_large_as_asked(
    ending: str, tmp_path: Path
) -> None:
    files = table_files(write_files(FRAME, tmp_path / "t", ending, [30, 31, 32, 33]))
    parts = {}
    for target in (1, 1500, 1 << 28):
        found = split_files(files, target)
        parts[target] = [part for split in found for part in split.files]
        for number in range(5):
            groups = [part.groups for part in parts[target] if part.number == number]
            edges = [edge for own in groups if own is not None for edge in own]
            assert edges[0] == 0
            assert edges[1:-1:2] == edges[2::2]
        assert all(split.size <= target or len(split.files) == 1 for split in found)
    assert [len(parts[target]) for target in (1, 1 << 28)] == [
        5 + 3 + 4 if ending == "parquet" else 4 + 3 + 3,
        5,
    ]
    assert len(split_files(files)) == 1


def test_small_files_are_read_together(tmp_path: Path) -> None:
    place = write_files(FRAME, tmp_path / "t", "csv", range(1, ROWS))
    files = table_files(place)
    size = sum(source.path.stat().st_size for source in files.sources if source.path)
    found = split_files(files, size // 4)
    assert 4 <= len(found) <= 6
    assert [part.number for split in found for part in split.files] == list(range(ROWS))


@pytest.mark.parametrize("score", ADDED_UP)
def test_a_table_of_very_many_bytes_is_cut_into_larger_shares(
    score: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = write_files(FRAME, tmp_path / "t", "parquet", [20])
    options = {"score": score, "exclude": ["label", "who"]}
    counts = []
    for most in (1 << 14, 3):
        monkeypatch.setattr(shard_files, "MOST_SHARDS", most)
        tree = Tree(np.random.default_rng(0))
        found = exact_scores(place, options, Cluster(tree, 1), monkeypatch)
        assert found == exact_scores(place, options, None, monkeypatch)
        counts.append(tree.shards)
    assert counts[0] == (5 if score == "kendall" else 9)
    assert counts[1] < counts[0]


def test_nothing_that_decides_the_draw_is_sent(tmp_path: Path) -> None:
    place = write_files(FRAME, tmp_path / "t", "parquet", [30])
    options: dict[str, Any] = {"epsilon": 0.7134, "seed": 918_273_645, "mechanism": "peeling"}
    tree = Tree(np.random.default_rng(0))
    outcome(place, {**options, "exclude": ["who", "label"]}, Cluster(tree, 500))
    needles = [b"epsilon", b"seed", b"mechanism", b"peeling", b"guarantee"]
    needles += [struct.pack(sign + "d", 0.7134) for sign in "<>"]
    needles += [struct.pack("<i", 918_273_645)]
    assert len(tree.sent) > 5
    # Relations and units, which are sent, come from a module of this name.
    sent, request = (
        content.replace(b"dpsel.core.guarantee", b"")
        for content in (b"".join(tree.sent), pickle.dumps(request_for(**options)))
    )
    assert [needle for needle in needles if needle in sent] == []
    # All but the little-endian float would be found if the request were sent.
    assert [needle for needle in needles if needle not in request] == [struct.pack("<d", 0.7134)]


def test_workers_need_no_randomness_and_no_mechanism() -> None:
    code = (
        "import sys, dpsel.cluster.shards; print([name for name in sys.modules "
        "if 'randomness' in name or 'mechanisms' in name or name == 'dpsel.selection.request'])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert found.stdout == "[]\n"


def test_totals_do_not_print_what_they_hold(tmp_path: Path) -> None:
    place = write_files(FRAME, tmp_path / "t", "csv", [])
    kept: list[Any] = []

    def spread(work: ShardWork, shards: Sequence[Shard], progress: Any) -> list[Partial]:
        kept.extend([*shards, *(score_shard(work, shard) for shard in shards)])
        return kept[len(shards) :]

    outcome(place, {"person": "who", "exclude": ["label"]}, Cluster(spread))
    shard, total = kept
    assert repr(total) == "Partial(shards=frozenset({0}))"
    assert str(shard.mask) == "RowMask()"
    assert "mask" not in repr(shard)


@pytest.mark.parametrize(
    ("change", "ending", "score"),
    [
        (lambda frame: frame.rename({"x1": "other"}), "parquet", "dot"),
        (lambda frame: frame.rename({"x1": "other"}), "parquet", "kendall"),
        (lambda frame: frame.with_columns(x1=pl.lit("text")), "parquet", "dot"),
        (lambda frame: frame.with_columns(x1=pl.lit("text")), "parquet", "kendall"),
        (lambda frame: frame.drop("x2"), "arrow", "dot"),
        (lambda frame: frame.drop("x2"), "arrow", "kendall"),
    ],
)
@pytest.mark.parametrize("person", [None, "who"])
def test_refusals_are_the_same(
    change: Callable[[pl.DataFrame], pl.DataFrame],
    ending: str,
    score: str,
    person: str | None,
    tmp_path: Path,
) -> None:
    place = write_files(FRAME, tmp_path / "t", ending, [30])
    ENDINGS[ending](change(FRAME), tmp_path / "t" / f"01.{ending}")
    exclude = ["label"] if person else ["label", "who"]
    options = {"score": score, "exclude": exclude, "person": person}
    expected, _ = outcome(place, options, None)
    found, _ = outcome(place, options, Cluster(Tree(np.random.default_rng(0)), 500))
    assert isinstance(expected, str)
    assert found == expected


@pytest.mark.parametrize("column", ["x1", "y"])
@pytest.mark.parametrize("score", ["dot", "kendall"])
def test_words_of_a_csv_are_missing_here_and_there(score: str, column: str, tmp_path: Path) -> None:
    place = write_files(FRAME, tmp_path / "t", "csv", [30])
    FRAME.with_columns(pl.lit("words").alias(column)).write_csv(tmp_path / "t" / "01.csv")
    options = {"score": score, "exclude": ["label", "who"]}
    expected, _ = outcome(place, options, None)
    found, _ = outcome(place, options, Cluster(Tree(np.random.default_rng(0)), 500))
    assert not isinstance(expected, str)
    assert found == expected


@pytest.mark.parametrize("score", ["dot", "covariance"])
def test_too_many_rows_are_refused_when_totals_are_merged(score: str, tmp_path: Path) -> None:
    place = write_files(FRAME, tmp_path / "t", "csv", [30])

    def spread(work: ShardWork, shards: Sequence[Shard], progress: Any) -> list[Partial]:
        found = [score_shard(work, shard) for shard in shards]
        return [replace(t, sums=replace(t.sums, rows=MOST_ROWS // 2 + 1)) for t in found]

    found, _ = outcome(place, {"score": score, "exclude": ["who", "label"]}, Cluster(spread, 1))
    assert found == f"a table may have at most {MOST_ROWS} rows"


def test_a_lost_share_or_one_that_comes_twice_is_never_passed_over(tmp_path: Path) -> None:
    place = write_files(FRAME, tmp_path / "t", "parquet", [30])
    options = {"exclude": ["who", "label"]}

    def losing(work: ShardWork, shards: Sequence[Shard], progress: Any) -> list[Partial]:
        return [score_shard(work, shard) for shard in shards[1:]]

    def doubling(work: ShardWork, shards: Sequence[Shard], progress: Any) -> list[Partial]:
        return [score_shard(work, shard) for shard in (shards[0], *shards)]

    with pytest.raises(ValueError, match="some shards are missing"):
        outcome(place, options, Cluster(losing, 500))
    with pytest.raises(ValueError, match="counted twice"):
        outcome(place, options, Cluster(doubling, 500))


def test_kendall_needs_all_features_with_the_same_rows() -> None:
    bounds = Bounds.of([UNIT_INTERVAL] * 2, UNIT_INTERVAL)
    one = Bounds.of([UNIT_INTERVAL], UNIT_INTERVAL)
    short = KendallScore(one, Neighbors.ADD_REMOVE, Unit())
    short.add(Batch(0, np.ones((3, 1)), np.ones(3)))
    whole = KendallScore(bounds, Neighbors.ADD_REMOVE, Unit())
    whole.add(short.total())
    with pytest.raises(ValueError, match="fewer rows"):
        whole.scores()
    with pytest.raises(ValueError, match="all rows of its features"):
        whole.add(short.total())


@pytest.mark.parametrize("table", [FRAME, "-"])
def test_only_files_can_be_split(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x,y\n1,1\n")))
    with pytest.raises(UsageError, match="a cluster reads files: "):
        table_files(table)


def test_a_pipe_cannot_be_split(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(UsageError, match=r"a cluster reads files: pipe\.csv is a stream"):
        table_files(str(tmp_path / "pipe.csv"))


def test_what_cannot_be_split_is_not_charged() -> None:
    charged: list[bool] = []

    class Counting(Account):
        def charge(self) -> None:
            charged.append(True)

    request = request_for(exclude=("who", "label"))
    account = Counting(select_run(FRAME, request), Demands())
    cluster = Cluster(Tree(np.random.default_rng(0)))
    carry_out(job_of(FRAME, request, Silent()), account)
    assert charged == [True]
    with pytest.raises(UsageError):
        carry_out(job_of(FRAME, request, Silent(), cluster), account)
    assert charged == [True]


def test_a_file_that_a_worker_does_not_find_is_named(tmp_path: Path) -> None:
    place = write_files(FRAME, tmp_path / "t", "parquet", [30])

    def spread(work: ShardWork, shards: Sequence[Shard], progress: Any) -> list[Partial]:
        (tmp_path / "t" / "01.parquet").unlink()
        with pytest.raises(InputError) as raised:
            score_shard(work, shards[-1])
        said.append(str(raised.value))
        return []

    said: list[str] = []
    outcome(place, {"exclude": ["who", "label"]}, Cluster(spread))
    assert said[0].startswith("01.parquet: a worker of the cluster does not find it")


@pytest.mark.parametrize("after", [False, True], ids=["in a shard", "after the last shard"])
def test_a_file_that_changes_while_it_is_read_in_shares_is_refused(
    after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t.parquet"
    FRAME.write_parquet(place)
    right = read_batches
    totals: list[Partial] = []

    def change() -> None:
        os.utime(place, (1, 1))

    def reduce(pending: Any, *arguments: Any, **options: Any) -> None:
        first = next(pending)
        change()
        right(itertools.chain([first], pending), *arguments, **options)

    def spread(work: ShardWork, shards: Sequence[Shard], progress: Any) -> Iterable[Partial]:
        totals.extend(score_shard(work, shard) for shard in shards)
        change()
        return totals

    if not after:
        monkeypatch.setattr("dpsel.cluster.shards.read_batches", reduce)
    refused, _ = outcome(str(place), {"exclude": ("who", "label")}, Cluster(spread))
    assert str(refused).startswith("t.parquet: was changed while it was read")
    assert bool(totals) is after


def test_a_file_that_changed_since_it_was_split_is_refused(tmp_path: Path) -> None:
    place = write_files(FRAME, tmp_path / "t", "parquet", [])

    def spread(work: ShardWork, shards: Sequence[Shard], progress: Any) -> list[Partial]:
        FRAME[:7].write_parquet(tmp_path / "t" / "00.parquet")
        with pytest.raises(InputError) as raised:
            score_shard(work, shards[-1])
        assert str(raised.value) == "00.parquet: has changed since it was first looked at"
        return [score_shard(work, shard) for shard in shards]

    found, _ = outcome(place, {"exclude": ["who", "label"]}, Cluster(spread, 1))
    assert str(found).startswith("00.parquet: was changed while it was read")
    with pytest.raises(InputError, match="the table has changed"):
        KeptRows(RowMask.of([np.ones(3, dtype=np.bool_)])).next(4)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("how", ["--bounds", "--scale=max-abs"])
@pytest.mark.parametrize("files", [1, 2])
def test_what_is_known_about_the_files_is_the_same(
    ending: str, how: str, files: int, tmp_path: Path
) -> None:
    raw = tmp_path / "raw.parquet"
    FRAME.drop("who", "label").write_parquet(raw)
    bounds = tmp_path / "bounds.toml"
    bounds.write_text("[default]\nlower = -1\nupper = 1\n")
    options = [how, str(bounds)] if how == "--bounds" else [how]
    (tmp_path / "t").mkdir()
    for number in range(files):
        command = ["preprocess", str(raw), str(tmp_path / f"t/{number}.{ending}"), "--target", "y"]
        assert run([*command, *options, "--quiet"]) == 0
    place = f"{tmp_path}/t/*.{ending}"
    asked = {"seed": None, "bare": True}
    expected, notes = outcome(place, asked, None)
    found, heard = outcome(place, asked, Cluster(Tree(np.random.default_rng(0)), 1000))
    assert heard == notes
    if (ending, how, files) == ("csv", "--bounds", 2):
        # Records beside several CSVs say nothing about all of them, before they are read.
        assert found == expected == str(expected)
        return
    assert isinstance(expected, Selection)
    assert isinstance(found, Selection)
    assert found.guarantee is not None
    assert found.guarantee == expected.guarantee
    assert found.guarantee.scope.end_to_end is (how == "--bounds" and files == 1)


@pytest.mark.parametrize("score", ["dot", "kendall"])
def test_a_cluster_writes_the_same_notes_about_useless_cells(score: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "far": [5.0, 5.0, 5.0, 0.0] * 15,
            "words": ["nothing", "0.5", "none", "nil", "7x", "y7"] * 10,
            "gone": [None] * 60,
            "y": [0.5, -0.5, None] * 20,
        },
        schema_overrides={"gone": pl.Float64},
    )
    place = write_files(frame, tmp_path / "t", "csv", [11, 30])
    options = {"score": score, "lower": -1.0, "upper": 1.0}
    options = {"score": score} if score == "kendall" else options
    _, expected = outcome(place, options, None)
    _, found = outcome(place, options, Cluster(Tree(np.random.default_rng(0)), 200))
    assert found == expected
    (note,) = [note for note in expected if note.startswith("of the features' cells")]
    assert note.endswith(
        "worst: 'gone' (100.0% missing), 'words' (33.3% missing, 50.0% not numbers), "
        + ("" if score == "kendall" else "'far' (75.0% clipped), ")
        + "'y' (33.3% missing)"
    )
