"""Labels of a target: which there are, and the bounds of their codes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import UNIT_INTERVAL, Interval
from dpsel.core.errors import InputError
from dpsel.io.columns import Layout
from dpsel.io.pieces import RowReader, Table
from dpsel.io.tables import unchanged_table
from dpsel.io.targets import TargetCoding, distinct_labels, sorted_labels

_MOST_LABELS = 1000


def label_interval(coding: TargetCoding) -> Interval:
    """Return the public bounds of coded labels."""
    if coding.classes is None:
        return UNIT_INTERVAL
    return Interval(0.0, float(max(1, len(coding.classes) - 1)))


def labels_of(open_again: Callable[[], Table], layout: Layout) -> tuple[str, ...]:
    """Return the distinct labels of the target, in order."""
    labels: set[str] = set()

    class Collector(TargetCoding):
        """Looks at labels instead of coding them."""

        def values(self, column: Any) -> FloatArray:
            found, codes = distinct_labels(column)
            used = (found[code] for code in np.unique(codes[codes >= 0]).tolist())
            labels.update(label for label in used if label is not None)
            return np.zeros(len(column))

    with unchanged_table(open_again()) as table:
        for piece in table.pieces(layout, RowReader(Collector())):
            piece.read()
            if len(labels) > _MOST_LABELS:
                name = table.columns[layout.target].name
                raise InputError(
                    f"{table.label}: the target '{name}' has more than {_MOST_LABELS} labels; "
                    "leave out --encode-target, or name them with --classes"
                )
    return sorted_labels(sorted(labels))
