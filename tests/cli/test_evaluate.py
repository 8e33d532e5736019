"""`dpsel evaluate`: known answers, outputs, and sweeps that are killed."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from dpsel.evaluation import STAMP
from tests.cli.conftest import ROOT, Dpsel

BOUNDED = ROOT / "sample_data" / "synthetic_bounded.parquet"
RAW = ROOT / "sample_data" / "synthetic_raw.csv"
PLANTED = "x01,x03,x07,x08,x13,x15,x30,x33"
QUICK = ("--target", "y", "--trials", 20, "--threads", 1)


def evaluated(dpsel: Dpsel, *options: object, table: Path = BOUNDED) -> dict[str, Any]:
    result = dpsel("evaluate", table, *QUICK, *options)
    assert result.code == 0, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


def test_results_are_tidy_stamped_and_whole(dpsel: Dpsel) -> None:
    found = evaluated(dpsel, "--k", "3,logd", "--epsilon", "0.5,5")
    assert found["stamp"] == STAMP == "not private, not for release"
    cells = [(r["method"], r["k_asked"], r["k"], r["epsilon"]) for r in found["results"]]
    assert cells == [
        (method, asked, k, epsilon)
        for method in ("stump", "dp-sis", "two-stage")
        for asked, k in (("3", 3), ("logd", 3))
        for epsilon in (0.5, 5.0)
    ]
    for row in found["results"]:
        assert 0 <= row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"] <= 1
        assert row["top"] <= row["great"] <= row["good"] or row["k"] < 10
        assert (row["n"], row["d"], row["trials"]) == (1000, 40, 20)


@pytest.fixture
def diabetes(tmp_path: Path) -> Path:
    """scikit-learn's table as it was measured: nearly every cell is above 1."""
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    frame = pl.DataFrame(found.data, schema=found.feature_names)
    frame.with_columns(y=pl.Series(found.target)).write_csv(tmp_path / "diabetes.csv")
    return tmp_path / "diabetes.csv"


def test_a_raw_table_is_not_shown_as_a_success(
    dpsel: Dpsel, diabetes: Path, tmp_path: Path
) -> None:
    files = ("--output", tmp_path / "r.json", "--report", tmp_path / "r.html")
    ask = ("--target", "y", "--trials", 3, "--threads", 1, "--k", 3, "--epsilon", 1)
    done = dpsel("evaluate", diabetes, *ask, "--penalty", 0.01, "--method", "dp-sis,sis", *files)
    assert done.code == 0
    for row in json.loads((tmp_path / "r.json").read_text())["results"]:
        # The truth is that of the rows as they are; what was clipped cannot be told apart.
        assert (row["true_size"], row["tied"]) == (3, 1.0)
        assert (row["top"], row["great"], row["good"]) == (0.0, 0.0, 0.0)
    page = " ".join((tmp_path / "r.html").read_text().replace("&#x27;", "'").split())
    told = done.err.splitlines()[:-1]
    assert len(told) == 3
    for line, words in zip(
        told,
        (
            "no bounds were given, and cells are outside [-1, 1]: true features and correlations "
            "are those of rows scaled as by --scale max-abs; dp-sis, sis used cells clipped to "
            "[-1, 1], and outside `dpsel evaluate` refuse such a table; give --bounds, or --scale "
            "for all methods",
            "by dp-sis the k-th and the next score are equal, k = 3",
            "by sis the k-th and the next score are equal, k = 3",
        ),
        strict=True,
    ):
        assert line.startswith("note: diabetes: ")
        assert words in line
        assert words in page
    assert page.index("<h2>Notes</h2>") < page.index("<h2>All results</h2>")


