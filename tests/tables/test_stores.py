"""Tables in a store: what is read, what is refused, and what is never repeated."""

import io
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from dpsel.budget.account import Account
from dpsel.budget.payment import Demands
from dpsel.cluster.shard_files import split_files, table_files
from dpsel.cluster.shards import Cluster
from dpsel.core.scores.registry import SCORES
from dpsel.errors import DpselError, InputError, UsageError
from dpsel.selection.request import select_run
from dpsel.selection.run import SelectJob, carry_out
from dpsel.tables import places
from dpsel.tables.places import Store, parse_place, public_place
from dpsel.tables.table_files import find_sources
from tests.cluster.test_shards import Tree, write_batches
from tests.s3_server import S3Server, running
from tests.sample_tables import Silent, numbers, request_for, scored

FRAME = numbers(60, 5, seed=8)
KEY, SECRET = "AKIAOFTHISTEST", "the-secret-of-this-test"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A store with a table in a folder, and credentials in the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(places, "_CONNECT_SECONDS", 2)
    monkeypatch.setattr(places, "_SILENT_SECONDS", 1)
    monkeypatch.setattr(places, "_ATTEMPTS", 2)
    places._files.cache_clear()
    with running() as server:
        server.objects["bucket"] = {
            "t/a.parquet": parquet(FRAME[:25]),
            "t/b c.parquet": parquet(FRAME[25:26]),
            "t/more/d%2Fe.parquet": parquet(FRAME[26:]),
            "t/_SUCCESS": b"",
            "t/_temporary/f.parquet": b"half",
            "other/t.arrow": arrow(FRAME),
            "other/t.csv": FRAME.write_csv().encode(),
        }
        yield server
    places._files.cache_clear()


def parquet(frame: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content, row_group_size=7)
    return content.getvalue()


def arrow(frame: pl.DataFrame) -> bytes:
    sink = pa.BufferOutputStream()
    table = frame.to_arrow()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=9)
    return bytes(sink.getvalue())


def refused(table: str, **options: Any) -> str:
    with pytest.raises(DpselError) as caught:
        scored(table, **options)
    message = str(caught.value)
    for secret in (KEY, SECRET, "4711", "SECRET"):
        assert secret not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


@pytest.mark.parametrize(
    "path",
    ["t", "t/", "t/**/*.parquet", "**/[a-e]*.parquet", "/t//"],
)
@pytest.mark.parametrize("score", list(SCORES))
def test_a_table_in_a_store_is_scored_as_a_file(path: str, score: str, store: S3Server) -> None:
    if "**" in path:
        del store.objects["bucket"]["t/_temporary/f.parquet"]
    found = scored(f"s3://bucket/{path}?{store.query}", score=score)
    assert found.values.tolist() == scored(FRAME, score=score).values.tolist()


def test_single_files_patterns_and_arrow(store: S3Server) -> None:
    for path, frame in [
        ("t/b c.parquet", FRAME[25:26]),
        ("t/more/d%2Fe.parquet", FRAME[26:]),
        ("t/*.parquet", FRAME[:26]),
        ("*/*.arrow", FRAME),
        ("other/t.arrow", FRAME),
    ]:
        found = scored(f"s3://bucket/{path}?{store.query}", threads=4)
        assert found.values.tolist() == scored(frame).values.tolist(), path


def test_only_what_is_needed_is_fetched(store: S3Server) -> None:
    store.objects["bucket"]["w/t.parquet"] = content = parquet(numbers(2000, 60))
    store.sent = 0
    scored(f"s3://bucket/w/t.parquet?{store.query}", features=["x1", "x2"])
    assert store.sent < len(content) / 2


def test_long_listings_come_in_pages(store: S3Server) -> None:
    store.page = 2
    assert len(find_sources(f"s3://bucket/t?{store.query}")) == 3


def test_folders_in_a_store_name_columns(store: S3Server) -> None:
    store.objects["hive"] = {
        "t/site=A%2FB/1.parquet": parquet(FRAME[:30]),
        "t/site=__HIVE_DEFAULT_PARTITION__/1.parquet": parquet(FRAME[30:]),
    }
    sites = pl.Series("site", ["A/B"] * 30 + [None] * 30)
    expected = scored(FRAME.with_columns(sites), target="site", positive="A/B")
    found = scored(f"s3://hive/t?{store.query}", target="site", positive="A/B")
    assert found.values.tolist() == expected.values.tolist()


@pytest.mark.parametrize("score", ["dot", "kendall"])
def test_splits_of_a_store_are_read_by_others(score: str, store: S3Server) -> None:
    table = f"s3://bucket/t?{store.query}"
    tree = Tree(np.random.default_rng(0))
    here = scored(table, score=score)
    there = scored(table, cluster=Cluster(tree, 600), score=score)
    assert there.values.tolist() == here.values.tolist()
    assert tree.shards > 1
    sent = b"".join(tree.sent)
    assert KEY.encode() not in sent
    assert SECRET.encode() not in sent


