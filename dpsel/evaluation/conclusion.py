"""What an evaluation comes to, in words. For the data's holder only."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

# Of all that can be right: what is worth its epsilon.
_ENOUGH = 0.8


def conclusions(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for every data set and k: what its best private method finds, and where.

    Args:
        rows: The cells of the results, in any order.
    """
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        if row["private"] and row["true_size"]:
            methods = found.setdefault((row["dataset"], row["k_asked"]), {})
            methods.setdefault(row["method"], []).append(row)
    return [_sentence(dataset, methods) for (dataset, _), methods in found.items()]


def _sentence(dataset: str, methods: Mapping[str, Sequence[Row]]) -> str:
    """Return what the best method finds."""
    method = max(methods, key=lambda name: _mean(methods[name]))
    cells = sorted(methods[method], key=lambda row: float(row["epsilon"]))
    enough = next((row for row in cells if _share_of_best(row) >= _ENOUGH), None)
    shown = enough or cells[-1]
    even = "" if enough else "even "
    k = shown["k"]
    of_k = "the pick is" if k == 1 else f"of {k} picks are"
    return (
        f"{dataset}, k = {k}: {even}at epsilon {shown['epsilon']:g} {_right(shown)} {of_k} right, "
        f"by {method}{_random(cells)}."
    )


def _mean(cells: Sequence[Row]) -> float:
    """Return the mean accuracy over all epsilons."""
    return sum(float(row["accuracy"]) for row in cells) / len(cells)


def _share_of_best(row: Row) -> float:
    """Return an accuracy as a share of what can be reached."""
    return float(row["accuracy"]) / min(1.0, float(row["true_size"]) / float(row["k"]))


def _right(row: Row) -> str:
    """Return how many picks are right; of one, how often."""
    k, accuracy = row["k"], float(row["accuracy"])
    if k == 1:
        return f"in {100 * accuracy:.0f} % of the trials"
    right = round(accuracy * k)
    if accuracy == 1.0:
        return "all"
    return "hardly any" if right == 0 else f"about {right}"


def _random(cells: Sequence[Row]) -> str:
    """Return below which epsilon picks are no better than by chance."""
    chance = cells[0]["true_size"] / cells[0]["d"]
    better = [float(row["accuracy_low"]) > chance for row in cells]
    if not any(better):
        return "; at no epsilon are they better than random"
    random = [place for place, is_better in enumerate(better) if not is_better]
    first = random[-1] + 1 if random else 0
    if not 0 < first < len(cells):
        return ""
    are = "it is" if cells[first]["k"] == 1 else "they are"
    return f"; below {cells[first]['epsilon']:g} {are} random"