def test_without_bounds_the_truth_of_a_raw_table_is_that_of_its_scaled_rows(
    dpsel: Dpsel, diabetes: Path
) -> None:
    ask = ("--k", 3, "--epsilon", "0.5,20", "--method", "stump,kendall", "--penalty", 0.01)
    raw = evaluated(dpsel, *ask, table=diabetes)
    scaled = evaluated(dpsel, *ask, "--scale", "max-abs", table=diabetes)
    assert raw["results"] == scaled["results"]
    assert {row["true_size"] for row in raw["results"]} == {3}
    assert {row["accuracy"] > 0.5 for row in raw["results"] if row["epsilon"] == 20} == {True}
    # Bounds that were given are what the user wants the cells to be clipped to.
    clipped = (*ask, "--lower", -1, "--upper", 1)
    given = evaluated(dpsel, *clipped, "--truth", "lasso", table=diabetes)
    assert {row["true_size"] for row in given["results"]} == {0}
    # By default, something is true.
    given = evaluated(dpsel, *clipped, table=diabetes)
    assert given["about"]["truth"]["kind"] == "sis"
    assert {row["true_size"] for row in given["results"]} == {3}


def test_a_lasso_of_fewer_features_than_picks_is_not_shown_as_a_failure(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    frame = pl.DataFrame(found.data, schema=found.feature_names.tolist())
    frame.with_columns(y=pl.Series(found.target)).write_csv(tmp_path / "cancer.csv")
    few = ("--trials", 3, "--threads", 1, "--method", "stump", "--epsilon", 20)
    ask = ("evaluate", tmp_path / "cancer.csv", "--target", "y", *few)
    report = tmp_path / "r.html"
    done = dpsel(*ask, "--k", "1,3,5", "--output", "-", "--report", report)
    note = (
        "cancer: only 1 feature counts as true (the k largest coefficients of a LASSO, lambda = "
        "0.1), so for k = 3, 5 no more than that can be right; try --truth sis, or a smaller "
        "--penalty"
    )
    assert f"note: {note}\n" in done.err
    assert note in " ".join(report.read_text().split())
    # By other truths, or if the user named it, there is nothing to say.
    for truth in ("sis", "worst area"):
        assert "counts as true" not in dpsel(*ask, "--k", 3, "--truth", truth).err


def test_scaled_rows_give_nothing_to_complain_about(dpsel: Dpsel, diabetes: Path) -> None:
    ask = ("--target", "y", "--trials", 3, "--threads", 1, "--k", 3, "--epsilon", 1)
    scaled = ("--scale", "max-abs", "--penalty", 0.01, "--output", "-")
    done = dpsel("evaluate", diabetes, *ask, *scaled, "--method", "dp-sis,sis")
    assert done.err == "note: this is not private: nothing of it is for release\n"
    assert {row["tied"] for row in json.loads(done.out)["results"]} == {0.0}


def test_much_epsilon_finds_what_is_planted_and_little_does_not(dpsel: Dpsel) -> None:
    found = evaluated(dpsel, "--k", 8, "--epsilon", "0.001,200", "--truth", PLANTED)
    by_cell = {(r["method"], r["epsilon"]): r for r in found["results"]}
    sure = by_cell["dp-sis", 200.0]
    assert (sure["accuracy"], sure["top"], sure["jaccard"]) == (1.0, 1.0, 1.0)
    assert sure["relative_correlation"] == pytest.approx(1.0)
    assert sure["bound"] > 0.99
    # At epsilon = 0 the picks would be uniform: 8 / 40 on average, 20 trials.
    assert by_cell["dp-sis", 0.001]["accuracy"] < 0.4
    assert by_cell["dp-sis", 0.001]["bound"] == 0.0


def test_unseen_rows_are_one_more_measure_and_change_no_other(dpsel: Dpsel, tmp_path: Path) -> None:
    ask = ("--k", "2", "--epsilon", "0.1,50", "--method", "stump,dp-sis,sis", "--truth", "sis")
    plain = evaluated(dpsel, *ask)
    report = tmp_path / "r.html"
    found = evaluated(dpsel, *ask, "--unseen", 3, "--report", report, "--output", "-")
    assert (plain["about"].pop("unseen"), found["about"].pop("unseen")) == (0, 3)
    assert found["about"] == plain["about"]
    rows = found["results"]
    others = [{k: v for k, v in r.items() if not k.startswith("unseen")} for r in rows]
    assert others == plain["results"]
    assert found["frequencies"] == plain["frequencies"]
    assert {row["unseen_measure"] for row in rows} == {"R^2"}
    for row in rows:
        if row["epsilon"] == 50:
            assert row["unseen"] == pytest.approx(row["unseen_sis"], abs=0.03)
            assert row["unseen_none"] < 0.0 < row["unseen"] < row["unseen_all"]
    page = " ".join(report.read_text().split())
    caption = "A ridge model with the picks on rows that neither it nor the selection saw: R^2"
    assert page.index(caption) < page.index("Accuracy against epsilon")
    for words in ("on unseen rows [95 %]", "SIS unseen", "all unseen", "none unseen"):
        assert f">{words}</th>" in page
        assert f"<dt>{words}</dt>" in page
    assert f"{rows[0]['unseen']:.3f} R^2 <span" in page
    assert ("folds of unseen rows", "3") in re.findall(r'row">([^<]*)</th><td>([^<]*)</td>', page)


def test_coded_labels_are_the_classes_that_stump_goes_by(dpsel: Dpsel, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 6))
    # The class in the middle is apart: as numbers 0, 1 and 2 hardly anything tells the labels.
    X[:, 2] += 8.0 * (y == 1)
    names = np.array(["c", "a", "b"])
    frame = pl.DataFrame({f"x{i}": column for i, column in enumerate(X.T)})
    frame.with_columns(y=pl.Series(names[y])).write_parquet(tmp_path / "t.parquet")
    ask = ("--k", 2, "--epsilon", 60, "--method", "stump", "--truth", "x2", "--encode-target")
    found = evaluated(dpsel, *ask, "--unseen", 2, table=tmp_path / "t.parquet")["results"][0]
    assert found["unseen_measure"] == "accuracy"
    assert found["accuracy"] == 0.5
    assert found["unseen"] > 0.6 > found["unseen_none"]


