"""Labels of a target: the numbers they are coded as, their order, and their canonical form."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.bounds import UNIT_INTERVAL, Interval
from dpsel.errors import UsageError
from dpsel.records import frozen
from dpsel.tables.cells import TRUTH_WORDS, WORDS_FOR_MISSING

# A text matches in one way only, so that no text, however long, causes endless backtracking.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


@frozen
class TargetCoding:
    """How a target's cells become numbers.

    Without labels, numbers stay as they are. With `positive`, that label is 1 and any other -1.
    With `classes`, a label is its place among them, and any other label is NaN. A missing label is
    NaN.
    """

    positive: str | None = None
    classes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse labels that no cell can have."""
        for label in (*(self.classes or ()), *([] if self.positive is None else [self.positive])):
            try:
                label.encode()
            except UnicodeEncodeError:
                raise UsageError("a label of the target is not text in UTF-8") from None
            if normal_label(label) is None:
                raise UsageError(f"'{label}' stands for a missing label; name another one")

    @property
    def of_text(self) -> bool:
        """Return whether the target's cells are labels, not numbers."""
        return self.positive is not None or self.classes is not None

    @property
    def two_classes(self) -> bool:
        """Return whether the coded target is 1, -1 or missing, whatever the cells are."""
        return self.positive is not None

    def values(self, column: Any) -> FloatArray:
        """Return the target of some rows, from an Arrow column, or an array of numbers."""
        if not self.of_text:
            if isinstance(column, np.ndarray):
                return column
            from dpsel.tables.arrow_cells import numbers

            return numbers(column)
        labels, codes = distinct_labels(column)
        known, other = self._known(), math.nan if self.positive is None else -1.0
        values = [math.nan if label is None else known.get(label, other) for label in labels]
        return np.array([*values, math.nan])[codes]

    def _known(self) -> dict[str | None, float]:
        """Return the codes of the labels that the user named."""
        if self.positive is not None:
            return {normal_label(self.positive): 1.0}
        return {normal_label(label): float(code) for code, label in enumerate(self.classes or ())}


def distinct_labels(column: Any) -> tuple[list[str | None], IntArray]:
    """Return labels in canonical form, and for every row the place of its label, -1 for none."""
    # Imported here because most targets are numbers, which need neither polars nor Arrow.
    from dpsel.tables.distinct import distinct_texts

    texts, codes = distinct_texts(column)
    return list(map(normal_label, texts)), codes


def normal_label(text: str) -> str | None:
    """Return the canonical form of a label: 1, 1.0, +1 and true are one label in every format.

    Blanks around it are ignored. An empty label, NaN, and words such as NA are missing: None.
    """
    label = text.strip()
    if label.lower() in WORDS_FOR_MISSING:
        return None
    if label in TRUTH_WORDS:
        return str(int(TRUTH_WORDS[label]))
    if _NUMBER.fullmatch(label) and math.isfinite(number := float(label)):
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return label


def is_number(label: str) -> bool:
    """Return whether a label is written as a number."""
    return _NUMBER.fullmatch(label) is not None


def sorted_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct labels, sorted as numbers if all are numbers, else as texts."""
    distinct = sorted(set(labels))
    if distinct and all(map(is_number, distinct)):
        distinct = [distinct[place] for place in np.argsort([float(d) for d in distinct])]
    return tuple(distinct)


def label_interval(coding: TargetCoding) -> Interval:
    """Return the public bounds of a coded target."""
    if coding.classes is None:
        return UNIT_INTERVAL
    return Interval(0.0, float(max(1, len(coding.classes) - 1)))


def class_list(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels, stripped; refuse them unless all are different and not empty."""
    classes = tuple(label.strip() for label in labels)
    if len(set(classes)) < len(classes) or "" in classes:
        raise UsageError("classes must be different labels with commas between them")
    return classes
