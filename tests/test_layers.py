"""The house: a ladder of folders, and a wall between what sees rows and what releases."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "dpsel"
FILES = sorted(PACKAGE.rglob("*.py"))

# A folder imports itself and those on its left.
LADDER = (
    *("records", "errors", "options", "reporter", "python", "display", "core", "system", "tables"),
    *("dictionary", "budget", "cards", "cluster", "selection", "sklearn", "preprocessing"),
    *("evaluation", "planning", "auditing", "paper", "cli"),
)
ARRAYS = {"numpy", "scipy", "polars", "pyarrow"}
OUTSIDE: dict[str, set[str]] = {"budget": set(), "cards": set(), "cli": {"typer", "rich"}}
EXTRAS = {
    "cluster.dask": {"dask", "distributed"},
    "cluster.slurm": {"dask_jobqueue"},
    "evaluation.figures.style": {"matplotlib"},
    "selection.lasso": {"sklearn", "threadpoolctl"},
    "sklearn.selector": {"sklearn"},
    "system.threads": {"threadpoolctl"},
}
# The core computes: no files, threads, environment, clock or network, by whatever name.
CORE_IMPORTS = {
    *("bisect", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools"),
    *("hashlib", "heapq", "itertools", "math", "struct", "typing", "numpy", "scipy"),
}
# The record and what it promises: ledgers and cards import them.
CORE_WITHOUT_ARRAYS = {"core.guarantee", "core.selection"}
CORE_EXTRAS = {"core.randomness": {"os"}, "core.scores.registry": {"importlib"}}
CORE_NAMES = {"core.randomness": "default_rng", "core.scores.registry": "load"}
CORE_NEVER_NAMES = {
    *("open", "memmap", "fromfile", "tofile", "loadtxt", "savetxt", "genfromtxt", "save", "load"),
    *("__import__", "eval", "exec", "default_rng", "environ", "getenv"),
}

# Only core/release.py draws the system's randomness, calls a mechanism and makes a Selection.
RELEASES = {"make_randomness", "SystemRandomness", "find_mechanism"}
MECHANISMS = {
    *("canonical_lipschitz", "margin_lipschitz", "peeling", "oneshot_laplace"),
    *("permute_and_flip", "joint"),
}
MAY_RELEASE = {"core.release", "core.randomness", "core.mechanisms.registry"}
CHECKS_NAMES = {
    *("selection.request", "auditing.request", "evaluation.methods", "evaluation.request"),
    "planning.shares",
}
RELEASING = {"release", "release_votes", "release_rounds", "release_stump", "without_privacy"}
PRIVATE = {"Batch", "Partial", "Scores", "Matrix", "Spill"}
SEES_ROWS = (
    *("core.", "tables.", "dictionary.check", "cluster.", "preprocessing.", "evaluation."),
    *("planning.", "auditing."),
    "paper.",
)
BOTH_SIDES = {"selection.run", "selection.stump", "selection.baseline", "selection.lasso"}
# What sees rows for its holder spends nothing, and the core and the budget know neither machine
# nor tables.
NEVER = {
    "budget": ("preprocessing", "evaluation", "planning", "paper"),
    "tables": ("budget", "cards"),
}
# A plan says what a ledger would have left, and charges nothing.
LOOKS = {"planning.api"}
# What is audited from outside is the command itself.
AUDITED = ("auditing.api", "cli.app")
PUBLIC_SIDE = (
    "budget.",
    "cards.",
    "cli.",
    "dictionary.options",
    "selection.options",
    "preprocessing.options",
    "evaluation.options",
    "planning.options",
    "auditing.options",
    "paper.options",
)


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield every module that a source imports, with the name it takes from it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)


def violations(module: str, source: str) -> list[str]:
    """Return what a module (without `dpsel.`) imports or names and should not."""
    folder = module.split(".")[0]
    if folder not in LADDER:
        return []
    wrong = [
        f"{imported}.{name}"
        for imported, name in imports(source)
        if not _allowed(module, folder, imported, name)
    ]
    return [*wrong, *(name for name in _named(source) if not _may_name(module, folder, name))]


def _named(source: str) -> Iterator[str]:
    """Yield attributes that are read, and names that are called."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _may_name(module: str, folder: str, name: str) -> bool:
    if folder == "core" and name in CORE_NEVER_NAMES:
        return name == CORE_NAMES.get(module)
    return name not in {"draw_sets", "Selection"} or module == "core.release"


