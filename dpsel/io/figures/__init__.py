"""Figures of an evaluation; matplotlib is the extra `plot` and imported only when one is drawn."""

from dpsel.io.figures.accuracy import accuracy_figure
from dpsel.io.figures.frequencies import frequencies_figure, frequency_bars
from dpsel.io.figures.heatmap import heatmap_figure, significant
from dpsel.io.figures.order import order_figure
from dpsel.io.figures.style import STAMP, Theme, method_styles, png_bytes, save_png, svg_text

__all__ = [
    "STAMP",
    "Theme",
    "accuracy_figure",
    "frequencies_figure",
    "frequency_bars",
    "heatmap_figure",
    "method_styles",
    "order_figure",
    "png_bytes",
    "save_png",
    "significant",
    "svg_text",
]
