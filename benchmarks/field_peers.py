"""Select with one method, for `field.py`; this script runs in the environment of that method.

    python field_peers.py METHOD FOLDS.npz EPSILONS

FOLDS.npz has the training rows of every fold (X0, y0, X1, ...), k, and the bounds of every column,
which the peers need. It prints JSON: the picks of every fold and epsilon, the median seconds of one
selection (the first includes imports), and the peak memory of the process in megabytes.
"""

import json
import statistics
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Fold:
    """Training rows with two classes, 0 and 1, and what is publicly known about them."""

    X: Any = field(repr=False)
    y: Any = field(repr=False)
    k: int
    low: Any = field(repr=False)
    high: Any = field(repr=False)


def opendp_picks(fold: Fold, epsilon: float, seed: int) -> list[int]:
    """Sum bounded values times the class with polars, then draw the noisy top k of OpenDP."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    names = [f"x{i}" for i in range(fold.X.shape[1])]
    middle, half = (fold.low + fold.high) / 2, np.maximum((fold.high - fold.low) / 2, 1e-300)
    frame = pl.DataFrame(fold.X, schema=names).with_columns(sign=pl.Series(2 * fold.y - 1))
    sums = frame.lazy().select(
        (((pl.col(name) - m) / h).clip(-1, 1) * pl.col("sign")).sum().abs().alias(name)
        for name, m, h in zip(names, middle.tolist(), half.tolist(), strict=True)
    )
    scores = [float(value) for value in sums.collect().row(0)]
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    chosen = dp.m.make_noisy_top_k(
        *space, dp.max_divergence(), k=fold.k, scale=2 * fold.k / epsilon
    )
    assert chosen.map(1.0) <= epsilon * (1 + 1e-9)
    return sorted(chosen(scores))


def diffprivlib_picks(fold: Fold, epsilon: float, seed: int) -> list[int]:
    """Return the largest coefficients of a private logistic regression, after a private scaler."""
    from diffprivlib.models import LogisticRegression, StandardScaler

    wide = np.where(fold.high > fold.low, fold.high, fold.low + 1.0)
    scaler = StandardScaler(epsilon=epsilon / 2, bounds=(fold.low, wide), random_state=seed)
    norm = fold.X.shape[1] ** 0.5
    model = LogisticRegression(
        epsilon=epsilon / 2, data_norm=norm, max_iter=200, random_state=seed + 1
    )
    Z = np.nan_to_num(scaler.fit_transform(fold.X))
    model.fit(Z, fold.y.astype(int))
    weights = np.abs(model.coef_[0])
    return sorted(np.argsort(-weights, kind="stable")[: fold.k].tolist())


def our_picks(method: str, fold: Fold, epsilon: float, seed: int) -> list[int]:
    """Return the picks of one of our methods, on raw rows and without bounds."""
    from compared_methods import METHODS
    from real_tables import RealTable

    table = RealTable("", "", fold.X, fold.y, 2)
    assert table.k == fold.k
    return [int(index) for index in METHODS[method](table)(epsilon, seed)]


def megabytes_at_most() -> float:
    """Return the peak memory of this process; `getrusage` would include that of its parent."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


PEERS = {"opendp": opendp_picks, "diffprivlib": diffprivlib_picks}


def main() -> None:
    """Print the results as JSON."""
    method, path, epsilons = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    warnings.simplefilter("ignore")
    data = np.load(path)
    picks: dict[str, list[list[int]]] = {str(epsilon): [] for epsilon in epsilons}
    seconds = []
    for index in range(int(data["folds"])):
        fold = Fold(data[f"X{index}"], data[f"y{index}"], int(data["k"]), data["low"], data["high"])
        for place, epsilon in enumerate(epsilons):
            seed = 1000 * index + 2 * place
            start = time.perf_counter()
            if method in PEERS:
                found = PEERS[method](fold, epsilon, seed)
            else:
                found = our_picks(method, fold, epsilon, seed)
            seconds.append(time.perf_counter() - start)
            picks[str(epsilon)].append(found)
    held = megabytes_at_most()
    print(json.dumps({"picks": picks, "seconds": statistics.median(seconds), "megabytes": held}))


if __name__ == "__main__":
    main()
