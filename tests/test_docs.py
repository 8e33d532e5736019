"""What the documents and docstrings promise is so."""

import ast
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sorted((ROOT / "dpsel").rglob("*.py"))
GUARANTEE = "Guarantee:"


def console_examples(document: Path) -> list[tuple[str, str]]:
    """Return every command in a document with the output that it shows.

    A command goes on in the next line after a backslash, as in a shell.
    """
    found = []
    for block in re.findall(r"```console\n(.*?)```", document.read_text(), re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, output = re.split(r"(?<!\\)\n", example, maxsplit=1)
            found.append((command, output))
    return found


@pytest.fixture
def with_dpsel(tmp_path: Path) -> dict[str, str]:
    """An environment in which `dpsel` is this checkout's."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "dpsel"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dpsel "$@"\n')
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    own = {"DPSEL_LEDGER_FILE": str(tmp_path / "ledger.sqlite3"), "TMPDIR": str(tmp_path)}
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **own}


# The samples' answers (dp-sis at epsilon 2, visits at 1) are others with a chance below 1e-8.
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_print_what_the_documents_show(
    document: Path, with_dpsel: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    for command, output in console_examples(document):
        done = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=with_dpsel,
            cwd=tmp_path,
        )
        assert done.stdout == output, command


def test_the_documents_show_commands() -> None:
    assert sum(len(console_examples(document)) for document in DOCUMENTS) >= 8


def test_the_sample_s_answer_is_as_certain_as_the_documents_assume() -> None:
    from dpsel.auditing.laws import right_size
    from dpsel.core.mechanisms.ranking import Ranking
    from dpsel.core.mechanisms.subset_classes import LipschitzLosses
    from tests.sample_tables import scored

    for name, bounds in (("raw", "bounds.toml"), ("bounded", None)):
        table = ROOT / "sample_data" / f"synthetic_{name}.csv"
        chosen = None if bounds is None else ROOT / "sample_data" / bounds
        scores = scored(table, bounds=chosen)
        losses = LipschitzLosses(Ranking(scores.values), 8, 0.5, 2.0 / scores.sensitivity)
        import numpy as np

        h, t = np.meshgrid(np.arange(8), np.arange(9, 41), indexing="ij")
        sizes = np.vectorize(lambda h, t: right_size(h, t, 8))(h, t)
        # The top set has the largest utility: another subset wins with a chance of at most p.
        assert float((sizes * np.exp(-losses(h, t))).sum()) < 1e-8


def test_the_visits_answer_is_as_certain_as_the_documents_assume() -> None:
    import math

    import numpy as np

    from dpsel.core.scores.stump import UNIT, WeightRule
    from dpsel.selection.stump import StumpJob
    from tests.sample_tables import Silent, free_account, request_for

    asked = {"target": "came_back", "positive": "yes", "k": 3, "score": "stump"}
    request = request_for(**asked, mechanism="permute-and-flip")
    table = ROOT / "sample_data" / "visits.csv"
    job = StumpJob(table, request, Silent())
    # The rarer class weighs 1 and the other -r, r = (yes + 10 + noise) / (no + 10 + noise) from
    # counts with discrete Laplace noise at epsilon 0.1, clear of 250 with a chance of 2 exp(-25).
    with job.opened() as opened, job.checked(opened, free_account(table, request)):
        columns = job.read(opened)
        y = columns.target()
        yes, no = int((y > 0).sum()), int((y <= 0).sum())
        least, most = (yes + 10 - 250) / (no + 10 + 250), (yes + 10 + 250) / (no + 10 - 250)
        assert 0 < least < most < 1
        ratios, step = np.linspace(least, most, 41, retstep=True)
        weights = [[0, -math.floor(UNIT * ratio), UNIT] for ratio in ratios]
        scores = columns.scores(WeightRule(np.array(weights), 2)) / UNIT
    planted = [1, 6, 11]
    gaps = scores[:, planted].min(axis=1) - np.delete(scores, planted, axis=1).max(axis=1)
    # A change of r moves a score by at most `no` times as much, and no ratio is further than half
    # a step from one of these; so every gap is at least this much less.
    gaps -= 2 * no * (float(step) / 2) + 1
    low, high = (yes + 10 - 150) / (no + 10 + 150), (yes + 10 + 150) / (no + 10 - 150)
    near = (ratios > low - step) & (ratios < high + step)
    # Permute-and-flip takes a feature with a chance of at most exp(-epsilon gap / 2) a round: three
    # rounds at 0.9 / 3, eleven other features. Noise is clear of 150 with a chance of 2 exp(-15).
    usual, rare = (33 * math.exp(-0.3 * gaps[which].min() / 2) for which in (near, ~near))
    assert usual + 4 * math.exp(-15) * rare + 4 * math.exp(-25) < 1e-8


def test_the_cost_of_rounding_is_what_the_proof_says() -> None:
    from dpsel.core.mechanisms.lipschitz import float_slack

    text = (ROOT / "docs" / "explanation" / "privacy.md").read_text()
    assert f"for d = 22,283 and k = 10, 4 eta is {float_slack(22_283, 10):.1e}" in text.replace(
        "For d", "for d"
    )
    assert f"for d = 10^6 and k = 1000 it is {float_slack(10**6, 1000):.1e}" in text


def test_python_examples_print_what_the_documents_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for document in DOCUMENTS:
        outcome = doctest.testfile(str(document), module_relative=False, verbose=False)
        assert outcome.failed == 0
    assert README.count(">>> ") >= 3


def test_every_command_is_in_the_readme() -> None:
    from dpsel.cli.app import COMMANDS

    for name in COMMANDS:
        assert f"| [`dpsel {name}`](docs/" in README


def test_ci_finds_exactly_two_commands_in_the_readme() -> None:
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert len(commands) == 2
    assert all("\n" not in command for command in commands)
    assert "sample_data/" in commands[0]
    assert "[test]" in commands[1]


def test_links_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name}: {target}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_whatever_takes_an_rng_states_its_guarantee(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            names = [argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]]
            if "rng" in names and path.name != "randomness.py" and node.name != "exact_part":
                assert GUARANTEE in (ast.get_docstring(node) or ""), node.name


def test_files_named_as_tests_exist() -> None:
    named = set()
    for path in [*SOURCES, *DOCUMENTS]:
        named |= set(re.findall(r"tests/[\w/]+\.py", path.read_text()))
    assert len(named) > 5
    for name in named:
        assert (ROOT / name).exists(), name


PATHS = re.compile(r"(?<![\w/.~-])((?:dpsel|tests|docs|benchmarks|sample_data|\.ci)/[\w./-]*\w/?)")
# A user's own ledger file, in the user's data folder.
ELSEWHERE = {"dpsel/ledger.sqlite3"}


def test_paths_named_in_documents_exist() -> None:
    for document in DOCUMENTS:
        for name in set(PATHS.findall(document.read_text())) - ELSEWHERE:
            assert (ROOT / name).exists(), f"{document.name}: {name}"
    assert len(PATHS.findall(CONTRIBUTING)) > 60


def defined(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Return the names that a module or class defines, each with what is defined inside of it."""
    found: dict[str, list[ast.stmt]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node.body
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = []
    return found


def test_functions_named_in_contributing_exist() -> None:
    named = set(re.findall(r"(dpsel/[\w/]+\.py)::([\w.]+)", CONTRIBUTING))
    assert len(named) > 30
    for path, names in named:
        body = ast.parse((ROOT / path).read_text()).body
        for name in names.split("."):
            assert name in defined(body), f"{path}::{names}"
            body = defined(body)[name]


def test_every_folder_is_in_contributing() -> None:
    for place in (ROOT / "dpsel").iterdir():
        if place.is_dir() and (place / "__init__.py").exists():
            assert f"| `dpsel/{place.name}/` |" in CONTRIBUTING


def test_the_version_is_in_the_changelog_or_unreleased() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()


def pairs_table() -> str:
    """Return the table of scores and mechanisms, from the registries."""
    from dpsel.core.mechanisms.registry import MECHANISMS
    from dpsel.core.scores.registry import SCORES

    lines = [f"| score | needs bounds | {' | '.join(MECHANISMS)} |"]
    lines.append("| --- " * (2 + len(MECHANISMS)) + "|")
    for name, kind in SCORES.items():
        cells = ["yes" if kind.needs_bounds else "no", *["yes"] * len(MECHANISMS)]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_pairs_is_that_of_the_registries() -> None:
    page = (ROOT / "docs" / "reference" / "methods.md").read_text()
    start = page.index("-->\n", page.index("<!-- pairs:")) + len("-->\n")
    assert page[start : page.index("<!-- end of pairs -->")] == pairs_table()


def test_every_score_and_mechanism_is_explained() -> None:
    from dpsel.core.mechanisms.registry import MECHANISMS
    from dpsel.core.scores.registry import SCORES

    text = (ROOT / "docs" / "reference" / "methods.md").read_text()
    for name in (*SCORES, *MECHANISMS):
        assert f"| `{name}`" in text
