"""The results of an evaluation: tidy tables, the files they go to, and conclusions in words.

For the data holder only: the tables are stamped as not for release.
"""

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow.parquet as pq

from dpsel.evaluation import STAMP
from dpsel.evaluation.metrics import METRICS, REFERENCES, UNSEEN_NUMBERS
from dpsel.evaluation.options import ResultsFormat
from dpsel.system.frames import pl
from dpsel.system.text import json_text

SCHEMA_ID = "dpsel.evaluation/1"

_UNSEEN: dict[str, Any] = {
    "unseen_measure": pl.String,
    **dict.fromkeys((*UNSEEN_NUMBERS, *REFERENCES), pl.Float64),
}
_CELL: dict[str, Any] = {
    "dataset": pl.String,
    "n": pl.Int64,
    "d": pl.Int64,
    "method": pl.String,
    "k": pl.Int64,
    "k_asked": pl.String,
    "epsilon": pl.Float64,
    "trials": pl.Int64,
    "true_size": pl.Int64,
    **{column: pl.Float64 for metric in METRICS for column in metric.columns},
    **_UNSEEN,
    "private": pl.Boolean,
    "stamp": pl.String,
}
_FREQUENCY: dict[str, Any] = {
    "dataset": pl.String,
    "method": pl.String,
    "k": pl.Int64,
    "k_asked": pl.String,
    "epsilon": pl.Float64,
    "feature": pl.String,
    "position": pl.Int64,
    "share": pl.Float64,
    "is_true": pl.Boolean,
    "stamp": pl.String,
}


def results_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return one row per cell; the columns about unseen rows only if these were tested."""
    with_unseen = bool(rows) and "unseen" in rows[0]
    schema = {name: kind for name, kind in _CELL.items() if with_unseen or name not in _UNSEEN}
    return pl.DataFrame(rows, schema=schema, orient="row")


def frequencies_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return one row for each feature that was picked in a cell."""
    return pl.DataFrame(rows, schema=_FREQUENCY, orient="row")


def results_bytes(
    results: pl.DataFrame,
    frequencies: pl.DataFrame,
    about: Mapping[str, Any],
    results_format: ResultsFormat,
) -> bytes:
    """Return the results as a file; JSON also has how often each feature was picked."""
    if results_format is ResultsFormat.CSV:
        return results.write_csv().encode()
    if results_format is ResultsFormat.PARQUET:
        return _parquet(results, about)
    return json_text(results_fields(results, frequencies, about)).encode()


def results_fields(
    results: pl.DataFrame, frequencies: pl.DataFrame, about: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the results and the frequencies of features as plain values."""
    return {
        "schema": SCHEMA_ID,
        "stamp": STAMP,
        "about": dict(about),
        "results": results.drop("stamp").to_dicts(),
        "frequencies": frequencies.drop("stamp").to_dicts(),
    }


def _parquet(results: pl.DataFrame, about: Mapping[str, Any]) -> bytes:
    """Return Parquet with the stamp and the settings in its metadata."""
    metadata = {"dpsel": json.dumps({"schema": SCHEMA_ID, "stamp": STAMP, "about": dict(about)})}
    stream = io.BytesIO()
    pq.write_table(results.to_arrow().replace_schema_metadata(metadata), stream)
    return stream.getvalue()


Row = Mapping[str, Any]

# The share of the reachable accuracy from which on a method is said to work.
_ENOUGH = 0.8


def conclusions(rows: Iterable[Row]) -> list[str]:
    """Return one sentence per data set and k: what its best private method finds, at which epsilon.

    Args:
        rows: The cells of the results, in any order.
    """
    cells: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        if row["private"] and row["true_size"]:
            methods = cells.setdefault((row["dataset"], row["k_asked"]), {})
            methods.setdefault(row["method"], []).append(row)
    return [_sentence(dataset, methods) for (dataset, _), methods in cells.items()]


def _sentence(dataset: str, methods: Mapping[str, Sequence[Row]]) -> str:
    """Return the sentence about the best method on one data set, for one k."""
    method = max(methods, key=lambda name: _mean(methods[name]))
    cells = sorted(methods[method], key=lambda row: float(row["epsilon"]))
    enough = next((row for row in cells if _share_of_best(row) >= _ENOUGH), None)
    shown = enough or cells[-1]
    even = "" if enough else "even "
    k = shown["k"]
    of_k = "the pick is" if k == 1 else f"of {k} picks are"
    most = ""
    if shown["true_size"] < k:
        most = f" (at most {shown['true_size']} can be{_as_strong(shown['relative_correlation'])})"
    return (
        f"{dataset}, k = {k}: {even}at epsilon {shown['epsilon']:g} {_right(shown)} {of_k} "
        f"right{most}, by {method}{_random(cells)}."
    )


def _as_strong(relative: float | None) -> str:
    """Return in words how good picks are of which few can count as right."""
    if relative is None or math.isnan(relative):
        return ""
    return f"; the picks correlate with the target {100 * relative:.0f} % as much as the best do"


def _mean(cells: Sequence[Row]) -> float:
    """Return the mean accuracy over all epsilons."""
    return sum(float(row["accuracy"]) for row in cells) / len(cells)


def _share_of_best(row: Row) -> float:
    """Return an accuracy as a share of the best that can be reached."""
    return float(row["accuracy"]) / min(1.0, float(row["true_size"]) / float(row["k"]))


def _right(row: Row) -> str:
    """Return in words how many picks are right; for a single pick, how often it is."""
    k, accuracy = row["k"], float(row["accuracy"])
    if k == 1:
        return f"in {100 * accuracy:.0f} % of the trials"
    right = round(accuracy * k)
    if accuracy == 1.0:
        return "all"
    return "hardly any" if right == 0 else f"about {right}"


def _random(cells: Sequence[Row]) -> str:
    """Return in words below which epsilon the picks are no better than random."""
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