def test_frequencies_add_up_to_k(dpsel: Dpsel) -> None:
    found = evaluated(dpsel, "--k", 4, "--epsilon", "1,9", "--truth", "sis")
    for epsilon in (1.0, 9.0):
        for method in ("dp-sis", "two-stage"):
            shares = [
                f["share"]
                for f in found["frequencies"]
                if (f["epsilon"], f["method"]) == (epsilon, method)
            ]
            assert sum(shares) == pytest.approx(4.0)


def test_every_kind_of_method_runs_on_one_table(dpsel: Dpsel) -> None:
    methods = [
        "dot/margin-lipschitz",
        "covariance/peeling",
        "kendall/permute-and-flip",
        "dot/oneshot-laplace@robust",
        "dot/joint@max-abs",
        "two-stage/peeling",
        "dpkendall",
        "sis",
        "lasso",
    ]
    options = [
        "--method",
        ",".join(methods[:4]),
        *(p for m in methods[4:] for p in ("--method", m)),
    ]
    found = evaluated(dpsel, "--k", 8, "--epsilon", 50, *options, "--truth", PLANTED)
    rows = {r["method"]: r for r in found["results"]}
    assert list(rows) == methods
    assert [name for name, row in rows.items() if not row["private"]] == ["sis", "lasso"]
    assert rows["sis"]["accuracy"] == rows["sis"]["accuracy_low"] == 1.0
    assert rows["sis"]["trials"] == 1
    for name in methods[:5]:
        assert rows[name]["accuracy"] > 0.9, name
    assert rows["covariance/peeling"]["bound"] is None
    assert rows["dot/margin-lipschitz"]["bound"] is not None


def test_raw_data_can_be_scaled_on_the_way(dpsel: Dpsel, tmp_path: Path) -> None:
    dpsel("preprocess", RAW, tmp_path / "p.parquet", "--target", "y", "--scale", "robust")
    ready = evaluated(dpsel, "--k", 5, "--epsilon", "1", table=tmp_path / "p.parquet")
    raw = evaluated(dpsel, "--k", 5, "--epsilon", "1", "--scale", "robust", table=RAW)
    drop = {"dataset"}
    strip = [
        [{k: v for k, v in r.items() if k not in drop} for r in f["results"]] for f in (ready, raw)
    ]
    # Seeds go by the name of the table, so only what is not drawn is the same.
    for one, other in zip(*strip, strict=True):
        assert one["true_size"] == other["true_size"]
        assert one["bound"] == pytest.approx(other["bound"])


