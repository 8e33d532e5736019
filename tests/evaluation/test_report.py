"""The report is one file that asks for nothing, and no name in it gets out of its cell."""

import base64
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from dpsel.evaluation.report import ReportFigure, report_html
from dpsel.evaluation.report_figures import compared, sweep_figures
from tests.tidy_results import HOSTILE, cell, frame, picked, tidy

ROOT = Path(__file__).parents[2]
VOID = {"meta", "link", "source", "img", "br"}
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt"></svg>'


class Page(HTMLParser):
    """Reads a page, and notes every tag that is not closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def names(self) -> set[str]:
        return {name for name, _ in self.tags}


def plain(results: pl.DataFrame, figures: list[ReportFigure] | None = None) -> str:
    return report_html("Title", [("version", "1")], results, figures or [], ["A note."])


def test_the_page_is_well_formed_and_says_that_it_is_not_for_release() -> None:
    page = Page(plain(tidy()))
    assert page.wrong == []
    assert "Not private, not for release" in page.text
    assert "computed from the data themselves, without protection" in " ".join(page.text.split())
    assert "A note." in page.text


def test_nothing_is_loaded_and_nothing_runs() -> None:
    figure = ReportFigure("Caption", "Alt", SVG, SVG)
    text = plain(tidy(), [figure])
    page = Page(text)
    assert page.names().isdisjoint({"script", "iframe", "object", "embed", "form", "base", "a"})
    assert re.search(r"https?:|//\w", text) is None
    for _, attributes in page.tags:
        for name in ("src", "srcset", "href"):
            assert (attributes.get(name) or "data:").startswith("data:")
        assert not any(name.startswith("on") for name in attributes)
    policies = [
        attributes["content"]
        for _, attributes in page.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies[0] is not None
    assert policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_a_figure_has_both_themes_its_size_its_caption_and_words_in_its_place() -> None:
    dark = SVG.replace("72", "73")
    page = Page(plain(tidy(), [ReportFigure('Cap "1"', 'Alt "2"', SVG, dark)]))
    image = next(attributes for tag, attributes in page.tags if tag == "img")
    source = next(attributes for tag, attributes in page.tags if tag == "source")
    assert source["media"] == "screen and (prefers-color-scheme: dark)"
    for address, svg in ((image["src"], SVG), (source["srcset"], dark)):
        kind, _, content = (address or "").partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert base64.b64decode(content).decode() == svg
    assert image["alt"] == 'Alt "2"'
    assert (image["width"], image["height"]) == ("96", "48")
    assert 'Figure 1. Cap "1"' in page.text


def test_the_table_holds_every_result_rounded() -> None:
    shares = {"accuracy": 0.12345, "bound": 0.98765, "top": 0.0625, "great": 0.1249, "good": 0.5}
    other_method = cell(method="sis", private=False, epsilon=0.1)
    page = Page(plain(frame([cell(d=22283, **shares), other_method])))
    head, first, second = page.rows[1:]
    row = dict(zip(head, first, strict=True))
    assert row == {
        "data set": "golub",
        "n": "72",
        "d": "22,283",
        "method": "dp-sis",
        "k": "5",
        "epsilon": "1",
        "trials": "100",
        "truth": "5",
        "accuracy [95 %]": "0.123 [0.023, 0.223]",
        "TOP": "0.06",
        "GREAT": "0.12",
        "GOOD": "0.50",
        "tied": "0.00",
        "relative correlation": "0.750",
        "Jaccard": "0.250",
        "bound": "0.988",
    }
    other = dict(zip(head, second, strict=True))
    assert other["method"] == "sis (not private)"
    assert other["bound"] == "\N{EN DASH}"
    for heading in head:
        assert page.text.count(heading) >= 2  # in the table, and explained below it


def test_jaccard_is_explained_as_agreement_between_trials() -> None:
    text = " ".join(Page(plain(tidy())).text.split())
    _, _, meaning = text.partition("What the columns mean")
    meaning = meaning.partition("Jaccard")[2].partition("bound")[0]
    assert "How alike two trials are" in meaning
    assert "right" not in meaning


def test_a_number_that_is_not_known_is_a_dash() -> None:
    page = Page(plain(frame([cell(jaccard=float("nan"), k=8, k_asked="logd")])))
    row = dict(zip(page.rows[1], page.rows[2], strict=True))
    assert row["Jaccard"] == "\N{EN DASH}"
    assert row["k"] == "8 (logd)"


@pytest.mark.parametrize(("rows", "folded"), [(60, False), (61, True)])
def test_a_long_table_is_folded_away(rows: int, folded: bool) -> None:
    page = Page(plain(frame([cell()] * rows)))
    assert ("details" in page.names()) is folded
    assert page.wrong == []


def test_a_hostile_name_stays_a_name() -> None:
    results = tidy(datasets=(HOSTILE,), methods=(HOSTILE, "two-stage"), asked=(HOSTILE,))
    figure = ReportFigure(HOSTILE, HOSTILE, SVG, SVG)
    text = report_html(HOSTILE, [(HOSTILE, HOSTILE)], results, [figure], [HOSTILE])
    page = Page(text)
    assert page.wrong == []
    assert "script" not in page.names()
    assert "<script" not in text
    assert "\u202e" not in text
    shown = HOSTILE.replace("\u202e", "\\u202e").replace("\n", "\\n")
    assert page.rows[0] == [shown, shown]
    assert page.rows[2][0] == shown
    image = next(attributes for tag, attributes in page.tags if tag == "img")
    assert image["alt"] == shown


def test_the_report_is_imported_without_matplotlib() -> None:
    heavy = "{'matplotlib', 'polars', 'scipy'}"
    code = f"import sys, dpsel.evaluation.report; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def test_the_paper_s_two_methods_are_compared_if_both_are_there() -> None:
    assert compared(tidy(methods=("other", "two-stage", "dp-sis"))) == ("dp-sis", "two-stage")
    assert compared(tidy(methods=("b", "a"))) == ("b", "a")
    assert compared(tidy(methods=("b",))) is None


def test_the_standard_figures_of_an_evaluation() -> None:
    figures = sweep_figures(tidy(), picked())
    starts = [figure.caption.split(":")[0].split(",")[0] for figure in figures]
    assert starts == [
        "Accuracy against epsilon",
        "Accuracy of dp-sis minus that of two-stage",
        "Accuracy of dp-sis minus that of two-stage",
        "Shares of trials that were TOP",
        "The 20 features picked most often by each method",
        "The 20 features picked most often by each method",
    ]
    assert "two-sided Welch test" in figures[1].caption
    assert [figure.caption.count("k = logd") for figure in figures[1:3]] == [0, 1]
    assert "golub, k = 5, epsilon = 1." in figures[4].caption  # 1 is nearer to 2 than 10 is
    assert all(figure.light_svg != figure.dark_svg for figure in figures)
    assert all(figure.alt for figure in figures)
    page = Page(report_html("All", [], tidy(), figures, []))
    assert page.wrong == []
    assert sum(tag == "img" for tag, _ in page.tags) == 6


def test_a_figure_that_cannot_be_drawn_is_left_out() -> None:
    assert len(sweep_figures(tidy(methods=(), asked=("5",)))) == 1
    assert len(sweep_figures(tidy(methods=("dp-sis",), asked=("5",)), picked().clear())) == 2
    assert sweep_figures(tidy().clear(), picked()) == []


def test_bars_are_drawn_for_at_most_six_datasets() -> None:
    datasets = tuple(f"set {number}" for number in range(8))
    frequencies = picked(datasets=datasets, methods=("sis",), features=3)
    figures = sweep_figures(tidy(datasets=datasets[:1], methods=(), asked=("5",)), frequencies)
    assert len(figures) == 1 + 6
