"""Distinct values of columns that a damaged file may hold."""

import pyarrow as pa

from dpsel.tables.distinct import distinct_texts


def test_an_index_that_leads_nowhere_is_a_missing_value() -> None:
    indices = pa.array([0, 1, 2, -1, -7, None, 1], pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    texts, codes = distinct_texts(column)
    assert texts == ["a", "b"]
    assert codes.tolist() == [0, 1, -1, -1, -1, -1, 1]
