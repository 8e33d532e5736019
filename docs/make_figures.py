"""Draw the figures of the explanations: `python docs/make_figures.py`."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import dpsel
from dpsel.core.arrays import FloatArray
from dpsel.core.mechanisms.registry import MECHANISMS

HERE = Path(__file__).parent / "explanation"
PUBLIC, PRIVATE, INK = "#e6f0fa", "#fbe9e7", "#222222"
DRAWS, K = 200, 5
COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#999999")


def life_of_a_cell() -> Figure:
    """Return the way of a cell from a table to the record, private and public side apart."""
    figure = Figure(figsize=(7.6, 2.5))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(-1.2, 98)
    axes.set_ylim(0, 33)
    axes.add_patch(
        FancyBboxPatch((19.5, 2), 57, 24, boxstyle="round,pad=0.6", fc=PRIVATE, ec="none")
    )
    axes.text(
        48,
        28.6,
        "private: nothing leaves this area except through the mechanism",
        ha="center",
        size=8,
        color="#8a3324",
    )
    steps = [
        (
            1.5,
            "request\n\noptions checked,\nnames and types\nof the columns,\ncharge to the ledger",
            PUBLIC,
        ),
        (21, "cells\n\nread as numbers,\nwords or missing;\nno cell is\nan error", "white"),
        (
            40.5,
            "scores\n\nthe best question\nof each column, in\nintegers; one row\nmoves it by 1",
            "white",
        ),
        (60, "mechanism\n\ndraws k columns,\nwith noise\nthat hides\none row", "white"),
        (79.5, "record\n\nnames, method,\nguarantee; stored\nin the ledger,\nthen written", PUBLIC),
    ]
    for place, (left, text, colour) in enumerate(steps):
        axes.add_patch(
            FancyBboxPatch((left, 4), 15.5, 20, boxstyle="round,pad=0.5", fc=colour, ec=INK, lw=0.8)
        )
        title, _, rest = text.partition("\n\n")
        axes.text(left + 7.7, 20.4, title, ha="center", size=9, weight="bold", color=INK)
        axes.text(left + 7.7, 12.5, rest, ha="center", va="center", size=7, color=INK)
        if place:
            axes.annotate("", (left - 0.4, 14), (left - 3.3, 14), arrowprops={"arrowstyle": "->"})
    return figure


def right_share(mechanism: str, values: FloatArray, epsilon: float) -> float:
    """Return which share of the picks is among the first five, over many draws."""
    asked: dict[str, Any] = {"k": K, "epsilon": epsilon, "sensitivity": 1.0}
    picks = dpsel.top_k(values, mechanism=mechanism, seed=1, draws=DRAWS, **asked)
    return float(np.mean(picks < K))


def mechanisms() -> Figure:
    """Return which share of the top 5 each mechanism finds, over epsilon."""
    values = np.concatenate([np.linspace(60, 100, K), np.linspace(5, 15, 45)])
    epsilons = np.geomspace(0.05, 5, 14)
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    for name, colour in zip(MECHANISMS, COLOURS, strict=True):
        shares = [right_share(name, values, float(epsilon)) for epsilon in epsilons]
        axes.plot(epsilons, shares, label=name, color=colour, marker="o", ms=3)
    axes.axhline(K / len(values), color=INK, lw=0.8, ls=":")
    axes.annotate(
        "a random choice",
        (epsilons[-1], K / len(values)),
        (0, 3),
        textcoords="offset points",
        ha="right",
        size=8,
    )
    axes.set_xscale("log")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("share of right picks")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    for name, figure in (("life_of_a_cell", life_of_a_cell()), ("mechanisms", mechanisms())):
        figure.savefig(HERE / f"{name}.png", dpi=160)
