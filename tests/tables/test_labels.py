"""What a label is, and what is missing: the same in features, targets and persons."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from dpsel.core.words import words_of
from dpsel.errors import UsageError
from dpsel.tables.columns import Wanted, choose_columns
from dpsel.tables.distinct import distinct_texts
from dpsel.tables.labels import TargetCoding
from dpsel.tables.opening import open_table
from dpsel.tables.table import RowReader
from tests.sample_tables import WRITERS

MISSING = ["", " ", "nan", "NaN", "-nan", "+NaN", "NA", "na", "N/A", "#N/A", "<NA>", "NaT", "null"]
MISSING += ["NULL", " NA "]
VALUES = ["none", "nil", "-", ".", "?", "NAN0", "nap", "nulls", "ill"]


def test_an_index_that_leads_nowhere_is_a_missing_value() -> None:
    indices = pa.array([0, 1, 2, -1, -7, None, 1], pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    texts, codes = distinct_texts(column)
    assert texts == ["a", "b"]
    assert codes.tolist() == [0, 1, -1, -1, -1, -1, 1]


def read(path: Path) -> tuple[Any, Any]:
    """Return the cells of `x` and of the target, as `stump` sees them."""
    table = open_table(str(path))
    wanted = Wanted("y", features=("x",), labels=True, words=True)
    layout = choose_columns(table.columns, wanted, table.label)
    reader = RowReader(TargetCoding("ill"), words=True)
    batches = [pending.read() for pending in table.pending_batches(layout, reader)]
    table.close()
    return (
        np.concatenate([np.asarray(batch.X)[:, 0] for batch in batches]),
        np.concatenate([batch.y for batch in batches]),
    )


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("width", [0, 600])
def test_the_same_texts_are_missing_in_features_and_targets_of_every_format(
    name: str, width: int, tmp_path: Path
) -> None:
    cells = [*MISSING, *VALUES]
    others = {f"o{place}": 1.0 for place in range(width)}
    WRITERS[name](pl.DataFrame({"x": cells, "y": cells}).with_columns(**others), tmp_path / name)
    x, y = read(tmp_path / name)
    words, codes = words_of(x)
    assert words.tolist() == [False] * len(MISSING) + [True] * len(VALUES)
    assert np.isnan(x).all()
    assert len(set(codes[words].tolist())) == len(VALUES)
    assert np.isnan(y[: len(MISSING)]).all()
    assert y[len(MISSING) :].tolist() == [-1.0] * (len(VALUES) - 1) + [1.0]


@pytest.mark.parametrize("label", MISSING)
def test_a_text_for_a_missing_label_cannot_be_asked_for(label: str) -> None:
    for coding in ({"positive": label}, {"classes": ("ill", label, "well")}):
        with pytest.raises(UsageError) as raised:
            TargetCoding(**coding)
        assert str(raised.value) == f"'{label}' stands for a missing label; name another one"
