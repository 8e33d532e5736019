"""Tables in a store, in every command that reads tables, and what is left behind of their names."""

import io
import json
from pathlib import Path

import polars as pl

from tests.cli.conftest import Dpsel
from tests.s3_server import running
from tests.sample_tables import numbers

SIS = ("--method", "sis", "--lower", "-1", "--upper", "1")
KEY, SECRET = "AKIAOFTHISTEST", "the-secret-of-this-test"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_EC2_METADATA_DISABLED": "true",
}


def test_every_command_reads_from_a_store_and_writes_no_secret(
    tmp_path: Path, dpsel_process: Dpsel
) -> None:
    frame = numbers(40, 4)
    content = io.BytesIO()
    frame.write_parquet(content)
    frame.write_parquet(tmp_path / "t.parquet")
    environment = {**ENVIRONMENT, "DPSEL_LEDGER_FILE": str(tmp_path / "ledger.sqlite3")}
    left = []
    with running() as server:
        server.objects["bucket"] = {"folder/t.parquet": content.getvalue()}
        store = f"s3://bucket/folder/t.parquet?{server.query}"

        def run(*arguments: object) -> str:
            done = dpsel_process(*arguments, env=environment)
            assert done.code == 0, done.err
            left.append(done.out + done.err)
            return done.out

        common = ("--target", "y", "--k", "2", "--seed", "3")
        for command in ("select", "baseline"):
            more = ("--epsilon", "1") if command == "select" else SIS
            results = [
                run(command, place, *common, *more) for place in (store, tmp_path / "t.parquet")
            ]
            assert results[0] == results[1]
        run("preprocess", store, tmp_path / "out.parquet", "--target", "y")
        assert pl.read_parquet(tmp_path / "out.parquet").columns == frame.columns
        genes = pl.DataFrame({"gene": ["a", "y"], "s1": [1.0, 1.0], "s2": [2.0, 0.0]})
        genes.write_parquet(content := io.BytesIO())
        server.objects["bucket"]["genes.parquet"] = content.getvalue()
        place = f"s3://bucket/genes.parquet?{server.query}"
        turned = (tmp_path / "turned.parquet", "--target", "y", "--features-in", "rows")
        run("preprocess", place, *turned)
        assert pl.read_parquet(tmp_path / "turned.parquet").columns == ["a", "y"]
        found = json.loads(run("evaluate", store, *common, "--epsilon", "1", "--trials", "1"))
        assert found["about"]["tables"] == [store]
        run("budget", "init", "l", "--epsilon", "5")
        run("select", store, *common[:4], "--epsilon", "1", "--ledger", "l")
        assert "s3://bucket/folder/t.parquet" in run("budget", "export", "l")
    left += [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir() if path.is_file()]
    for text in left:
        assert KEY not in text
        assert SECRET not in text


def test_a_secret_in_a_name_is_refused_before_anything_is_charged(
    tmp_path: Path, dpsel_process: Dpsel
) -> None:
    environment = {**ENVIRONMENT, "DPSEL_LEDGER_FILE": str(tmp_path / "ledger.sqlite3")}
    dpsel_process("budget", "init", "l", "--epsilon", "5", env=environment)
    for place in (f"s3://{KEY}:{SECRET}@bucket/t", f"s3://bucket/t?secret_key={SECRET}"):
        for more in ((), ("--dry-run",)):
            arguments = ("--target", "y", "--k", "1", "--epsilon", "1", "--ledger", "l", *more)
            done = dpsel_process("select", place, *arguments, env=environment)
            assert done.code == (0 if more else 2)
            assert SECRET not in done.out + done.err
            assert KEY not in done.out + done.err
    assert json.loads(dpsel_process("budget", "export", "l", env=environment).out)["log"] == []
