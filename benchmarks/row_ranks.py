"""How long ranking within rows takes, for tables as wide as expression arrays.

Run: python benchmarks/row_ranks.py
"""

import argparse
import time

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.row_ranks import row_ranks

TIMES = 5


def main() -> None:
    """Print the minimum CPU time of some runs, without and with equal numbers in a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--columns", type=int, default=22_283)
    asked = parser.parse_args()
    X = np.random.default_rng(0).standard_normal((asked.rows, asked.columns))
    for name, cells in (("all different", X), ("many equal", np.round(X, 1))):
        seconds = least_time(np.asfortranarray(cells))
        print(f"{asked.rows} x {asked.columns}, {name}: {seconds:.2f} s")


def least_time(cells: FloatArray) -> float:
    """Return the minimum CPU time of the ranking."""
    times = []
    for _ in range(TIMES):
        begin = time.process_time()
        row_ranks(cells)
        times.append(time.process_time() - begin)
    return min(times)


if __name__ == "__main__":
    main()
