"""Draft an entry for the public registry of differential-privacy deployments, in YAML.

The registry is opendp/deployments-registry-data; its fields are in `registry.schema.json`, as of
commit 057e5d8. Fields that neither the record nor the ledger can answer are marked `fill in`.
"""

import json
import re
from typing import Any

from dpsel.budget.ledger import History
from dpsel.cards.content import charge_for, count_words, odds_text
from dpsel.cards.pages import code_span, escaped
from dpsel.cards.record import Published
from dpsel.core.guarantee import Guarantee, Neighbors
from dpsel.core.selection import Selection
from dpsel.errors import UsageError

UNKNOWN_DAY = "1900-01-01"
_FILL_IN = "fill in"


class Blank(str):
    """A placeholder to be filled in by hand; its text is one that the registry accepts."""

    __slots__ = ()


def registry_entry(record: Published, history: History | None) -> str:
    """Return a draft of an entry, which is valid but must be completed by hand.

    Privacy:
        Guarantee: none is needed; see `card_of`. The registry has a field for the number of
            persons; no record states it.
        Tested by: tests/cards/test_registry.py

    Raises:
        UsageError: If the record has no guarantee.
    """
    guarantee = record.selection.guarantee
    if guarantee is None:
        raise UsageError("this record promises nothing: the registry is for private releases")
    return "\n".join(_yaml(_entry(record, guarantee, history))) + "\n"


def _entry(record: Published, guarantee: Guarantee, history: History | None) -> dict[str, Any]:
    """Return the entry as plain values."""
    selection, question = record.selection, record.selection.question
    name, day = count_words(selection), None
    if question is not None:
        name, day = f"{name} for {escaped(question.target)}", question.date
    return {
        "url_slug": _slug(f"dpsel {name} {day or ''}"),
        "deployment": {
            "basic": _basic(selection, guarantee, name, day),
            "dp_variant": _variant(guarantee),
            "privacy_loss": _loss(selection, guarantee),
            "deployment_model": _model(history),
            "implementation": _implementation(record, guarantee, history),
            "administrative": {
                "status": "Draft",
                "registry_authors": [Blank("who wrote this entry")],
                "tier": 2,
            },
        },
    }


def _basic(
    selection: Selection, guarantee: Guarantee, name: str, day: str | None
) -> dict[str, Any]:
    """Return the description and the purpose of the release."""
    features = ", ".join(map(code_span, selection.selected_features))
    covered = ""
    if not guarantee.scope.end_to_end:
        covered = f"The guarantee is not from end to end: {escaped(guarantee.scope.why)}. "
    return {
        "name": f"Selected {name}",
        "data_curators": [
            {
                "data_curator_name": Blank("who publishes it"),
                "data_curator_type": Blank("Nonprofit"),
            }
        ],
        "description": f"{covered}The names of {name}, selected privately: {features}.",
        "intended_use": Blank("what it is for"),
        "data_product_type": Blank("Summary statistics"),
        "data_product_region": Blank("where the people are"),
        "data_product_sector": Blank("Healthcare"),
        "publication_date": Blank(UNKNOWN_DAY) if day is None else day,
    }


def _variant(guarantee: Guarantee) -> dict[str, Any]:
    """Return the variant of privacy, the domain, and what is not protected."""
    open_to_all = "Names and types of columns, the target and its labels, bounds and all options."
    if guarantee.neighbors is Neighbors.REPLACE_ONE:
        open_to_all += f" The number of {guarantee.unit.name}s."
    return {
        "variant_name": "Approximate DP" if guarantee.delta else "Pure DP",
        "data_domain": "Tables with the same columns, whatever their cells.",
        "unprotected_quantities": open_to_all,
    }


def _loss(selection: Selection, guarantee: Guarantee) -> dict[str, Any]:
    """Return the unit of privacy and the parameters."""
    unit = guarantee.unit
    changed = "is there or not"
    if guarantee.neighbors is Neighbors.REPLACE_ONE:
        changed = "has other values"
    details = f"Neighboring tables ({guarantee.neighbors}): one {unit.name} {changed}"
    if unit.name == "person":
        details += f", with all rows, of which at most {unit.rows} count"
    numbers: dict[str, Any] = {"epsilon": guarantee.epsilon}
    meaning = f"Odds of 1:1 become at most {odds_text(guarantee.epsilon)}:1."
    if guarantee.delta:
        numbers["delta"] = guarantee.delta
        meaning = f"But for a chance of {guarantee.delta:g}: {meaning}"
    for part in selection.budget:
        meaning += f" Of epsilon, {part.epsilon:g} went to: {escaped(part.name)}."
    return {
        "privacy_unit": "Row" if unit.name == "row" else "Person",
        "privacy_unit_details": f"{details}.",
        "privacy_parameters": numbers,
        "privacy_parameters_details": meaning,
    }


def _model(history: History | None) -> dict[str, Any]:
    """Return who is trusted, and how often data are released."""
    more = "Not known to this draft: no ledger was named."
    if history is not None:
        ledger = history.ledger
        more = f"The same people's ledger has {ledger.charges} charges within epsilon "
        more += f"{ledger.limit.to_dict()['epsilon']}, a limit that never changes."
    return {
        "model_name": "Central",
        "trust_assumptions": "The holder of the data runs the program, and is trusted with them.",
        "release_type": "One release",
        "release_type_details": more,
        "data_source_type": Blank("Static"),
        "access_type": "Non-interactive",
    }


def _implementation(
    record: Published, guarantee: Guarantee, history: History | None
) -> dict[str, Any]:
    """Return the mechanism, and how costs compose."""
    charge = None if history is None else charge_for(record, history)
    composition = "Sequential composition, of the parts of epsilon within the release."
    if history is not None:
        spent = history.ledger.spent.to_dict()
        composition += f" In its ledger epsilon {spent['epsilon']} and delta {spent['delta']} "
        composition += "are spent, added up exactly"
        composition += "." if charge is None else f"; this release is charge {charge.number}."
    made = record.selection
    mechanism = f"{made.mechanism}, by dpsel {made.version}, on the score {made.score}"
    parameters = "".join(f", {name} {value}" for name, value in made.parameters.items())
    return {
        "preprocessing_and_hyperparameter_tuning": f"{escaped(guarantee.scope.why)}.",
        "mechanisms": f"{escaped(mechanism + parameters)}. Scores are whole numbers.",
        "composition": composition,
        "post_processing": "None: the names of the columns that were drawn.",
        "justification": Blank("why these options"),
    }


def _slug(text: str) -> str:
    """Return a text as part of a URL."""
    return "-".join(re.findall("[a-z0-9]+", text.lower()))[:100]


def _yaml(value: Any, indent: str = "") -> list[str]:
    """Return lines of YAML: mappings and lists as blocks, values as JSON, which is valid YAML.

    The registry reads texts as Markdown, so names are code spans and quoted texts are escaped.
    """
    lines: list[str] = []
    items = value.items() if isinstance(value, dict) else [("-", item) for item in value]
    for name, item in items:
        head = f"{indent}-" if name == "-" else f"{indent}{name}:"
        if isinstance(item, dict | list):
            lines += [head, *_yaml(item, indent + "  ")]
        else:
            mark = f"  # {_FILL_IN}" if isinstance(item, Blank) else ""
            lines.append(f"{head} {_scalar(item)}{mark}")
    return lines


def _scalar(value: Any) -> str:
    """Return a value as JSON; floats with an exponent get a point, which YAML 1.1 readers need."""
    if isinstance(value, float):
        text = repr(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    return json.dumps(value)
