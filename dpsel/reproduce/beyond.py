"""What goes beyond the paper: other mechanisms, scalings and scores beside its DP-SIS."""

from dpsel.io.frames import pl
from dpsel.reproduce import BEYOND, PAPER_METHODS, ROUNDS
from dpsel.reproduce.folder import ResultsFolder
from dpsel.reproduce.needed import epsilon_needed

_METRICS = {
    "accuracy": "accuracy",
    "relative_correlation": "|correlation| of the picks / best possible",
}


def write_beyond(folder: ResultsFolder, name: str, results: pl.DataFrame) -> None:
    """Write the mean curves, family by family, and the epsilon that each method needs."""
    from dpsel.io.figures import accuracy_figure, png_bytes

    folder.write_rows(f"{name}_epsilon_needed.csv", epsilon_needed(results))
    for family, methods in families().items():
        rows = results.filter(pl.col("method").is_in(methods))
        for metric, words in _METRICS.items():
            figure = accuracy_figure(mean_over_sets(rows, metric), y_label=words)
            folder.write(f"{name}_{family}_{metric}.png", png_bytes(figure))


def families() -> dict[str, list[str]]:
    """Return the methods of each figure, DP-SIS in all of them."""
    dp_sis, two_stage = PAPER_METHODS
    robust = [method for method in BEYOND if method.endswith("@robust")]
    kendall = [method for method in BEYOND if method.startswith("kendall/")]
    others = [method for method in BEYOND if method not in (*robust, *kendall)]
    return {
        "mechanisms": [dp_sis, two_stage, *others],
        "clipping": [dp_sis, *robust],
        "kendall": [dp_sis, *kendall, ROUNDS],
    }


def mean_over_sets(results: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the mean over data sets of each method, k and epsilon, in the column `accuracy`.

    For accuracy there is a 95 % interval of that mean. The data sets are taken as given, so it is
    that of the draws alone.
    """
    sets = results["dataset"].n_unique()
    mean = pl.col(metric).mean()
    reach = 1.96 * (pl.col("accuracy_sd") ** 2 / pl.col("trials")).sum().sqrt() / pl.len()
    if metric != "accuracy":
        reach = pl.lit(0.0)
    pooled = results.group_by("method", "k_asked", "epsilon", maintain_order=True).agg(
        pl.all().exclude("method", "k_asked", "epsilon", "accuracy").first(),
        mean.alias("accuracy"),
        (mean - reach).clip(0, 1).alias("low"),
        (mean + reach).clip(0, 1).alias("high"),
    )
    named = pooled.with_columns(accuracy_low="low", accuracy_high="high")
    if sets > 1:
        none = pl.lit(None, dtype=pl.Int64)
        named = named.with_columns(
            dataset=pl.lit(f"mean of {sets} data sets"), n=none, d=none, k=none, true_size=none
        )
    return named.select(results.columns)
