"""What users could run instead of `dpsel select`, on the same raw tables at the same epsilon.

    python benchmarks/field.py [FOLDER] [--environments DIR]
                               [--figure docs/reference/stump_field.png]

It makes an environment for each peer (with venv and pip, so it needs a network; kept in DIR if
given) and runs every method in its own process: `field_peers.py`. Tables have two classes. Features
are selected within the training rows of 5 folds. It prints the accuracy of a ridge model on the
unseen rows, the mean |correlation| of the picks over the best possible, the seconds of one
selection from rows in memory, and the peak memory of the process.

The peers get the smallest and largest value of every column, read off the table without paying for
it, so that they do as well as with perfect public bounds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from compared_methods import correlations
from real_tables import RealTable, real_tables
from stump_accuracy import FOLDS, folds_of, ridge_errors

from dpsel.core.arrays import FloatArray

EPSILONS = (0.5, 1.0, 2.0, 5.0)
SHOWN = 2.0
MOST_SECONDS = 1200
# Tables, and the class to compare with the rest if there are more than two.
TABLES = {"breast_cancer": 1, "wine": 0, "digits": 8, "modechoice": 1, "alon": 1, "sorlie": 4}
ENVIRONMENTS = {
    "opendp": ["opendp[polars]", "numpy"],
    # Version 0.6.6 does not import with a newer scikit-learn.
    "diffprivlib": ["diffprivlib", "scikit-learn<1.6"],
}
METHODS = {
    "stump": ("`dpsel select` (stump)", "nothing"),
    "kendall": ("`dpsel select --score kendall`", "nothing"),
    "dpkendall": ("dpkendall", "nothing"),
    "dp-sis": ("DP-SIS, the paper's", "a table scaled by its own data"),
    "two-stage": ("two-stage", "a table scaled by its own data; number of blocks"),
    "opendp": ("OpenDP, noisy top k of sums", "bounds of every column"),
    "diffprivlib": (
        "diffprivlib, logistic regression",
        "bounds of every column; a bound of the rows' norm",
    ),
    "random": ("a random choice", "nothing"),
}


@dataclass
class Found:
    """The results of one method: for every epsilon, a number for each table that it finished."""

    accuracy: dict[float, dict[str, float]] = field(default_factory=dict)
    correlation: dict[float, dict[str, float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)


def chosen_tables(folder: Path) -> list[RealTable]:
    """Return the chosen tables that exist, with two classes."""
    found = []
    for table in real_tables(folder):
        if table.name in TABLES:
            parts = table.one_against_rest()
            found.append(parts[TABLES[table.name] if len(parts) > 1 else 0])
    return found


def environment(place: Path, packages: list[str]) -> str | None:
    """Return the Python of an environment with these packages; None if it cannot be made."""
    python = place / "bin" / "python"
    try:
        if not python.exists():
            venv.create(place, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *packages]
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"Left out: {packages[0]}, which cannot be installed: {type(error).__name__}.\n")
        return None
    return str(python)


def write_folds(table: RealTable, repetitions: int, path: Path) -> None:
    """Write the training rows of every fold, and the bounds that the peers need."""
    arrays = {"k": np.array(table.k), "low": table.X.min(axis=0), "high": table.X.max(axis=0)}
    count = 0
    for count, (_, _, train, _) in enumerate(folds_of(table, repetitions), start=1):
        arrays |= {f"X{count - 1}": table.X[train], f"y{count - 1}": table.y[train]}
    np.savez(path, folds=count, **arrays)


def measure(found: Found, python: str, method: str, table: RealTable, path: Path) -> None:
    """Add the results of a method on one table, unless it takes too long."""
    script = Path(__file__).with_name("field_peers.py")
    peer = method in ENVIRONMENTS
    ours = str(script.parents[1])
    told = {**os.environ, "PYTHONPATH": "" if peer else ours, "OMP_NUM_THREADS": "1"}
    command = [python, str(script), method, str(path), json.dumps(EPSILONS)]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, env=told, check=True, timeout=MOST_SECONDS
        )
    except subprocess.SubprocessError as error:
        print(f"{method} did not finish on {table.name}: {type(error).__name__}\n")
        return
    said = json.loads(run.stdout)
    found.seconds.append(said["seconds"])
    found.megabytes.append(said["megabytes"])
    values = correlations(table.X, table.y)
    best = np.sort(values)[-table.k :].mean()
    repetitions = len(said["picks"][str(SHOWN)]) // FOLDS
    for epsilon in EPSILONS:
        picks = np.array(said["picks"][str(epsilon)])
        folds = zip(picks, folds_of(table, repetitions), strict=True)
        wrong = sum(ridge_errors(table, pick, train, test) for pick, (_, _, train, test) in folds)
        right = 1 - wrong / (repetitions * len(table.y))
        found.accuracy.setdefault(epsilon, {})[table.name] = right
        share = float(values[picks].mean() / best)
        found.correlation.setdefault(epsilon, {})[table.name] = share


def _paired(values: dict[str, float], ours: dict[str, float]) -> str:
    """Return a mean, and how far we are ahead, plus or minus one standard error over tables."""
    ahead: FloatArray = np.array([ours[name] - value for name, value in values.items()])
    mean = f"{np.mean(list(values.values())):.2f}"
    if not ahead.any():
        return mean
    some = "" if len(ahead) == len(ours) else f", on {len(ahead)} tables"
    return f"{mean} ({ahead.mean():+.2f} ± {ahead.std(ddof=1) / len(ahead) ** 0.5:.2f}{some})"


def print_table(results: dict[str, Found]) -> None:
    """Print one line per method."""
    ours = results["stump"]
    print(
        "| method | accuracy on unseen rows | share of the best correlation | seconds | MB | told |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for method, found in results.items():
        name, told = METHODS[method]
        print(
            f"| {name} | {_paired(found.accuracy[SHOWN], ours.accuracy[SHOWN])} | "
            f"{_paired(found.correlation[SHOWN], ours.correlation[SHOWN])} | "
            f"{np.median(found.seconds):.2g}, at most {max(found.seconds):.2g} | "
            f"{max(found.megabytes):.0f} | {told} |"
        )


def draw_figure(results: dict[str, Found], tables: int, path: Path) -> None:
    """Draw accuracy and correlation over epsilon, one line per method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    axes = figure.subplots(1, 2)
    for place, (title, part) in enumerate(
        [
            ("accuracy on unseen rows", "accuracy"),
            ("correlation of the picks, of the best possible", "correlation"),
        ]
    ):
        for number, (method, found) in enumerate(results.items()):
            means = [
                float(np.mean(list(getattr(found, part)[epsilon].values()))) for epsilon in EPSILONS
            ]
            ours = method == "stump"
            color = "0.6" if method == "random" else f"C{number}"
            style = ":" if method == "random" else "-"
            label = METHODS[method][0].replace("`", "")
            axes[place].plot(
                EPSILONS,
                means,
                style,
                color="black" if ours else color,
                linewidth=2.6 if ours else 1.4,
                marker="o" if method != "random" else None,
                markersize=4,
                label=label,
            )
        axes[place].set_xscale("log")
        axes[place].set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes[place].minorticks_off()
        axes[place].set_xlabel("epsilon")
        axes[place].set_title(f"{title}, mean of {tables} tables", fontsize=10)
        axes[place].spines[["top", "right"]].set_visible(False)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    figure.savefig(path, dpi=110)


def main() -> None:
    """Make environments, run all methods, print a Markdown table and draw a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    sibling = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("folder", type=Path, nargs="?", default=sibling)
    parser.add_argument("--environments", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--repetitions", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        pythons = {
            peer: environment((given.environments or scratch) / peer, packages)
            for peer, packages in ENVIRONMENTS.items()
        }
        tables = chosen_tables(given.folder)
        paths = [scratch / f"{number}.npz" for number in range(len(tables))]
        for table, path in zip(tables, paths, strict=True):
            write_folds(table, given.repetitions, path)
        results = {}
        for method in METHODS:
            python = pythons.get(method, sys.executable)
            found = Found()
            for table, path in zip(tables, paths, strict=True):
                if python is not None:
                    measure(found, python, method, table, path)
            if found.seconds:
                results[method] = found
    print(f"epsilon {SHOWN:g}, {given.repetitions} x {FOLDS} folds, one draw a fold: ", end="")
    print(", ".join(table.described() for table in tables) + "\n")
    print_table(results)
    if given.figure is not None:
        draw_figure(results, len(tables), given.figure)


if __name__ == "__main__":
    main()
