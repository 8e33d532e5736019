"""An entry for the registry of deployments: valid YAML, with its fields and no others."""

import copy
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpsel.cards.registry import registry_entry
from dpsel.display import printable
from dpsel.errors import UsageError
from tests.cards.records import HOSTILE, fields, ledger_with, record

yaml: Any = pytest.importorskip("yaml", reason="needs PyYAML to read YAML, as dask does")
SCHEMA = json.loads(files("dpsel.cards").joinpath("registry.schema.json").read_text())
VALID = jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.FormatChecker(["date"]))


def entry(text: str) -> dict[str, Any]:
    """Return the one document in a text, if it is a valid entry."""
    found: dict[str, Any] = yaml.safe_load(text)
    VALID.validate(found)
    return found


def test_an_entry_states_the_guarantee(tmp_path: Path) -> None:
    mine = fields(date="2024-05-01", guarantee={"delta": 1e-6})
    history = ledger_with(tmp_path / "l", mine)
    text = registry_entry(record(date="2024-05-01", guarantee={"delta": 1e-6}), history)
    found = entry(text)["deployment"]
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0, "delta": 1e-6}
    assert found["dp_variant"]["variant_name"] == "Approximate DP"
    assert found["basic"]["publication_date"] == "2024-05-01"
    assert "`ward`, `glucose`" in found["basic"]["description"]
    assert "this release is charge 2" in found["implementation"]["composition"]
    assert "number_of_privacy_units" not in found["privacy_loss"]
    assert text == registry_entry(record(date="2024-05-01", guarantee={"delta": 1e-6}), history)


def test_what_nobody_knows_is_marked(tmp_path: Path) -> None:
    text = registry_entry(record(), None)
    marked = [
        line.split(":")[0].strip() for line in text.splitlines() if line.endswith("# fill in")
    ]
    assert marked == [
        *("data_curator_name", "data_curator_type", "intended_use", "data_product_type"),
        *("data_product_region", "data_product_sector", "publication_date", "data_source_type"),
        *("justification", '- "who wrote this entry"  # fill in'),
    ]
    assert entry(text)["deployment"]["dp_variant"]["variant_name"] == "Pure DP"


def test_what_is_not_from_end_to_end_says_so_first() -> None:
    found = entry(registry_entry(record(guarantee={"end_to_end": False, "why": "half"}), None))
    description = found["deployment"]["basic"]["description"]
    assert description.startswith("The guarantee is not from end to end: half. ")


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 2, 1e16, 1e300])
def test_numbers_are_numbers(epsilon: float) -> None:
    found = entry(registry_entry(record(guarantee={"epsilon": epsilon}), None))
    assert found["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == epsilon


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_whatever_the_names_it_is_one_valid_entry(name: str) -> None:
    hostile = record(
        selected_features=[name, "ward"],
        target=name,
        score=name,
        mechanism={"name": name, "gamma": name},
        version=name,
        budget=[{"name": name, "epsilon": 1.0}],
        guarantee={"why": name},
    )
    found = entry(registry_entry(hostile, None))
    if name.strip():
        assert printable(name) in found["deployment"]["basic"]["description"]


def test_a_release_without_a_guarantee_is_none_for_the_registry() -> None:
    with pytest.raises(UsageError, match="the registry is for private releases"):
        registry_entry(record(guarantee=None), None)


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("basic", {"publication_date": "1/1/2026"}),
        ("basic", {"data_product_type": "Surprise"}),
        ("basic", {"surprise": 1}),
        ("administrative", {"tier": 0}),
        ("privacy_loss", {"privacy_parameters": {"epsilon": "two"}}),
    ],
)
def test_the_schema_refuses_what_the_registry_refuses(part: str, wrong: dict[str, Any]) -> None:
    found = copy.deepcopy(entry(registry_entry(record(), None)))
    found["deployment"][part] |= wrong
    with pytest.raises(jsonschema.ValidationError):
        VALID.validate(found)
