"""The figures show the numbers they were given, carry the stamp, and are the same every time."""

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpsel.errors import UsageError
from dpsel.evaluation.figures.curves import accuracy_figure, order_figure
from dpsel.evaluation.figures.frequencies import frequencies_figure, frequency_bars
from dpsel.evaluation.figures.heatmap import differences, heatmap_figure, significant
from dpsel.evaluation.figures.palette import COLOURS, Theme, contrast, method_styles, rgb
from dpsel.evaluation.figures.panels import columns_for, epsilon_ticks
from dpsel.evaluation.figures.style import (
    drawable,
    fitted,
    fitted_apart,
    png_bytes,
    stamp_of,
    svg_text,
    text_width,
)
from tests.tidy_results import EPSILONS, HOSTILE, STAMP, cell, frame, picked, tidy

Draw = Callable[..., Any]
SMALL = tidy(datasets=("golub",), asked=("5",))
FEW = picked(datasets=("golub",), methods=("dp-sis",), features=6)
DRAWN: dict[str, Draw] = {
    "accuracy": lambda **given: accuracy_figure(SMALL, **given),
    "heatmap": lambda **given: heatmap_figure(SMALL, "dp-sis", "two-stage", "5", **given),
    "order": lambda **given: order_figure(SMALL, **given),
    "frequencies": lambda **given: frequencies_figure(FEW, "golub", "5", 1.0, **given),
    "bars": lambda **given: frequency_bars([("a", [3, 0, 1])], 4, [0], "title", **given),
}
every_figure = pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN.keys())


def lines(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.get_lines()}


def all_text(figure: Any) -> list[str]:
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text)]


@every_figure
@pytest.mark.parametrize("theme", Theme)
def test_every_figure_is_stamped_unless_told_otherwise(draw: Draw, theme: Theme) -> None:
    figure = draw(theme=theme)
    assert stamp_of(figure) == STAMP
    assert STAMP in all_text(figure)
    plain = draw(theme=theme, stamp=None)
    assert stamp_of(plain) is None
    assert STAMP not in all_text(plain)


@every_figure
def test_two_drawings_are_the_same_bytes(draw: Draw) -> None:
    assert svg_text(draw(theme=Theme.DARK)) == svg_text(draw(theme=Theme.DARK))
    assert png_bytes(draw()) == png_bytes(draw())


@every_figure
def test_files_say_that_they_are_not_for_release(draw: Draw) -> None:
    figure = draw()
    picture, drawing = png_bytes(figure), svg_text(figure)
    assert f"Comment\0{STAMP}".encode() in picture
    assert b"Title\0" in picture
    assert f"<dc:description>{STAMP}</dc:description>" in drawing
    assert "<dc:date>" not in drawing
    assert STAMP.encode() not in png_bytes(draw(stamp=None))


@every_figure
def test_the_user_s_settings_of_matplotlib_change_nothing(draw: Draw) -> None:
    import matplotlib

    expected = svg_text(draw())
    with matplotlib.rc_context({"font.size": 20, "svg.fonttype": "none", "axes.grid": True}):
        assert svg_text(draw()) == expected
        assert matplotlib.rcParams["font.size"] == 20


@every_figure
def test_no_text_runs_over_the_edge(draw: Draw) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    figure = draw()
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text():
            box = text.get_window_extent(canvas.get_renderer())
            assert box.x0 >= 0, text
            assert box.x1 <= figure.bbox.x1, text
            assert box.y0 >= 0, text
            assert box.y1 <= figure.bbox.y1, text


def test_pyplot_is_never_imported() -> None:
    for draw in DRAWN.values():
        svg_text(draw())
    assert "matplotlib.pyplot" not in sys.modules


def test_accuracy_has_a_panel_for_every_dataset_and_k() -> None:
    axes = accuracy_figure(tidy()).axes
    assert len(axes) == 4
    titles = [[text.get_text() for text in ax.texts] for ax in axes]
    assert titles[0] == ["golub", "k = 5, n = 72, d = 7,129"]
    assert titles[3] == ["alon", "k = 8 (logd), n = 72, d = 7,129"]


