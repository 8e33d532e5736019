"""The house: a ladder of folders, and a wall between what sees rows and what releases."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "dpsel"
FILES = sorted(PACKAGE.rglob("*.py"))

# A folder imports itself and those on its left.
LADDER = (
    *("errors", "options", "reporter", "core", "system", "tables", "budget", "cluster"),
    *("selection", "preprocessing", "evaluation", "audit", "paper", "cli"),
)
ARRAYS = {"numpy", "scipy", "polars", "pyarrow"}
OUTSIDE = {"core": {"numpy", "scipy"}, "budget": set(), "cli": {"typer", "rich"}}
EXTRAS = {
    "cluster.dask": {"dask", "distributed"},
    "cluster.slurm": {"dask_jobqueue"},
    "evaluation.figures.style": {"matplotlib"},
    "selection.lasso": {"sklearn", "threadpoolctl"},
    "system.workers": {"threadpoolctl"},
}
# Files of the core touch no machine: no files, threads, environment or clock.
MACHINE = {"os", "io", "pathlib", "threading", "multiprocessing", "subprocess", "time", "datetime"}

RELEASES = {"make_randomness", "find_mechanism", "selection_of"}
MAY_RELEASE = {"core.release", "core.randomness", "core.mechanisms.registry"}
CHECKS_NAMES = {"selection.request", "audit.request", "evaluation.methods", "evaluation.request"}
PRIVATE = {"Batch", "Partial", "Scores", "Matrix", "Spill"}
SEES_ROWS = ("core.", "tables.", "cluster.", "preprocessing.", "evaluation.", "audit.", "paper.")
BOTH_SIDES = {"selection.run", "selection.baseline", "selection.lasso"}
PUBLIC_SIDE = (
    "budget.",
    "cli.",
    "selection.record",
    "selection.options",
    "preprocessing.options",
    "audit.options",
)


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield every module that a source imports, with the name it takes from it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)


def violations(module: str, source: str) -> list[str]:
    """Return what a module (without `dpsel.`) imports and should not."""
    folder = module.split(".")[0]
    if folder not in LADDER:
        return []
    return [
        f"{imported}.{name}"
        for imported, name in imports(source)
        if not _allowed(module, folder, imported, name)
    ]


def _allowed(module: str, folder: str, imported: str, name: str) -> bool:
    top, _, inner = imported.partition(".")
    if top != "dpsel":
        allowed = OUTSIDE.get(folder, ARRAYS) | EXTRAS.get(module, set())
        if module.startswith(PUBLIC_SIDE):
            allowed = allowed - ARRAYS
        if folder == "core" and top in MACHINE and module != "core.randomness":
            return False
        return top in sys.stdlib_module_names or top in allowed
    target = inner.split(".")[0] or name
    if target in LADDER and LADDER.index(target) > LADDER.index(folder):
        return False
    if name in RELEASES and module not in MAY_RELEASE:
        return name == "find_mechanism" and module in CHECKS_NAMES
    if name in PRIVATE and inner.startswith(("core", "tables", "cluster")):
        return module.startswith(SEES_ROWS) or module in BOTH_SIDES
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_stay_on_their_side_of_the_wall(path: Path) -> None:
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
    assert violations(module, path.read_text()) == []


@pytest.mark.parametrize(
    ("module", "mutant"),
    [
        ("core.bounds", "from dpsel.tables.opening import open_table"),
        ("tables.parquet", "from dpsel.selection.run import select"),
        ("core.persons", "import os"),
        ("core.release", "import polars"),
        ("budget.ledger", "import numpy as np"),
        ("cli.select", "import polars"),
        ("cli.app", "import click"),
        ("selection.record", "import pyarrow"),
        ("preprocessing.run", "from dpsel.core.randomness import make_randomness"),
        ("evaluation.sweep", "from dpsel.core.release import selection_of"),
        ("cluster.tasks", "from dpsel.core.mechanisms.registry import find_mechanism"),
        ("budget.account", "from dpsel.core.batch import Batch"),
        ("selection.api", "from dpsel.core.scores.base import Scores"),
    ],
)
def test_a_hole_in_the_wall_is_noticed(module: str, mutant: str) -> None:
    assert violations(module, mutant)


def runs_text(source: str) -> bool:
    """Return whether a source names what runs a text as code."""
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    return bool(names & {"eval", "exec", "compile"})


def test_no_text_is_run_as_code() -> None:
    assert [str(path) for path in FILES if runs_text(path.read_text())] == []
    assert runs_text("eval('1')")
    assert not runs_text("re.compile('1')")
