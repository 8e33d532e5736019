"""What an evaluation tells the data holder about its tables and results, in sentences."""

from dpsel.evaluation.data import EvaluationData
from dpsel.evaluation.request import Sweep
from dpsel.evaluation.truth import BY_TABLE, STUMP
from dpsel.preprocessing.options import Scale
from dpsel.system.frames import pl

LASSO_FOUND_NOTHING = (
    "a LASSO uses no feature, so the true features are the k largest |x'y|; choose others with "
    "--truth, or a smaller --penalty"
)


def table_notes(data: EvaluationData, sweep: Sweep) -> list[str]:
    """Return notes about the cells of one table, and about how they were used."""
    bounded = [m.name for m in sweep.methods if sweep.scale_of(m) is Scale.NONE and m.bounded]
    truth, scale = sweep.truth.of_table(words=bool(data.wordy)), data.truth_scale(sweep.scale)
    scaled = scale is not sweep.scale
    notes = _word_notes(data, sweep) if data.wordy else []
    if not scaled:
        return notes + (list(data.clipping) if bounded or scale is Scale.NONE else [])
    by_scaled = [] if truth.kind == STUMP else ["true features"]
    by_scaled += [] if data.wordy else ["correlations"]
    parts = []
    if by_scaled:
        parts.append(f"{' and '.join(by_scaled)} are those of rows scaled as by --scale max-abs")
    if bounded:
        parts.append(
            f"{', '.join(bounded)} used cells clipped to [-1, 1], and outside `dpsel evaluate` "
            "refuse such a table; give --bounds, or --scale for all methods"
        )
    if parts:
        notes.append(f"no bounds were given, and cells are outside [-1, 1]: {'; '.join(parts)}")
    return notes


def _word_notes(data: EvaluationData, sweep: Sweep) -> list[str]:
    """Return notes about a table in which some columns hold words or dates."""
    hold = "holds" if len(data.wordy) == 1 else "hold"
    without = [method.name for method in sweep.methods if method.ranking != STUMP]
    only = f"; {', '.join(without)} can use numbers only, and took these as missing"
    notes = [f"{data.wordy_names} {hold} words or dates{only if without else ''}"]
    if sweep.truth.kind == BY_TABLE:
        models = "" if sweep.unseen else ", or compare models with --unseen 5"
        notes.append(
            "so the true features are the k best by the exact score stump, not by a LASSO; this "
            f"favors the method stump: choose others with --truth{models}"
        )
    return notes


def sweep_notes(results: pl.DataFrame, sweep: Sweep) -> list[str]:
    """Return warnings about the results: no true features, or few, or tied scores."""
    notes, remedy = [], "try --truth sis, or a smaller --penalty"
    empty = results.filter(results["true_size"] == 0)["dataset"].unique(maintain_order=True)
    for name in empty:
        notes.append(
            f"{name}: no feature counts as true ({sweep.truth.described()}), so every accuracy is "
            f"0; {remedy}"
        )
    few = results.filter((results["true_size"] > 0) & (results["true_size"] < results["k"]))
    if sweep.truth.names:  # Users know how many they named.
        few = few.clear()
    for (name, size), cells in few.group_by("dataset", "true_size", maintain_order=True):
        counts = "1 feature counts" if size == 1 else f"{size} features count"
        notes.append(
            f"{name}: only {counts} as true ({sweep.truth.described()}), so for k = {_ks(cells)} "
            f"no more than that can be right; {remedy}"
        )
    tied = results.filter(results["tied"] > 0)
    for (name, method), cells in tied.group_by("dataset", "method", maintain_order=True):
        most = max(cells["tied"].to_list())
        notes.append(
            f"{name}: by {method} the k-th and the next score are equal, k = {_ks(cells)}, in up "
            f"to {most:.0%} of the trials: there no k features are the best, and TOP is 0"
        )
    return notes


def _ks(cells: pl.DataFrame) -> str:
    """Return every k of some results."""
    return ", ".join(map(str, cells["k"].unique(maintain_order=True)))