def test_curves_and_bands_are_the_accuracies_in_order_of_epsilon() -> None:
    ax: Any = accuracy_figure(tidy().reverse()).axes[0]
    curve = lines(ax)["dp-sis"]
    np.testing.assert_array_equal(curve.get_xdata(), EPSILONS)
    np.testing.assert_allclose(curve.get_ydata(), [0.1, 0.4, 0.7])
    assert ax.get_xscale() == "log"
    heights = [band.get_paths()[0].vertices[:, 1] for band in ax.collections]
    assert sorted((round(h.min(), 6), round(h.max(), 6)) for h in heights) == [
        (0.0, 0.8),
        (0.05, 0.85),
    ]


def test_a_method_that_is_not_private_is_a_dashed_line_across() -> None:
    line = lines(accuracy_figure(tidy()).axes[0])["sis"]
    assert list(line.get_ydata()) == [0.6, 0.6]
    assert list(line.get_xdata()) == [0, 1]  # in parts of the panel's width
    assert line.is_dashed()
    assert line.get_marker() == "None"


def test_the_best_that_can_be_reached_is_dotted_where_it_is_below_one() -> None:
    results = frame([cell(true_size=3), cell(dataset="full", true_size=5)])
    short, full = accuracy_figure(results).axes
    best = lines(short)["best that can be reached"]
    assert list(best.get_ydata()) == [0.6, 0.6]
    assert best.get_linestyle() == ":"
    assert "best that can be reached" not in lines(full)


def test_epsilons_are_plain_numbers() -> None:
    ax = accuracy_figure(tidy()).axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.1", "1", "10"]


@pytest.mark.parametrize(
    ("epsilons", "ticks"),
    [
        ((1.0,), [1.0]),
        ((0.5, 1.0, 2.0, 4.0), [0.5, 1.0, 2.0, 4.0]),
        ((0.1, 0.5, 5.0, 20.0), [0.1, 1.0, 10.0]),
        (tuple(np.linspace(1, 2, 50)), 7),
        ((1e-9, 1e9), 5),
    ],
)
def test_ticks_are_few(epsilons: tuple[float, ...], ticks: Any) -> None:
    found = epsilon_ticks(epsilons)
    if isinstance(ticks, int):
        assert 2 <= len(found) <= ticks
    else:
        assert found == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("count", "together", "columns"),
    [(1, 1, 1), (2, 2, 2), (4, 2, 4), (6, 2, 2), (22, 2, 4), (33, 3, 3), (11, 1, 4), (10, 5, 4)],
)
def test_grids_are_at_most_four_wide(count: int, together: int, columns: int) -> None:
    assert columns_for(count, together) == columns


def test_a_method_has_its_own_colour_and_marker_the_same_in_all_figures() -> None:
    names = [f"method {number}" for number in range(20)]
    styles = method_styles(frame([cell(method=name) for name in names]), Theme.LIGHT)
    assert len({(style.colour, style.marker) for style in styles.values()}) == 20
    results = tidy(methods=("kendall/peeling", "two-stage", "dp-sis"))
    styles = method_styles(results, Theme.LIGHT)
    assert styles["dp-sis"] == method_styles(frame([cell()]), Theme.LIGHT)["dp-sis"]
    for method in ("kendall/peeling", "two-stage", "dp-sis"):
        curve = lines(accuracy_figure(results).axes[0])[method]
        assert curve.get_color() == styles[method].colour
    orders = order_figure(results).axes
    assert lines(orders[0])["TOP"].get_color() == styles["kendall/peeling"].colour


@pytest.mark.parametrize("theme", Theme)
def test_colours_stand_out_from_the_page(theme: Theme) -> None:
    colours = COLOURS[theme]
    for colour in colours.methods:
        assert contrast(rgb(colour), rgb(colours.surface)) >= 3
    for text in (colours.ink, colours.muted):
        assert contrast(rgb(text), rgb(colours.surface)) >= 4.5


