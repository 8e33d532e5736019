"""The distinct values of an Arrow column of any type, and columns of persons that are passed on."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import IntArray
from dpsel.errors import InputError
from dpsel.system.frames import pl
from dpsel.tables.arrow_cells import filled, is_text, kind_of
from dpsel.tables.cells import TRUTH_WORDS, WORDS_FOR_NOTHING, decoded, exact_number
from dpsel.tables.columns import Kind

# In nanoseconds. A date64 has no unit: it counts milliseconds.
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9
_LONGEST_WORD = max(map(len, (*WORDS_FOR_NOTHING, *TRUTH_WORDS)))


def distinct_texts(column: Any) -> tuple[list[str], IntArray]:
    """Return the distinct values of an Arrow column as texts, and the place of every row's value.

    The place is -1 for a missing value. Some of the values may occur in no row.
    """
    places: dict[str, int] = {}
    codes = [np.empty(0, dtype=np.int64)]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        chunk = _stored(chunk)
        if pa.types.is_decimal(chunk.type) and chunk.type.bit_width < 128:
            # pyarrow does not encode short decimals. Any of them fits into the widest type.
            chunk = chunk.cast(pa.decimal128(38, chunk.type.scale))
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        texts = _texts_of(encoded.dictionary)
        found = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
        indices = filled(encoded.indices.cast(pa.int64()), -1)
        # In a damaged file an index may point anywhere: such a value is missing.
        indices = np.where((indices >= 0) & (indices < len(found)), indices, -1)
        codes.append(np.array([*found, -1], dtype=np.int64)[indices])
    return list(places), np.concatenate(codes)


def distinct_persons(column: Any) -> tuple[list[str], IntArray]:
    """Return the distinct persons of an Arrow column, and for every row the place of its person.

    The place is -1 for a row without a person: its cell is missing, NaN, empty or blank, or a word
    for a missing value. Equal numbers are one person, however they are written and whatever their
    type.

    Privacy:
        Neighbors: all rows of one person; which person a row has depends on its cell alone.
        Guarantee: none; persons are private.
        Tested by: tests/hardening/test_persons.py
    """
    texts, codes = distinct_texts(column)
    kind = _plain(column.type)
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
    """Return the canonical form of a person, None for a missing one."""
    person = text.strip()
    number = exact_number(person)
    if number is not None or len(person) > _LONGEST_WORD:
        return number or person
    if person.lower() in WORDS_FOR_NOTHING:
        return None
    return str(int(TRUTH_WORDS[person])) if person in TRUTH_WORDS else person


def _person_of_bytes(text: str) -> str | None:
    """Return a person given as the hex digits of bytes, None if these are blank.

    The digits are not read as a number.
    """
    return text if bytes.fromhex(text).strip() else None


def person_type(columns: Iterable[Any], kind: Kind) -> pa.DataType:
    """Return the Arrow type in which the persons of all files can be passed on.

    It is the type of the columns if all have the same, else text. As texts, equal numbers and equal
    times stay equal.
    """
    if kind is Kind.BINARY:
        return pa.large_binary()
    if kind not in (Kind.NUMBER, Kind.TIME):
        return pa.large_string()
    found = {_plain(column.type) for column in columns} - {pa.null()}
    one = found.pop() if len(found) == 1 else pa.large_string()
    return pa.large_string() if pa.types.is_interval(one) else one


class PersonColumn:
    """The persons of a table in the order of its rows, returned some rows at a time."""

    def __init__(self, columns: Iterator[Any], kind: pa.DataType) -> None:
        """Return the cells of `columns`, one column after the other, as the type `kind`."""
        self._columns = columns
        self._kind = kind
        self._next = pa.nulls(0, kind)

    def next(self, rows: int) -> Any:
        """Return the persons of the next rows, unchanged."""
        found = [pa.nulls(0, self._kind)]
        while rows:
            if not len(self._next):
                self._next = self._typed(next(self._columns, None))
            found.append(self._next.slice(0, rows))
            self._next = self._next.slice(len(found[-1]))
            rows -= len(found[-1])
        return pa.concat_arrays(found)

    def _typed(self, column: Any) -> Any:
        """Return an Arrow column as one array of the type to return."""
        if column is None:
            raise InputError("the table has changed since its persons were counted")
        if pa.types.is_large_string(self._kind):
            return as_texts(column)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        plain = [chunk.cast(_plain(chunk.type)).cast(self._kind) for chunk in map(_stored, chunks)]
        return pa.concat_arrays([pa.nulls(0, self._kind), *plain])


def persons_in_text(column: Any) -> Any:
    """Return persons as an array of texts, which distinguish them as well as the column does."""
    if kind_of(column.type) is not Kind.BINARY:
        return as_texts(column)
    texts = as_texts(column).to_pylist()
    persons = [None if text is None else _person_of_bytes(text) for text in texts]
    # Without a prefix, digits would be read as numbers.
    found = [None if person is None else f"0x{person}" for person in persons]
    return pa.array(found, pa.large_string())


def _stored(chunk: Any) -> Any:
    """Return the storage array of an extension array, and any other array unchanged."""
    return chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values: the storage type, and the value type of a dictionary."""
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type)
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def as_texts(column: Any) -> Any:
    """Return an Arrow column as an array of texts."""
    texts, codes = distinct_texts(column)
    indices = pa.array(codes, mask=codes < 0)
    return pa.array(texts, pa.large_string()).take(indices)


def _texts_of(values: Any) -> list[str | None]:
    """Return the values of an array without dictionary or extension type as texts."""
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
    """Return dates and times as numbers of nanoseconds, whatever their unit."""
    kind = values.type
    unit = _DAY if pa.types.is_date32(kind) else _UNITS[getattr(kind, "unit", "ms")]
    found = values.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    return [None if value is None else str(value * unit) for value in found]


def _decoded_texts(values: Any) -> list[str | None]:
    """Return texts, whose bytes need not be UTF-8."""
    try:
        texts: list[str | None] = values.to_pylist()
    except UnicodeDecodeError:
        found = values.cast(pa.large_binary()).to_pylist()
        return [None if cell is None else decoded(cell) for cell in found]
    return texts


def _float_texts(values: Any) -> list[str | None]:
    """Return floats with the fewest digits, whole ones as whole numbers.

    So a person is the same in a file of integers and in one of floats.
    """
    found = values.to_pylist()
    if pa.types.is_float16(values.type):
        values = values.cast(pa.float32())
    texts = pl.Series(pl.from_arrow(values)).cast(pl.String).to_list()
    return [
        str(int(value)) if value is not None and float(value).is_integer() else text
        for value, text in zip(found, texts, strict=True)
    ]
