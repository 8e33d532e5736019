"""Make the sample tables, each with a known answer: the paper's design, visits and arrays.

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
VISITS = 3000
ARRAYS, GENES = 120, 300


def main() -> None:
    """Write all sample tables."""
    write_synthetic()
    write_visits()
    write_arrays()


def write_visits() -> None:
    """Write a raw table as a hospital may have it: numbers, dates, words, codes and gaps.

    Who comes back depends on the ward, on earlier visits and on glucose, and on nothing else.
    """
    rng = np.random.default_rng(SEED + 1)
    wards = np.array(["cardiology", "surgery", "oncology", "geriatrics", "maternity", "trauma"])
    ward = rng.choice(wards, VISITS, p=[0.2, 0.2, 0.1, 0.3, 0.1, 0.1])
    earlier = rng.poisson(1.5, VISITS)
    glucose = rng.normal(105, 22, VISITS).astype(int)
    odds = -3.2 + 2.2 * (ward == "geriatrics") + 0.8 * earlier + 0.045 * (glucose - 105)
    back = rng.random(VISITS) < 1 / (1 + np.exp(-odds))
    start = np.datetime64("2023-01-01")
    table = pl.DataFrame(
        {
            "admitted": start + rng.integers(0, 700, VISITS).astype("timedelta64[D]"),
            "ward": ward,
            "age": rng.integers(18, 97, VISITS),
            "sex": rng.choice(["f", "m"], VISITS),
            "insurance": rng.choice(["public", "private", "none"], VISITS, p=[0.7, 0.25, 0.05]),
            "systolic": rng.normal(128, 17, VISITS).astype(int),
            "glucose": glucose,
            "creatinine": rng.lognormal(0.0, 0.35, VISITS).round(2),
            "hemoglobin": rng.normal(13.4, 1.6, VISITS).round(1),
            "bmi": rng.normal(26.5, 4.8, VISITS).round(1),
            "nights": 1 + rng.poisson(3.0, VISITS),
            "earlier_visits": earlier,
            "diagnosis": rng.choice([f"I{i}" for i in range(10, 60)], VISITS),
            "discharged_to": rng.choice(["home", "care", "clinic"], VISITS, p=[0.8, 0.15, 0.05]),
            "came_back": np.where(back, "yes", "no"),
        }
    )
    for name in ("glucose", "bmi", "hemoglobin", "insurance"):
        gaps = pl.Series(rng.random(VISITS) < 0.06)
        table = table.with_columns(pl.when(gaps).then(None).otherwise(pl.col(name)).alias(name))
    table.write_csv(HERE / "visits.csv")
    write_european(table, HERE / "visits_eu.csv")
    print("planted: ward glucose earlier_visits; share that came back:", back.mean())


def write_arrays() -> None:
    """Write log expressions with a gene a row and an array a column, and the arrays' labels.

    Arrays differ in brightness. In tumors three genes are higher or lower, and no others.
    """
    rng = np.random.default_rng(SEED + 2)
    tumor = rng.permutation(np.arange(ARRAYS) % 2 == 0)
    expression = rng.normal(rng.normal(7, 1.5, (GENES, 1)), 0.6, (GENES, ARRAYS))
    expression += rng.normal(0, 1.2, ARRAYS)
    planted = np.sort(rng.choice(GENES, 3, replace=False))
    expression[planted] += np.outer([3.0, -3.0, 3.0], tumor)
    genes = [f"gene{place:03d}" for place in range(GENES)]
    arrays = [f"array{place:03d}" for place in range(ARRAYS)]
    cells = dict(zip(arrays, expression.round(1).T, strict=True))
    pl.DataFrame({"gene": genes, **cells}).write_csv(HERE / "arrays.csv")
    labels = np.where(tumor, "tumor", "healthy")
    pl.DataFrame({"array": arrays, "tissue": labels}).write_csv(HERE / "arrays_labels.csv")
    print("planted:", " ".join(genes[place] for place in planted))


def write_european(table: pl.DataFrame, path: Path) -> None:
    """Write a table as Excel does it in most of Europe: semicolons and decimal commas."""
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    commas = pl.col(floats).cast(pl.String).str.replace(".", ",", literal=True)
    table.with_columns(commas).write_csv(
        path, separator=";", line_terminator="\r\n", include_bom=True
    )


def write_synthetic() -> None:
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