def test_labels_are_coded(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = pl.read_parquet(BOUNDED)
    labels = pl.Series(["tumour" if v > 0 else "healthy" for v in frame["y"]])
    frame.with_columns(y=labels).write_parquet(tmp_path / "l.parquet")
    options = ("--k", 5, "--epsilon", 100, "--truth", "sis", "--method", "dp-sis")
    coded = evaluated(
        dpsel, *options, "--encode-target", "--scale", "max-abs", table=tmp_path / "l.parquet"
    )
    one = evaluated(dpsel, *options, "--positive", "tumour", table=tmp_path / "l.parquet")
    assert coded["results"][0]["accuracy"] > 0.9
    assert one["results"][0]["accuracy"] > 0.9


def test_several_tables_are_several_data_sets(dpsel: Dpsel, tmp_path: Path) -> None:
    (tmp_path / "synthetic_bounded.parquet").write_bytes(BOUNDED.read_bytes())
    result = dpsel(
        "evaluate",
        BOUNDED,
        tmp_path / "synthetic_bounded.parquet",
        *QUICK,
        "--k",
        2,
        "--epsilon",
        1,
        "--method",
        "dp-sis",
    )
    names = [r["dataset"] for r in json.loads(result.out)["results"]]
    assert names == ["synthetic_bounded", "synthetic_bounded-2"]


def test_the_number_of_workers_changes_nothing(dpsel_process: Dpsel, tmp_path: Path) -> None:
    def swept(workers: int, seed: int) -> bytes:
        place = tmp_path / f"{workers}-{seed}.csv"
        asked = ("--target", "y", "--k", "3,5", "--epsilon", "0.5,2,8", "--trials", 10)
        how = ("--threads", workers, "--seed", seed, "--output", place)
        done = dpsel_process("evaluate", BOUNDED, *asked, *how)
        assert done.code == 0, done.err
        return place.read_bytes()

    alone = swept(1, seed=7)
    assert swept(3, seed=7) == alone
    assert swept(2, seed=8) != alone


def test_csv_parquet_and_json_say_the_same(dpsel: Dpsel, tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "json"):
        result = dpsel(
            "evaluate",
            BOUNDED,
            *QUICK,
            "--k",
            3,
            "--epsilon",
            "1,4",
            "--output",
            tmp_path / f"r.{ending}",
        )
        assert (result.code, result.out) == (0, "")
    csv, parquet = pl.read_csv(tmp_path / "r.csv"), pl.read_parquet(tmp_path / "r.parquet")
    rows = json.loads((tmp_path / "r.json").read_text())["results"]
    assert csv.drop("k_asked").rows() == parquet.drop("k_asked").rows()
    assert parquet.drop("stamp").to_dicts() == rows
    assert set(csv["stamp"]) == {STAMP}
    assert STAMP in pq.read_schema(tmp_path / "r.parquet").metadata[b"dpsel"].decode()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.csv", "r.json", "r.parquet"]


def test_the_holder_is_told_that_it_is_not_private(dpsel: Dpsel) -> None:
    result = dpsel("evaluate", BOUNDED, *QUICK, "--k", 2, "--epsilon", 1, "--method", "sis")
    assert result.err == "note: this is not private: nothing of it is for release\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--k", "0"), "k must be 1 or more, got 0"),
        (("--k", "41"), "k must be between 1 and 40"),
        (("--k", "5", "--epsilon", "1:2"), "a range of epsilons is FROM:TO:logN"),
        (("--k", "5", "--epsilon", "-1"), "epsilon must be a positive"),
        (("--k", "5", "--method", "dp-sis/peeling"), "dp-sis"),
        (("--k", "5", "--method", "dot/typo"), "mechanism must be one of"),
        (("--k", "5", "--method", "typo/joint"), "score must be one of"),
        (("--k", "5", "--method", "sis/joint"), "sis has no mechanism"),
        (("--k", "5", "--method", "dp-sis@typo"), "a scale is one of"),
        (("--k", "5", "--trials", "0"), "trials must be between"),
        (("--k", "5", "--penalty", "nan"), "penalty must be a positive"),
        (("--k", "5", "--blocks", "0"), "blocks must be 1 or more"),
        (("--k", "5", "--delta", "2"), "delta must be"),
        (("--k", "5", "--unseen", "1"), "unseen must be between 2 and 100, got 1"),
        (("--k", "5", "--unseen", "101"), "unseen must be between 2 and 100, got 101"),
        (("--k", "5", "--seed", "-1"), "seed must be 0 or more"),
        (("--k", "5", "--truth", "x99"), "the truth names 'x99'"),
        (("--k", "5", "--resume"), "--resume needs --output FILE"),
        (("--k", "5", "--output", "r.txt"), "end it with .parquet, .csv or .json"),
        (("--k", "5", "--scale", "robust", "--lower", "0", "--upper", "1"), "not both"),
    ],
)
def test_mistakes_are_plain_lines(dpsel: Dpsel, options: tuple[str, ...], message: str) -> None:
    result = dpsel("evaluate", BOUNDED, "--target", "y", *options)
    assert result.code in (2, 3)
    assert result.err.startswith("error: ")
    assert message in result.err
    assert result.out == ""


