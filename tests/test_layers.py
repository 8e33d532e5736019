"""The dependency rule: cli -> api, plan, run -> io -> core, never back."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "dpsel"
MIDDLE = {
    "dpsel.tables.spill",
    "dpsel.selection.api",
    "dpsel.audit",
    "dpsel.selection.baseline",
    "dpsel.cluster",
    "dpsel.evaluation.request",
    "dpsel.evaluation.data",
    "dpsel.tables.labels",
    "dpsel.selection.request",
    "dpsel.preprocessing.request",
    "dpsel.preprocessing.run",
    "dpsel.paper",
    "dpsel.selection.run",
    "dpsel.cluster.shards",
    "dpsel.budget.account",
    "dpsel.evaluation.sweep",
    "dpsel.system.workers",
}
ALLOWED_INSIDE = {
    "core": {"core"},
    "io": {"core", "io"},
    "middle": {"core", "io", "middle"},
    "cli": {"core", "io", "middle", "cli"},
}
ALLOWED_OUTSIDE = {
    "core": {"numpy", "scipy"},
    "io": {"numpy", "scipy", "polars", "pyarrow"},
    "middle": {"numpy", "polars", "scipy"},
    "cli": {"typer", "rich"},
}
# What one file may import besides, inside the function that needs it.
EXTRAS = {
    "dpsel.cluster.dask": {"dask", "dask_jobqueue", "distributed"},
    "dpsel.cluster.slurm": {"dask_jobqueue"},
    "dpsel.system.workers": {"threadpoolctl"},
    "dpsel.selection.lasso": {"sklearn", "threadpoolctl"},
    "dpsel.evaluation.figures.style": {"matplotlib"},
}
FILES = sorted(PACKAGE.rglob("*.py"))


def layer_of(module: str) -> str:
    parts = module.split(".")
    if ".".join(parts[:2]) in MIDDLE:
        return "middle"
    return parts[1] if len(parts) > 1 and parts[1] in ALLOWED_INSIDE else "top"


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def violations(module: str, imports: set[str]) -> list[str]:
    layer = layer_of(module)
    if layer == "top":
        return []
    wrong = []
    for name in imports:
        top = name.split(".")[0]
        if top == "dpsel":
            inner = layer_of(name)
            if inner != "top" and inner not in ALLOWED_INSIDE[layer]:
                wrong.append(name)
        elif top not in sys.stdlib_module_names | ALLOWED_OUTSIDE[layer] | EXTRAS.get(
            module, set()
        ):
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    assert violations(module_of(path), imported(path)) == []


def test_an_import_upwards_is_noticed() -> None:
    assert violations("dpsel.core.release", {"dpsel.tables.opening"}) == ["dpsel.tables.opening"]
    assert violations("dpsel.tables.opening", {"dpsel.selection.run.run_select"}) == ["dpsel.selection.run.run_select"]
    assert violations("dpsel.core.release", {"polars"}) == ["polars"]
    assert violations("dpsel.cli.app", {"click"}) == ["click"]


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_no_text_is_run_as_code(path: Path) -> None:
    names = {
        node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)
    }
    assert names & {"eval", "exec", "compile"} == set()


def test_files_stay_small() -> None:
    long = {str(path): len(path.read_text().splitlines()) for path in FILES}
    assert {path: lines for path, lines in long.items() if lines > 300} == {}