def test_sizes_of_splits_in_a_store(store: S3Server) -> None:
    splits = split_files(table_files(f"s3://bucket/*/*.arrow?{store.query}"), 2000)
    assert len(splits) > 1
    assert pickle.loads(pickle.dumps(splits)) == splits


def test_what_is_not_there_is_named(store: S3Server) -> None:
    query = store.query
    for path, message in [
        ("nowhere/t", "s3://nowhere/t: no such bucket"),
        ("nowhere/*.parquet", "s3://nowhere/*.parquet: "),
        ("bucket/u", "s3://bucket/u: no such file or folder"),
        ("bucket/u*", "s3://bucket/u*: no file matches this pattern"),
        ("bucket/other", "s3://bucket/other: this folder holds no Parquet file"),
        ("buck*/t", "s3://buck*/t: the name of the bucket cannot be a pattern"),
        ("bucket/other/t.csv", "t.csv: a store must hold Parquet or Arrow files"),
    ]:
        assert refused(f"s3://{path}?{query}").startswith(message)


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        ("denied", "s3://bucket/t: cannot be read: the store denies access; check the "),
        ("objects denied", "a.parquet: cannot be read: the store denies access; check the "),
        ("truncated", "a.parquet: cannot be read: the store cannot be reached, or broke off"),
        ("damaged", "a.parquet: cannot be read as a Parquet table; it is damaged, "),
        ("hang", "s3://bucket/t: cannot be read: the store cannot be reached, or broke off"),
    ],
)
def test_a_hostile_store_ends_in_one_plain_line(
    hostile: str, message: str, store: S3Server
) -> None:
    store.hostile = hostile
    assert refused(f"s3://bucket/t/?{store.query}").startswith(message)


def test_a_store_that_breaks_off_later_is_told(store: S3Server) -> None:
    store.objects["bucket"]["w/t.parquet"] = parquet(FRAME)

    class BreakingOff(Account):
        def charge(self) -> None:
            store.hostile = "truncated"

    table, request = f"s3://bucket/w/t.parquet?{store.query}", request_for()
    account = BreakingOff(select_run(table, request), Demands())
    with pytest.raises(InputError, match=r"^t\.parquet: cannot be read: the store cannot"):
        carry_out(SelectJob(table, request, Silent()), account)
    assert store.hostile == "truncated"


def test_a_store_that_is_not_there_is_told(store: S3Server) -> None:
    query = "scheme=http&endpoint_override=127.0.0.1:1&region=us-east-1"
    assert refused(f"s3://bucket/t?{query}").endswith("cannot be reached, or broke off")


@pytest.mark.parametrize(
    "place",
    [
        f"s3://{KEY}:{SECRET}@bucket/t",
        f"s3://bucket/t?access_key={KEY}&secret_key={SECRET}",
        f"s3://bucket/t?X-Amz-Signature={SECRET}",
        f"s3://bucket/t?endpoint_override={KEY}:{SECRET}@host",
        f"s3://bucket/t?region=us-east-1&{SECRET}",
        f"s3://bucket/t?region={SECRET}%0a",
        f"gs://{SECRET}@bucket/t",
        "s3://",
        "s3:///t",
        "file://t.parquet",
    ],
)
def test_credentials_in_the_name_of_a_table_are_refused_and_not_repeated(place: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_sources(place)
    assert SECRET not in str(caught.value)
    assert KEY not in str(caught.value)
    named = select_run(place, request_for()).parameters["table"]
    assert SECRET not in named
    assert KEY not in named


def test_what_is_no_secret_stays_in_the_name(tmp_path: Path) -> None:
    place = "s3://bucket/t/*.parquet?scheme=http&endpoint_override=host:9000&region=eu-1"
    assert public_place(place) == place
    assert parse_place(place) == (Store("eu-1", "http", "host:9000"), "bucket/t/*.parquet")
    assert public_place("data/part-?.csv") == "data/part-?.csv"
    assert select_run(place, request_for()).parameters["table"] == place


def test_a_file_may_be_named_with_its_scheme(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a b.parquet")
    write_batches(FRAME, tmp_path / "t.arrow")
    expected = scored(FRAME).values.tolist()
    for place in (
        f"file://{tmp_path}/a%20b.parquet",
        f"file://localhost{tmp_path}/*.parquet",
        f"FILE://{tmp_path}/t.arrow",
        f"file://{tmp_path}",
    ):
        assert scored(place).values.tolist() == expected


def test_no_region_is_asked_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    asked: list[str] = []

    def resolve(bucket: str) -> str:
        asked.append(bucket)
        raise OSError("AWS Error NETWORK_CONNECTION during HeadBucket operation: SECRET")

    monkeypatch.setattr("pyarrow.fs.resolve_s3_region", resolve)
    assert refused("s3://a-bucket/t") == (
        "s3://a-bucket/t: cannot be read: the store cannot be reached, or broke off"
    )
    assert asked == ["a-bucket"]
    assert os.environ.get("AWS_REGION") is None
