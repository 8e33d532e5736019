"""What the cells of a target count as: numbers, one label against the rest, or coded labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpsel.core.arrays import FloatArray
from dpsel.io.arrow_values import as_texts, numbers, text_numbers


@dataclass(frozen=True)
class TargetCoding:
    """How a target's cells become numbers.

    Numbers stay as they are. With `positive` that label is 1 and any other -1; with `classes` a
    label is its place among them. A missing label, and one that is not among them, is NaN.
    """

    positive: str | None = None
    classes: tuple[str, ...] | None = None

    @property
    def of_text(self) -> bool:
        """Return whether cells are labels, not numbers."""
        return self.positive is not None or self.classes is not None

    def values(self, column: Any) -> FloatArray:
        """Return the target of some rows, from an Arrow column."""
        if self.positive is not None:
            return numbers(pc.if_else(_equal(column, self.positive), 1.0, -1.0))
        if self.classes is not None:
            places = pc.index_in(label_texts(column), value_set=pa.array(self.classes, _TEXT))
            return numbers(places)
        return numbers(column)


_TEXT = pa.large_string()


def label_texts(column: Any) -> Any:
    """Return labels as texts; whole numbers are the same label with and without a point."""
    texts = as_texts(column)
    return pc.replace_substring_regex(texts, r"^([+-]?[0-9]+)\.0+$", r"\1")


def sorted_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return distinct labels in order: as numbers if all are numbers, else as texts."""
    distinct = sorted(set(labels))
    values = text_numbers(pa.array(distinct, _TEXT))
    if len(distinct) and not np.isnan(values).any():
        distinct = [distinct[place] for place in np.argsort(values, kind="stable")]
    return tuple(distinct)


def _equal(column: Any, label: str) -> Any:
    """Return which cells are a label; 1, 1.0 and true are one label, whatever a format wrote."""
    texts = as_texts(column)
    equal = pc.equal(texts, label)
    as_number = text_numbers(pa.array([label], _TEXT))[0]
    if np.isnan(as_number):
        return equal
    return pc.or_kleene(equal, pa.array(text_numbers(texts) == as_number))