def test_contrast_is_that_of_wcag() -> None:
    assert contrast(rgb("#000000"), rgb("#FFFFFF")) == pytest.approx(21)
    assert contrast(rgb("#767676"), rgb("#FFFFFF")) == pytest.approx(4.54, abs=0.01)


def test_order_curves_are_the_shares_of_private_methods() -> None:
    axes = order_figure(tidy()).axes
    assert len(axes) == 8
    curves = lines(axes[0])
    np.testing.assert_allclose(curves["TOP"].get_ydata(), [0.025, 0.1, 0.175])
    np.testing.assert_allclose(curves["GREAT"].get_ydata(), [0.05, 0.2, 0.35])
    np.testing.assert_allclose(curves["GOOD"].get_ydata(), [0.1, 0.4, 0.7])
    with pytest.raises(UsageError, match="need a private method"):
        order_figure(tidy(methods=()))


def test_significance_has_the_known_answers() -> None:
    # t = 0.1 / sqrt(2 * 0.2^2 / 100) = 3.5355 with 198 degrees of freedom: p = 0.00051.
    assert significant((0.5, 0.6), (0.2, 0.2), (100, 100))
    assert significant((0.5, 0.6), (0.2, 0.2), (100, 100), comparisons=98)
    assert not significant((0.5, 0.6), (0.2, 0.2), (100, 100), comparisons=99)
    # Welch's degrees of freedom, 4 here, not Student's: t = 2.5, p = 0.067 rather than 0.037.
    assert not significant((1.0, 0.0), (2 / 5**0.5, 0.0), (5, 5))
    assert significant((0.1, 0.0), (0.0, 0.0), (10, 10), comparisons=1000)
    assert not significant((0.1, 0.1), (0.0, 0.0), (10, 10))
    assert not significant((0.0, 1.0), (0.0, 0.0), (1, 1))
    assert not significant((float("nan"), 1.0), (0.1, 0.1), (9, 9))


def test_significance_agrees_with_the_test_on_raw_trials() -> None:
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(4)
    one, other = rng.normal(0, 1, 12), rng.normal(1, 3, 30)
    p_value = ttest_ind(one, other, equal_var=False).pvalue
    stats = (
        (float(one.mean()), float(other.mean())),
        (float(one.std(ddof=1)), float(other.std(ddof=1))),
        (12, 30),
    )
    assert significant(*stats, level=p_value * 1.001)
    assert not significant(*stats, level=p_value * 0.999)


def compared_cells() -> pl.DataFrame:
    return frame(
        [
            cell(accuracy=0.9, accuracy_sd=0.1),
            cell(accuracy=0.2, accuracy_sd=0.1, method="two-stage"),
            cell(accuracy=0.5, epsilon=2.0),
            cell(accuracy=0.52, epsilon=2.0, method="two-stage"),
            cell(accuracy=0.3, dataset="alon"),
            cell(accuracy=0.4, dataset="alon", accuracy_sd=0.0, method="two-stage"),
            cell(accuracy=0.4, dataset="alon", epsilon=2.0),
            cell(accuracy=1.0, k_asked="logd", k=8),
        ]
    )


def test_the_heat_map_shows_differences_and_dots_where_they_are_significant() -> None:
    figure: Any = heatmap_figure(compared_cells(), "dp-sis", "two-stage", "5")
    mesh, dots = figure.axes[0].collections
    expected = [[0.7, -0.02], [-0.1, np.nan]]
    np.testing.assert_allclose(np.ma.filled(mesh.get_array(), np.nan), expected)
    assert mesh.get_clim() == (-0.7, 0.7)
    cells = {(int(across), int(down)) for across, down in dots.get_offsets()}
    assert cells == {(0, 0), (0, 1)}
    words = all_text(figure)
    for value in ("0.70", "\N{MINUS SIGN}0.02", "\N{MINUS SIGN}0.10"):
        assert value in words
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["golub", "alon"]
    note = next(text for text in words if "Welch" in text)
    assert "two-sided Welch test at level 0.05 / 3 (Bonferroni over 3 cells)" in note


