"""Which features count as the true ones. Not private."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsel.core.errors import InputError, UsageError
from dpsel.core.evaluation.data import FoundTruth, Rows
from dpsel.core.kept import target_products
from dpsel.core.lasso import PENALTY, lasso_coefficients

LASSO = "lasso"
SIS = "sis"


@dataclass(frozen=True)
class Truth:
    """Where the truth comes from: a LASSO, SIS, or a list of names."""

    kind: str = LASSO
    penalty: float = PENALTY
    names: tuple[str, ...] = ()

    def described(self) -> str:
        """Return it in words."""
        if self.kind == LASSO:
            return f"the k largest coefficients of a LASSO, lambda = {self.penalty:g}"
        return "the k largest |x'y|" if self.kind == SIS else ", ".join(self.names)

    def found(self, rows: Rows, features: Sequence[str]) -> FoundTruth:
        """Return the truth of one data set."""
        if self.kind == LASSO:
            return FoundTruth(lasso_coefficients(rows.X, rows.y, self.penalty), None)
        if self.kind == SIS:
            return FoundTruth(np.abs(target_products(rows.X, rows.y)), None)
        place = {name: i for i, name in enumerate(features)}
        for name in self.names:
            if name not in place:
                raise InputError(f"the truth names '{name}', which is not among the features")
        return FoundTruth(None, np.array(sorted(place[name] for name in self.names)))


def parse_truth(text: str, penalty: float) -> Truth:
    """Return the truth a user asked for: `lasso`, `sis`, or names with commas."""
    if text.strip() in (LASSO, SIS):
        return Truth(text.strip(), penalty)
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise UsageError(f"--truth is {LASSO}, {SIS}, or names of columns with commas")
    return Truth("names", penalty, names)