def test_a_taken_output_is_refused_before_the_work(dpsel: Dpsel, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("mine")
    # A k that does not fit is only found once the table is open.
    result = dpsel("evaluate", BOUNDED, *QUICK, "--k", 99, "--output", tmp_path / "r.csv")
    assert result.code == 5
    assert "exists already" in result.err


def test_a_missing_table_leaves_nothing_behind(dpsel: Dpsel, tmp_path: Path) -> None:
    result = dpsel(
        "evaluate", tmp_path / "n.parquet", *QUICK, "--k", 2, "--output", tmp_path / "r.csv"
    )
    assert result.code == 3
    assert list(tmp_path.iterdir()) == []


SWEEP = (
    "--target", "y", "--k", "3,5", "--epsilon", "0.2:20:log6", "--trials", "20", "--method",
    "dp-sis,two-stage,dpkendall,kendall/peeling",
)  # fmt: skip


def started(
    output: Path, *options: str, stderr: Any = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dpsel", "evaluate", str(BOUNDED), *SWEEP]
    command += ["--output", str(output), "--threads", "2", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr)


def finished_keys(journal: Path) -> list[str]:
    if not journal.exists():
        return []
    lines = journal.read_bytes().split(b"\n")[1:-1]
    return [json.loads(line)[0] for line in lines]


def test_a_sweep_killed_at_random_moments_ends_as_if_undisturbed(tmp_path: Path) -> None:
    whole = started(tmp_path / "whole.csv")
    assert whole.wait(120) == 0
    output, journal = tmp_path / "r.csv", tmp_path / "r.csv.unfinished"
    moments = random.Random(5)
    before = b""
    process = started(output)
    for _ in range(3):
        # A sweep has 67 results: on a busy machine too, it is far from its end at the last kill.
        goal = len(finished_keys(journal)) + moments.randrange(1, 13)
        while len(finished_keys(journal)) < goal:
            assert process.poll() is None
            time.sleep(0.02)
        kill_with_workers(process)
        # What was finished before a kill stays as it is, and is not done again.
        lines = journal.read_bytes()
        assert lines.startswith(before)
        before = lines[: lines.rindex(b"\n") + 1]
        keys = finished_keys(journal)
        assert len(keys) == len(set(keys))
        assert not output.exists()
        process = started(output, "--resume")
    assert process.wait(120) == 0
    assert output.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.csv", "whole.csv"]


def kill_with_workers(process: subprocess.Popen[bytes]) -> None:
    """Kill a sweep; fail if a worker of it lives on."""
    children = _descendants(process.pid)
    assert children, "the sweep had no workers"
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while any(_alive(pid) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in children if _alive(pid)]


def test_ctrl_c_ends_a_sweep_with_a_plain_line(tmp_path: Path) -> None:
    with (tmp_path / "err").open("wb") as err:
        process = started(tmp_path / "r.csv", stderr=err)
    while process.poll() is None and len(finished_keys(tmp_path / "r.csv.unfinished")) < 5:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    said = (tmp_path / "err").read_text()
    assert said.splitlines()[-1].startswith("error: interrupted")
    assert "Traceback" not in said
    assert (tmp_path / "r.csv.unfinished").exists()


def _descendants(pid: int) -> list[int]:
    if not Path("/proc/self/task").exists():
        pytest.skip("needs /proc")
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(path.parent.name)
            found += [child, *_descendants(child)]
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_table_with_gaps_can_be_evaluated(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = pl.read_parquet(BOUNDED)
    holes = frame.with_columns(
        x01=pl.Series([None if i % 3 else v for i, v in enumerate(frame["x01"])]),
        x02=pl.Series(np.full(1000, np.inf)),
        x04=pl.lit(0.25),
    )
    holes.write_parquet(tmp_path / "h.parquet")
    found = evaluated(
        dpsel,
        "--k",
        5,
        "--epsilon",
        "2",
        "--method",
        "dp-sis,two-stage,kendall/joint,dp-sis@robust",
        table=tmp_path / "h.parquet",
    )
    assert len(found["results"]) == 4


def test_a_ledger_in_the_environment_is_left_alone(
    dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPSEL_LEDGER", "patients")
    monkeypatch.setenv("DPSEL_LEDGER_FILE", str(tmp_path / "none" / "ledger.sqlite3"))
    result = dpsel("evaluate", BOUNDED, *QUICK, "--k", 2, "--epsilon", 1, "--method", "sis")
    assert result.code == 0
    assert "note: DPSEL_LEDGER is not charged: an evaluation releases nothing\n" in result.err
    assert list(tmp_path.iterdir()) == []


VISITS = ROOT / "sample_data" / "visits.csv"
README = ("--target", "came_back", "--positive", "yes", "--k", 3, "--epsilon", 1)
WORDS = ("admitted", "ward", "sex", "insurance", "diagnosis", "discharged_to")


def test_the_raw_table_of_the_readme_is_evaluated_with_all_defaults(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    report = tmp_path / "r.html"
    done = dpsel("evaluate", VISITS, *README, "--output", "-", "--report", report)
    assert done.code == 0
    found = json.loads(done.out)
    assert found["about"]["truth"]["kind"] == "stump"
    by_method = {row["method"]: row for row in found["results"]}
    assert list(by_method) == ["stump", "dp-sis", "two-stage"]
    assert by_method["stump"]["accuracy"] > 0.9
    # Words have no correlation, so nothing is compared with the best one.
    assert {row["relative_correlation"] for row in by_method.values()} == {None}
    true = {row["feature"] for row in found["frequencies"] if row["is_true"]}
    # The three columns that the sample was made from.
    assert true == {"ward", "glucose", "earlier_visits"}
    told = done.err.splitlines()
    assert told[:2] == [
        "note: visits: 'admitted', 'ward', 'sex', 'insurance', 'diagnosis', 'discharged_to' hold "
        "words or dates; dp-sis, two-stage can use numbers only, and took these as missing",
        "note: visits: so the true features are the k best by the exact score stump, not by a "
        "LASSO; this favors the method stump: choose others with --truth, or compare models with "
        "--unseen 5",
    ]
    assert "scaled by their largest values" not in done.err
    page = report.read_text()
    assert "the k best by the exact score stump" in page
    assert "hold words or dates; dp-sis" in page
    for cell in ("geriatrics", "I47", "2023-06-01"):
        assert cell not in done.err + done.out + page


def test_methods_of_numbers_find_the_same_with_and_without_columns_of_words(dpsel: Dpsel) -> None:
    ask = (*README, "--trials", 10, "--threads", 1, "--truth", "glucose,earlier_visits")
    by = ("--method", "sis@max-abs,lasso@robust", "--output", "-", "--penalty", 0.01)
    with_words = json.loads(dpsel("evaluate", VISITS, *ask, *by).out)
    without = json.loads(dpsel("evaluate", VISITS, *ask, *by, "--exclude", ",".join(WORDS)).out)

    def picked(found: dict[str, Any]) -> list[tuple[str, str]]:
        return [(row["method"], row["feature"]) for row in found["frequencies"]]

    assert picked(with_words) == picked(without)
    assert len(picked(without)) == 6


def test_a_truth_by_stump_can_be_asked_for_and_is_the_default_for_words_only(
    dpsel: Dpsel,
) -> None:
    ask = ("--k", 3, "--epsilon", 50, "--method", "stump")
    assert evaluated(dpsel, *ask)["about"]["truth"]["kind"] == "lasso"
    assert evaluated(dpsel, *ask) == evaluated(dpsel, *ask, "--truth", "lasso")
    found = evaluated(dpsel, *ask, "--truth", "stump")
    assert (found["about"]["truth"]["kind"], found["results"][0]["accuracy"]) == ("stump", 1.0)
    by = ("--method", "sis@max-abs", "--truth", "sis", "--scale", "max-abs")
    told = dpsel("evaluate", VISITS, *README, *by, "--output", "-")
    assert json.loads(told.out)["results"][0]["accuracy"] == 1.0
    assert "score stump" not in told.err


def test_each_of_several_tables_has_the_truth_that_fits_it(dpsel: Dpsel, tmp_path: Path) -> None:
    pl.read_csv(VISITS).select("age", "bmi", "nights", "came_back").write_csv(tmp_path / "n.csv")
    ask = (
        *README[:-4],
        "--k",
        1,
        "--epsilon",
        5,
        "--trials",
        3,
        "--threads",
        1,
        "--penalty",
        0.001,
    )
    report = tmp_path / "r.html"
    files = ("--threads", 1, "--output", "-", "--report", report)
    done = dpsel("evaluate", VISITS, tmp_path / "n.csv", *ask, "--method", "stump", *files)
    truth = json.loads(done.out)["about"]["truth"]
    assert truth["kind"] == "by table"
    assert truth["tables"] == {"visits": "stump", "n": "lasso"}
    assert "where columns hold words or dates, the k best by the exact score" in report.read_text()


@pytest.mark.parametrize("scale", ["none", "max-abs", "robust"])
def test_a_model_uses_the_words_that_were_picked_on_unseen_rows(dpsel: Dpsel, scale: str) -> None:
    ask = (*README, "--trials", 3, "--threads", 1, "--unseen", 3, "--scale", scale)
    done = dpsel("evaluate", VISITS, *ask, "--method", "stump,kendall,dp-sis", "--output", "-")
    assert done.code == 0, done.err
    by_method = {row["method"]: row for row in json.loads(done.out)["results"]}
    stump = by_method["stump"]
    # Only stump can pick the word that matters; SIS knows numbers only.
    assert stump["unseen"] > by_method["kendall"]["unseen"] + 0.02
    assert stump["unseen"] > stump["unseen_sis"] + 0.02


def test_a_target_of_words_is_still_refused_with_the_options_that_evaluate_has(
    dpsel: Dpsel,
) -> None:
    done = dpsel("evaluate", VISITS, "--target", "came_back", *README[4:])
    assert done.code == 3
    assert done.err.startswith("error: visits.csv: the target 'came_back' holds text; name one of")
    assert "`dpsel evaluate`: --encode-target" in done.err


def test_all_formats_of_a_raw_table_give_the_same_results(dpsel: Dpsel, tmp_path: Path) -> None:
    frame = pl.read_csv(VISITS, try_parse_dates=True)
    assert frame.schema["admitted"] == pl.Date
    frame.write_parquet(tmp_path / "visits.parquet")
    frame.with_columns(pl.col("ward", "sex").cast(pl.Categorical)).write_ipc(
        tmp_path / "visits.arrow"
    )
    ask = (*README, "--trials", 5, "--threads", 1, "--method", "stump,kendall,dp-sis@robust")
    found = []
    for table in (VISITS, tmp_path / "visits.parquet", tmp_path / "visits.arrow"):
        done = dpsel("evaluate", table, *ask, "--output", "-", "--unseen", 2)
        assert done.code == 0, done.err
        content = json.loads(done.out)
        found.append((content["results"], content["frequencies"], done.err))
    assert found[0] == found[1] == found[2]