def test_differences_of_the_heat_map_are_of_one_k() -> None:
    with pytest.raises(UsageError, match="needs results of both dp-sis and two-stage"):
        heatmap_figure(compared_cells(), "dp-sis", "two-stage", "logd")
    unknown = compared_cells().with_columns(accuracy=pl.lit(None, dtype=pl.Float64))
    assert differences(unknown, "dp-sis", "two-stage")[2].size == 0


def test_the_most_picked_features_come_first_and_true_ones_are_full() -> None:
    figure: Any = frequencies_figure(picked(), "golub", "5", 1.0)
    assert len(figure.axes) == 3
    ax = figure.axes[0]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [f"gene_{position}" for position in range(20)]
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, [1 / (1 + position) for position in range(20)])
    assert len({bar.get_facecolor() for bar in ax.patches[:5]}) == 1
    assert ax.patches[4].get_facecolor() != ax.patches[5].get_facecolor()


def test_features_that_look_the_same_are_numbered() -> None:
    frequencies = picked(name="x" * 60).with_columns(feature=pl.col("feature") + "y" * 60)
    ax = frequencies_figure(frequencies, "golub", "5", 1.0).axes[0]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[3].endswith("y #3")
    assert len(set(names)) == 20


def test_a_cell_without_picks_is_refused() -> None:
    with pytest.raises(UsageError, match="no feature was picked with k 5 at epsilon 3"):
        frequencies_figure(picked(), "golub", "5", 3.0)


def test_occurrences_are_drawn_from_one_and_true_features_are_full() -> None:
    panels = [("one", [10, 0, 7, 3]), ("two", [3, 7, 0, 10])]
    figure: Any = frequency_bars(panels, 10, [0, 2], "both")
    first, second = figure.axes
    bars = {round(bar.get_x() + bar.get_width() / 2): bar for bar in first.patches}
    assert {place: bar.get_height() for place, bar in bars.items()} == {1: 10, 2: 0, 3: 7, 4: 3}
    assert bars[1].get_facecolor() == bars[3].get_facecolor()
    assert bars[1].get_facecolor() != bars[2].get_facecolor()
    assert first.get_title(loc="left") == "one"
    assert second.get_title(loc="left") == "two"
    assert first.get_ylim()[1] >= 10


def test_names_may_hold_anything() -> None:
    results = tidy(datasets=(HOSTILE, "_hidden"), methods=(f"_{HOSTILE}", "two-stage"))
    frequencies = picked(datasets=(HOSTILE,), methods=(f"_{HOSTILE}",), name=HOSTILE)
    figures = [
        accuracy_figure(results),
        heatmap_figure(results, f"_{HOSTILE}", "two-stage", "5"),
        order_figure(results),
        frequencies_figure(frequencies, HOSTILE, "5", 1.0),
        frequency_bars([(HOSTILE, [1, 2])], 2, [0], HOSTILE),
    ]
    for figure in figures:
        ElementTree.fromstring(svg_text(figure))
        assert png_bytes(figure)


def test_text_is_spelled_out_where_the_font_has_no_letter() -> None:
    assert drawable("a\n\u202eb\x00") == "a\\n\\u202eb\\x00"
    assert drawable("é日") == "é\\u65e5"
    assert len(drawable("x" * 10**6)) == 200


def test_long_names_fit_and_stay_apart() -> None:
    long = "a" * 50 + "middle" + "z" * 50
    short = fitted(long, 1.0)
    assert text_width(short) <= 1.0
    assert short.startswith("aa")
    assert short.endswith("zz")
    assert "…" in short
    assert fitted("short", 1.0) == "short"
    other = long.replace("middle", "centre")
    apart = fitted_apart([long, other, long], 1.0)
    assert len(set(apart.values())) == 2
    assert all(text_width(label) <= 1.0 for label in apart.values())
