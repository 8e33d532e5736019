"""Labels and persons: the distinct values of a column as texts, whatever its type and bytes.

No value can stop this: neither bytes that are no UTF-8 nor a date that is in no calendar.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import IntArray
from dpsel.io.arrow_values import is_text
from dpsel.io.frames import pl
from dpsel.io.words import decoded


def distinct_texts(column: Any) -> tuple[list[str], IntArray]:
    """Return the distinct values of an Arrow column, and for every row the place of its own.

    That is -1 for a missing one. Not every value need occur in a row.
    """
    places: dict[str, int] = {}
    codes = [np.empty(0, dtype=np.int64)]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        texts = _texts_of(encoded.dictionary)
        found = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
        indices = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        # In a damaged file an index may lead anywhere: such a value is missing.
        indices = np.where((indices >= 0) & (indices < len(found)), indices, -1)
        codes.append(np.array([*found, -1], dtype=np.int64)[indices])
    return list(places), np.concatenate(codes)


def as_texts(column: Any) -> Any:
    """Return an Arrow column as an array of texts."""
    texts, codes = distinct_texts(column)
    indices = pa.array(codes, mask=codes < 0)
    return pa.array(texts, pa.large_string()).take(indices)


def _texts_of(values: Any) -> list[str | None]:
    """Return plain values as texts."""
    kind = values.type
    if is_text(kind):
        return _decoded_texts(values)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = values.view(pa.int32())
    elif pa.types.is_temporal(kind) and kind.bit_width == 64:
        values = values.view(pa.int64())
    if pa.types.is_floating(kind):
        return _float_texts(values)
    if pa.types.is_boolean(kind):
        return [None if value is None else str(value).lower() for value in values.to_pylist()]
    found = values.to_pylist()
    return [
        None if value is None else value.hex() if isinstance(value, bytes) else str(value)
        for value in found
    ]


def _decoded_texts(values: Any) -> list[str | None]:
    """Return texts, whatever their bytes are."""
    try:
        texts: list[str | None] = values.to_pylist()
    except UnicodeDecodeError:
        found = values.cast(pa.large_binary()).to_pylist()
        return [None if cell is None else decoded(cell) for cell in found]
    return texts


def _float_texts(values: Any) -> list[str | None]:
    """Return floats with the fewest digits, whole ones as whole numbers.

    A person is the same in a file that has whole numbers and in one that has floats.
    """
    found = values.to_pylist()
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    texts = pl.Series(pl.from_arrow(values)).cast(pl.String).to_list()
    return [
        str(int(value)) if value is not None and float(value).is_integer() else text
        for value, text in zip(found, texts, strict=True)
    ]
