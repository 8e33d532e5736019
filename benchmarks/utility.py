"""Which mechanism finds most of the true top k, and where each fails.

    python benchmarks/utility.py

There are two profiles of scores with d = 2000 and sensitivity 1: `slow decay`, which is
2000 exp(-rank / 400), and `20 signals`, 20 scores of 300 to 400 over noise up to 100. It prints the
share of the true top k, as a mean of 200 draws. The column `need` is 4 log C(d,k) / epsilon:
canonical Lipschitz fails if the spread of the scores is below it.
"""

import math

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.mechanisms.subset_classes import log_subsets
from dpsel.core.release import top_k

D, DRAWS = 2000, 200


def profiles() -> dict[str, FloatArray]:
    """Return the score profiles."""
    rng = np.random.default_rng(0)
    signals = np.concatenate([np.linspace(400, 300, 20), rng.uniform(0, 100, D - 20)])
    return {"slow decay": 2000 * np.exp(-np.arange(D) / 400), "20 signals": signals}


def share(x: FloatArray, k: int, epsilon: float, mechanism: str) -> float:
    """Return the mean share of the true top k among the picks."""
    best = set(np.argsort(-x)[:k].tolist())
    rows = top_k(x, k, epsilon, mechanism=mechanism, draws=DRAWS, seed=k)
    return float(np.mean([len(best & set(row)) / k for row in rows.tolist()]))


def main() -> None:
    """Print the table."""
    print("profile      k   eps   need  spread  " + "".join(f"{name:>20}" for name in MECHANISMS))
    for profile, x in profiles().items():
        for k in (5, 20, 50):
            for epsilon in (0.5, 1.0, 3.0):
                need = 4 * log_subsets(D, k) / epsilon
                cells = "".join(f"{share(x, k, epsilon, name):>20.2f}" for name in MECHANISMS)
                spread = math.floor(x.max() - x.min())
                print(f"{profile:<11} {k:>3} {epsilon:>5g} {need:>6.0f} {spread:>7}  {cells}")


if __name__ == "__main__":
    main()
