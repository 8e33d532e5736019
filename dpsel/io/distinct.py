"""Labels and persons: the distinct values of a column as texts, whatever its type and bytes.

No value can stop this: neither bytes that are no UTF-8 nor a date that is in no calendar.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import IntArray
from dpsel.io.arrow_values import is_text, kind_of
from dpsel.io.columns import Kind
from dpsel.io.frames import pl
from dpsel.io.words import TRUTH_WORDS, WORDS_FOR_MISSING, decoded, exact_number

# In nanoseconds. A date64 has no unit: it counts milliseconds.
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9


def distinct_texts(column: Any) -> tuple[list[str], IntArray]:
    """Return the distinct values of an Arrow column, and for every row the place of its own.

    That is -1 for a missing one. Not every value need occur in a row.
    """
    places: dict[str, int] = {}
    codes = [np.empty(0, dtype=np.int64)]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        chunk = chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        texts = _texts_of(encoded.dictionary)
        found = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
        indices = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy()
        # In a damaged file an index may lead anywhere: such a value is missing.
        indices = np.where((indices >= 0) & (indices < len(found)), indices, -1)
        codes.append(np.array([*found, -1], dtype=np.int64)[indices])
    return list(places), np.concatenate(codes)


def distinct_persons(column: Any) -> tuple[list[str], IntArray]:
    """Return the distinct persons of an Arrow column, and for every row the place of its own.

    That is -1 for a row that has none: its cell is missing, NaN, empty or blank, or a word for a
    missing value. Equal numbers are one person, however they are written and whatever their type.

    Privacy:
        Neighbors: all rows of one person; which person a row has depends on its cell alone.
        Guarantee: none; persons are private.
        Tested by: tests/hardening/test_persons.py
    """
    texts, codes = distinct_texts(column)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_integer(kind):
        return texts, codes
    of_bytes = kind_of(kind) is Kind.BINARY
    known: dict[str, int] = {}
    places = []
    for text in texts:
        person = _person_of_bytes(text) if of_bytes else _person(text)
        places.append(-1 if person is None else known.setdefault(person, len(known)))
    return list(known), np.array([*places, -1], dtype=np.int64)[codes]


def _person(text: str) -> str | None:
    """Return the one way to write a person, None for nobody."""
    person = text.strip()
    if person.lower() in WORDS_FOR_MISSING:
        return None
    if person in TRUTH_WORDS:
        return str(int(TRUTH_WORDS[person]))
    return exact_number(person) or person


def _person_of_bytes(text: str) -> str | None:
    """Return a person who is bytes, given as their digits: no number is meant by these."""
    return text if bytes.fromhex(text).strip() else None


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
    if pa.types.is_temporal(kind) and kind.bit_width <= 64:
        return _time_texts(values)
    if pa.types.is_floating(kind):
        return _float_texts(values)
    if pa.types.is_boolean(kind):
        return [None if value is None else str(value).lower() for value in values.to_pylist()]
    found = values.to_pylist()
    return [
        None if value is None else value.hex() if isinstance(value, bytes) else str(value)
        for value in found
    ]


def _time_texts(values: Any) -> list[str | None]:
    """Return dates and times as numbers of nanoseconds, whatever their type counts."""
    kind = values.type
    unit = _DAY if pa.types.is_date32(kind) else _UNITS[getattr(kind, "unit", "ms")]
    found = values.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    return [None if value is None else str(value * unit) for value in found]


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
