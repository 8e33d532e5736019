"""A plan as one HTML page with a figure. The page has no scripts and loads nothing."""

from html import escape

from dpsel.display import safe
from dpsel.evaluation.figures.curves import accuracy_figure
from dpsel.evaluation.figures.palette import Theme
from dpsel.evaluation.figures.style import Figure
from dpsel.evaluation.report import Banner, banner_page, figure_html
from dpsel.evaluation.report_figures import both_themes
from dpsel.planning.plan import Plan
from dpsel.planning.text import answer_words, guessed_words, heading_words, table_rows
from dpsel.system.frames import pl

TITLE = "What an epsilon will buy"
_PUBLIC = Banner(
    "A plan, not a result",
    "The numbers and the figure below come from guesses and simulated tables. No private table was "
    "opened for them: this page may be passed on.",
    public=True,
)
_CAPTION = (
    "Share of right picks against epsilon: what is expected, and a band over what was guessed, "
    "from the worst to the best table."
)


def plan_html(plan: Plan) -> str:
    """Return a page with the whole plan; names in it may contain anything."""
    rows = table_rows(plan)
    words = answer_words(plan)
    alt = f"Curves of the share of right picks for {', '.join(plan.curves)}. The values are below."
    results = _results(plan)

    def draw(theme: Theme) -> Figure:
        return accuracy_figure(results, theme, y_label="share of right picks", stamp=None)

    sections = [
        *(f'<p class="conclusion">{safe(sentence)}</p>' for sentence in words[:2]),
        f"<h2>What was guessed</h2>\n<p>{safe(guessed_words(plan))}</p>",
        "<h2>What to expect</h2>",
        figure_html(both_themes(_CAPTION, alt, draw), 1),
        f"<p>{safe(heading_words(plan))}</p>",
        _table(rows),
        *(f"<p>{safe(sentence)}</p>" for sentence in words[2:]),
    ]
    return banner_page(TITLE, _PUBLIC, sections)


def _table(rows: list[list[str]]) -> str:
    """Return rows as an HTML table; the first row is its head."""
    head, *body = (
        "".join(f'<{tag} class="number">{escape(cell)}</{tag}>' for cell in row)
        for tag, row in zip(["th", *["td"] * (len(rows) - 1)], rows, strict=True)
    )
    lines = "\n".join(f"<tr>{line}</tr>" for line in body)
    return (
        '<div class="scroll" role="region" aria-label="Shares" tabindex="0"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody></table></div>"
    )


def _results(plan: Plan) -> pl.DataFrame:
    """Return the curves as results of an evaluation, for the figure that these have."""
    request, design = plan.request, plan.request.design
    cells = []
    for method, curve in plan.curves.items():
        for place, epsilon in enumerate(curve.epsilons):
            cells.append(
                {
                    "dataset": "the table that was guessed",
                    "k": request.k,
                    "k_asked": str(request.k),
                    "n": design.rows,
                    "d": design.features,
                    "method": str(method),
                    "epsilon": epsilon,
                    "accuracy": float(curve.middle[place]),
                    "accuracy_low": float(curve.low[place]),
                    "accuracy_high": float(curve.high[place]),
                    "true_size": design.effects.count,
                    "private": True,
                }
            )
    return pl.DataFrame(cells)
