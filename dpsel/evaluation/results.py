"""The results of an evaluation as tidy tables: Parquet, CSV or JSON. Stamped: not for release."""

import io
import json
from collections.abc import Mapping
from typing import Any

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
    """Return one row a cell; the columns about unseen rows are there if they were asked for."""
    asked = bool(rows) and "unseen" in rows[0]
    schema = {name: kind for name, kind in _CELL.items() if asked or name not in _UNSEEN}
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
    """Return the results as a file; JSON also says how often features were picked."""
    if results_format is ResultsFormat.CSV:
        return results.write_csv().encode()
    if results_format is ResultsFormat.PARQUET:
        return _parquet(results, about)
    return json_text(results_fields(results, frequencies, about)).encode()


def results_fields(
    results: pl.DataFrame, frequencies: pl.DataFrame, about: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the results as plain values, and how often features were picked."""
    return {
        "schema": SCHEMA_ID,
        "stamp": STAMP,
        "about": dict(about),
        "results": results.drop("stamp").to_dicts(),
        "frequencies": frequencies.drop("stamp").to_dicts(),
    }


def _parquet(results: pl.DataFrame, about: Mapping[str, Any]) -> bytes:
    """Return Parquet with the stamp and the settings in its metadata."""
    import pyarrow.parquet as pq

    metadata = {"dpsel": json.dumps({"schema": SCHEMA_ID, "stamp": STAMP, "about": dict(about)})}
    stream = io.BytesIO()
    pq.write_table(results.to_arrow().replace_schema_metadata(metadata), stream)
    return stream.getvalue()
