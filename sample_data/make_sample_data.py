"""Make the sample tables: the synthetic design of the paper, with a known answer.

    python sample_data/make_sample_data.py

The design is that of Fan & Lv (2008), section 3.3.1, as used in "Feature Selection from
Differentially Private Correlations": standard normal features, eight random ones with weights
(-1)^u (a + |z|), u ~ Bernoulli(0.4), z ~ N(0, 1), a = 4 log(n) / sqrt(n), and normal errors with a
standard deviation of 1.5.
"""

from pathlib import Path

import numpy as np
import polars as pl

HERE = Path(__file__).parent
ROWS, FEATURES, SIGNALS, SEED = 1000, 40, 8, 20240
X_BOUND, Y_BOUND = 1.0, 5.0


def main() -> None:
    """Write the raw and the bounded table, each as CSV and as Parquet."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((ROWS, FEATURES))
    signals = np.sort(rng.choice(FEATURES, SIGNALS, replace=False))
    a = 4 * np.log(ROWS) / np.sqrt(ROWS)
    signs = np.where(rng.random(SIGNALS) < 0.4, -1.0, 1.0)
    weights = np.zeros(FEATURES)
    weights[signals] = signs * (a + np.abs(rng.standard_normal(SIGNALS)))
    y = X @ weights + rng.normal(0.0, 1.5, ROWS)

    names = [f"x{i:02d}" for i in range(FEATURES)]
    raw = pl.DataFrame(X.round(3), schema=names).with_columns(y=y.round(3))
    bounded = raw.select(
        pl.col(names).clip(-X_BOUND, X_BOUND) / X_BOUND,
        (pl.col("y").clip(-Y_BOUND, Y_BOUND) / Y_BOUND).round(3),
    )
    for name, table in (("raw", raw), ("bounded", bounded)):
        table.write_csv(HERE / f"synthetic_{name}.csv")
        table.write_parquet(HERE / f"synthetic_{name}.parquet")
    print("planted:", " ".join(names[i] for i in signals))


if __name__ == "__main__":
    main()
