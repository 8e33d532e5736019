"""The house: a ladder of folders, and a wall between what sees rows and what releases."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "dpsel"
FILES = sorted(PACKAGE.rglob("*.py"))

# 1. The ladder: a folder imports itself and those before it.
LADDER = (
    *("records", "errors", "options", "reporter", "python", "display", "core", "system", "tables"),
    *("dictionary", "budget", "cards", "cluster", "selection", "sklearn", "preprocessing"),
    *("evaluation", "planning", "auditing", "paper", "cli"),
)
# What sees rows for their holder cannot spend, and what keeps a budget or reads tables knows
# nothing of the other.
APART = {
    "budget": ("preprocessing", "evaluation", "planning", "paper"),
    **dict.fromkeys(("tables", "dictionary.check"), ("budget", "cards")),
}
EXCEPTIONS = {
    ("planning.api", "budget"): "a plan says what a ledger would have left, and charges nothing",
    ("auditing.api", "cli.app"): "what is audited from outside is the command itself",
}

# 2. The wall: who may import these names. One way out, and few who hold rows. No module of these
# folders is imported whole from outside the folder, which would bring in any name.
BY_NAME = ("core", "tables", "budget")
WALL = {
    ("make_randomness", "SystemRandomness"): ("core.release",),
    # All but the first only check names and parameters: see `NAMED_ONLY_BY`.
    ("find_mechanism",): (
        *("core.release", "selection.request", "auditing.request", "evaluation.methods"),
        *("evaluation.request", "planning.shares"),
    ),
    (
        *("canonical_lipschitz", "margin_lipschitz", "peeling", "oneshot_laplace"),
        *("permute_and_flip", "joint"),
    ): ("core.mechanisms", "core.rounds"),
    ("release", "release_votes", "release_rounds", "release_stump", "without_privacy"): (
        *("selection.run", "selection.stump", "selection.baseline"),
    ),
    ("Batch", "Partial", "Scores", "Matrix", "Spill"): (
        *("core", "tables", "dictionary.check", "cluster", "preprocessing", "evaluation"),
        *("planning", "auditing", "paper", "selection.run", "selection.stump"),
        *("selection.baseline", "selection.lasso"),
    ),
}
NAMED_ONLY_BY = {"draw_sets": "core.release", "Selection": "core.release"}

# 3. Libraries. The core computes: no files, threads, environment, clock or network, by whatever
# name. The public side has no arrays, so it cannot hold a row.
ARRAYS = {"numpy", "scipy", "polars", "pyarrow"}
CORE_LIBRARIES = {
    *("bisect", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools"),
    *("hashlib", "heapq", "itertools", "math", "struct", "typing"),
}
NOT_IN_CORE = {
    *("open", "memmap", "fromfile", "tofile", "loadtxt", "savetxt", "genfromtxt", "save", "load"),
    *("__import__", "eval", "exec", "default_rng", "environ", "getenv"),
}
BUT_IN_CORE = {
    "core.randomness": {"os", "default_rng"},
    "core.scores.registry": {"importlib", "load"},
}
WITHOUT_ARRAYS = (
    *("budget", "cards", "cli", "core.guarantee", "core.selection", "dictionary.options"),
    *("selection.options", "preprocessing.options", "evaluation.options", "planning.options"),
    *("auditing.options", "paper.options"),
)
MORE_LIBRARIES = {
    "cli": {"typer", "rich"},
    "cluster.dask": {"dask", "distributed"},
    "cluster.slurm": {"dask_jobqueue"},
    "evaluation.figures.style": {"matplotlib"},
    "selection.lasso": {"sklearn", "threadpoolctl"},
    "sklearn.selector": {"sklearn"},
    "system.threads": {"threadpoolctl"},
}


def violations(module: str, source: str) -> list[str]:
    """Return what a module (without `dpsel.`) imports or names and should not."""
    if not is_in(module, LADDER):
        return []
    return [
        *(f"{origin}.{name}" for origin, name in imports(source) if not may(module, origin, name)),
        *(name for name in named(source) if not may_name(module, name)),
    ]


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield every module that a source imports, with the name it takes from it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)


def named(source: str) -> Iterator[str]:
    """Yield attributes that are read, and names that are called."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def is_in(module: str, places: tuple[str, ...]) -> bool:
    """Return whether a module is one of some modules, or in one of some folders."""
    return any(f"{module}.".startswith(f"{place}.") for place in places)


def is_module(wanted: str) -> bool:
    """Return whether what is imported is a file or folder of the package, not a name in one."""
    path = PACKAGE.joinpath(*wanted.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def may(module: str, origin: str, name: str) -> bool:
    """Return whether a module may import this name from there."""
    package, _, inner = origin.partition(".")
    if package != "dpsel":
        return may_use(module, package)
    wanted = f"{inner}.{name}".strip(".")
    if any(module == who and is_in(wanted, (what,)) for who, what in EXCEPTIONS):
        return True
    here, there = module.split(".")[0], wanted.split(".")[0]
    if there in LADDER and LADDER.index(there) > LADDER.index(here):
        return False
    if any(is_in(wanted, (what,)) and is_in(module, who) for what, who in APART.items()):
        return False
    if there in BY_NAME and here != there and is_module(wanted):
        return False
    return all(name not in names or is_in(module, who) for names, who in WALL.items())


def may_use(module: str, library: str) -> bool:
    """Return whether a module may import a package from outside."""
    arrays = set() if is_in(module, WITHOUT_ARRAYS) else ARRAYS
    if is_in(module, ("core",)):
        arrays = arrays - {"polars", "pyarrow"}
        return library in CORE_LIBRARIES | arrays | BUT_IN_CORE.get(module, set())
    more = [libraries for where, libraries in MORE_LIBRARIES.items() if is_in(module, (where,))]
    return library in set(sys.stdlib_module_names).union(arrays, *more)


def may_name(module: str, name: str) -> bool:
    """Return whether a module may read this attribute or call this name."""
    if is_in(module, ("core",)) and name in NOT_IN_CORE - BUT_IN_CORE.get(module, set()):
        return False
    return NAMED_ONLY_BY.get(name, module) == module


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
        ("evaluation.sweep", "from dpsel.budget.account import Account"),
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
        ("budget.account", "import dpsel.core.guarantee"),
        ("sklearn.selector", "from dpsel.core import release"),
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
