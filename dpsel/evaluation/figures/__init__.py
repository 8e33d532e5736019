"""The figures of an evaluation; matplotlib is imported only when one is drawn."""

from dpsel.evaluation import STAMP
from dpsel.evaluation.figures.curves import accuracy_figure, order_figure
from dpsel.evaluation.figures.frequencies import frequencies_figure, frequency_bars
from dpsel.evaluation.figures.heatmap import heatmap_figure, significant
from dpsel.evaluation.figures.palette import Theme, method_styles
from dpsel.evaluation.figures.style import png_bytes, save_png, svg_text

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