def _allowed(module: str, folder: str, imported: str, name: str) -> bool:
    top, _, inner = imported.partition(".")
    if top != "dpsel":
        if folder == "core":
            known = CORE_IMPORTS | CORE_EXTRAS.get(module, set())
            return top in (known - ARRAYS if module in CORE_WITHOUT_ARRAYS else known)
        allowed = OUTSIDE.get(folder, ARRAYS) | EXTRAS.get(module, set())
        if module.startswith(PUBLIC_SIDE):
            allowed = allowed - ARRAYS
        return top in sys.stdlib_module_names or top in allowed
    if (module, inner) == AUDITED:
        return True
    target = inner.split(".")[0] or name
    if target in LADDER and LADDER.index(target) > LADDER.index(folder):
        return False
    if folder in NEVER.get(target, ()):
        return module in LOOKS
    if name in MECHANISMS and inner.startswith("core.mechanisms"):
        return module.startswith(("core.mechanisms", "core.rounds"))
    if name in RELEASING and inner == "core.release":
        return module in {"selection.run", "selection.stump", "selection.baseline"}
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
        ("core.votes", "from concurrent.futures import ThreadPoolExecutor"),
        ("core.matrix", "from time import monotonic"),
        ("core.bounds", "bounds = open('bounds.toml').read()"),
        ("core.matrix", "X = np.memmap('spill')"),
        ("core.median", "rng = np.random.default_rng()"),
        ("core.randomness", "seed = os.environ['SEED']"),
        ("core.release", "import polars"),
        ("core.selection", "import numpy as np"),
        ("core.selection", "from dpsel.core.mechanisms.registry import find_mechanism"),
        ("core.selection", "from dpsel.core.randomness import make_randomness"),
        ("core.selection", "made = Selection(indices, names)"),
        ("budget.ledger", "import numpy as np"),
        ("cards.content", "import polars as pl"),
        ("cards.record", "from dpsel.tables.opening import open_table"),
        ("cli.select", "import polars"),
        ("cli.app", "import click"),
        ("selection.options", "import pyarrow"),
        ("preprocessing.run", "from dpsel.core.randomness import make_randomness"),
        ("auditing.mechanism", "from dpsel.core.randomness import SystemRandomness"),
        ("evaluation.sweep", "from dpsel.core.release import release"),
        ("evaluation.sweep", "from dpsel.budget.account import NoAccount"),
        ("planning.plan", "from dpsel.budget.ledger import LedgerFile"),
        ("planning.shares", "from dpsel.core.release import release_stump"),
        ("evaluation.methods", "found = find_mechanism(name).draw_sets(scores, k, epsilon, rng)"),
        ("selection.run", "from dpsel.core.mechanisms.noisy import peeling"),
        ("selection.run", "made = Selection(indices, names)"),
        ("budget.ledger", "from dpsel.tables.opening import open_table"),
        ("cluster.tasks", "from dpsel.core.mechanisms.registry import find_mechanism"),
        ("budget.account", "from dpsel.core.batch import Batch"),
        ("selection.api", "from dpsel.core.scores.base import Scores"),
        ("sklearn.tally", "import sklearn"),
        ("selection.api", "from dpsel.sklearn.selector import PrivateSelectKBest"),
        ("sklearn.selector", "from dpsel.core.release import release"),
        ("auditing.mechanism", "from dpsel.cli.app import run"),
        ("evaluation.api", "from dpsel.budget.ledger import LedgerFile"),
    ],
)
def test_a_hole_in_the_wall_is_noticed(module: str, mutant: str) -> None:
    assert violations(module, mutant)


def test_the_first_page_of_the_package_lists_all_folders_from_the_ground_up() -> None:
    first_page = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text())) or ""
    listed = re.findall(r"^    ([a-z]+) {2,}", first_page, re.M)
    assert listed == [name for name in LADDER if (PACKAGE / name).is_dir()]
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(listed)


# That of the core has a test of its own.
@pytest.mark.parametrize(
    "folder", sorted({path.parent.name for path in PACKAGE.glob("*/*.py")} - {"core"})
)
def test_the_first_page_of_a_folder_names_all_its_files_once(folder: str) -> None:
    for first_page in (PACKAGE / folder).rglob("__init__.py"):
        named = re.findall(r"\w+\.py\b", ast.get_docstring(ast.parse(first_page.read_text())) or "")
        files = [path.name for path in first_page.parent.glob("*.py") if path != first_page]
        assert sorted(named) == sorted(files)


def runs_text(source: str) -> bool:
    """Return whether a source names what runs a text as code."""
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    return bool(names & {"eval", "exec", "compile"})


def test_no_text_is_run_as_code() -> None:
    assert [str(path) for path in FILES if runs_text(path.read_text())] == []
    assert runs_text("eval('1')")
    assert not runs_text("re.compile('1')")
