"""How a table will be written, and what that changes, for the data holder only."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.preprocessing.options import Scale
from dpsel.preprocessing.scaling import Scaling
from dpsel.records import frozen
from dpsel.tables.columns import Layout
from dpsel.tables.labels import TargetCoding, distinct_labels, is_number
from dpsel.tables.provenance import Provenance

# From this many classes on there are notes: with two, the order of codes is only a sign, and two
# numbers may well be two classes.
_CLASSES = 3
# A larger share of clipped or missing cells is most likely a mistake.
_MOST = 0.5


@frozen
class Prepared:
    """What is known after a first look at the table: how to read it and how to scale it."""

    layout: Layout
    coding: TargetCoding
    scaling: Scaling | None
    """None if cells are written unchanged."""
    provenance: Provenance
    kept: Iterable[FloatArray] | None
    """All rows, if they were kept, so that they need not be read again; iterate over them once."""
    names: tuple[str, ...]
    """The columns to write: features, target, and the person column if it is passed on."""
    passed: int | None
    """The column that is passed on unchanged, if any: that of the persons, or of labels."""
    passed_type: Any | None
    """Its Arrow type."""

    @property
    def passes_labels(self) -> bool:
        """Return whether the target is passed on unchanged, as labels."""
        return self.passed == self.layout.target


@dataclass
class Changes:
    """Counts of what was changed, for the data holder only."""

    cells: int = 0
    missing: int = 0
    clipped: int = 0
    rows: int = 0
    unlabelled: int = 0
    codes: set[float] = field(default_factory=set)
    """The codes of the labels that occur in the rows."""
    labels: set[str] = field(default_factory=set)
    """The labels that were passed on."""

    def count(self, rows: FloatArray, prepared: Prepared) -> None:
        """Count the cells of some raw rows."""
        self.rows += len(rows)
        self.cells += rows.size
        self.missing += int(np.count_nonzero(np.isnan(rows)))
        if prepared.scaling is not None:
            self.clipped += prepared.scaling.clipped(rows)
        if prepared.passes_labels:
            return
        target = rows[:, -1]
        labelled = target[~np.isnan(target)]
        self.unlabelled += len(target) - len(labelled)
        if prepared.coding.of_text:
            self.codes.update(np.unique(labelled).tolist())

    def count_labels(self, column: Any) -> None:
        """Count the labels of some rows, which are passed on unchanged."""
        labels, codes = distinct_labels(column)
        found = [labels[code] if code >= 0 else None for code in codes.tolist()]
        self.unlabelled += found.count(None)
        self.labels.update(label for label in found if label is not None)

    def label_notes(self, prepared: Prepared, target: str, labels: str | None) -> list[str]:
        """Return notes for the holder about labels, which may come from a file `labels`."""
        coding = prepared.coding
        named = {1.0: coding.positive} if coding.positive is not None else {}
        named |= {float(code): label for code, label in enumerate(coding.classes or ())}
        notes = [
            f"no row has the label '{label}' in '{target}'"
            for code, label in named.items()
            if code not in self.codes
        ]
        of_text = coding.of_text or prepared.passes_labels
        if of_text and len(self.codes) < 2 and len(self.labels) < 2:
            notes.append(f"the target '{target}' is the same in all rows that have a label")
        if len(coding.classes or ()) >= _CLASSES:
            notes.append(
                f"the codes of '{target}' have an order, 0, 1, 2, which its classes may not have; "
                "`dpsel select --classes` takes three classes or more as they are"
            )
        if len(self.labels) >= _CLASSES and all(map(is_number, self.labels)):
            notes.append(
                f"all labels of '{target}' are numbers; if they are a quantity, and no classes, "
                "give --numeric-target"
            )
        if self.unlabelled and (of_text or labels is not None):
            share, other = self.unlabelled / self.rows, ", or one that was not asked for"
            notes.append(
                f"{share:.1%} of the rows have no label in '{labels or target}'"
                f"{other if coding.classes is not None else ''}"
            )
        return notes

    def cell_notes(self, prepared: Prepared, *, transposed: bool) -> list[str]:
        """Return notes for the holder about clipped and missing cells.

        `transposed` says that the raw table has features in rows.
        """
        notes = []
        if self.clipped > _MOST * self.cells:
            remedy = {
                str(Scale.NONE): "give public bounds with --bounds",
                str(Scale.ROBUST): "give a larger --clip",
            }.get(prepared.provenance.scale, "give wider bounds")
            unscaled = (
                "write them as they are, with --as-is" if transposed else "take the raw table"
            )
            notes.append(
                f"{self.clipped / self.cells:.1%} of the cells were clipped; {remedy}, or for the "
                f"methods stump and kendall, which need no scaling, {unscaled}"
            )
        if self.missing > _MOST * self.cells:
            notes.append(f"{self.missing / self.cells:.1%} of the cells are missing or not numbers")
        return notes

    def described(self, prepared: Prepared) -> list[tuple[str, str]]:
        """Return what changed as names and values, in shares, never in numbers of rows."""
        coding, made = prepared.coding, prepared.provenance
        method = "public bounds" if made.bounds is not None else f"{made.center}, {made.scale}"
        if prepared.scaling is None:
            method = "every cell as it is"
        if made.clip is not None:
            method += f", clipped at {made.clip:g}"
        lines = [("features", str(len(prepared.layout.names))), ("method", method)]
        if made.medians is not None:
            lines.append(("medians", made.medians))
        if coding.classes is not None:
            lines.append(("labels", str(len(coding.classes))))
        share = 1.0 / self.cells if self.cells else 0.0
        lines.append(("missing cells", f"{self.missing * share:.1%}"))
        if prepared.scaling is not None:
            lines.append(("clipped cells", f"{self.clipped * share:.1%}"))
        return lines
