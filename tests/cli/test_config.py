"""`--config FILE`: options from a file, and what a dry run shows of them."""

import json
from pathlib import Path
from typing import get_type_hints

import pytest

from dpsel.cli.config import read_config
from tests.cli.conftest import ROOT, Dpsel
from tests.cli.test_help import built_command

VISITS = ROOT / "sample_data" / "visits.csv"
RUN = """
target = "came_back"
positive = "yes"
k = 3
epsilon = 2
exclude = ["ward", "sex"]
rows_per_person = 2
person = "age"
row-ranks = false
date = 2026-11-18
sampler = "lazy"
mechanism = "canonical-lipschitz"
gamma = 1
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "run.toml"


def merged(dpsel: Dpsel, *words: object) -> dict[str, object]:
    """Return what a dry run says that it was told."""
    result = dpsel("select", VISITS, *words, "--dry-run")
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out)
    assert found["table"] == str(VISITS)
    options: dict[str, object] = found["options"]
    return options


def test_a_dry_run_prints_the_options_of_the_file(dpsel: Dpsel, config: Path) -> None:
    config.write_text(RUN)
    assert merged(dpsel, "--config", config) == {
        "target": "came_back",
        "positive": "yes",
        "k": 3,
        "epsilon": 2.0,
        "exclude": ["ward", "sex"],
        "rows-per-person": 2,
        "person": "age",
        "date": "2026-11-18",
        "sampler": "lazy",
        "mechanism": "canonical-lipschitz",
        "gamma": 1.0,
    }


def test_the_command_line_wins_over_the_file(dpsel: Dpsel, config: Path) -> None:
    config.write_text('target = "came_back"\nk = 3\nepsilon = 2\nexclude = "ward"\nquiet = true\n')
    words = ("-e", "0.5", "--exclude", "sex", "--exclude", "age,bmi", "--k=4")
    assert merged(dpsel, "--config", config, *words) == {
        "target": "came_back",
        "k": 4,
        "epsilon": 0.5,
        "exclude": ["sex", "age,bmi"],
        "quiet": True,
    }


def test_a_run_by_a_file_is_the_run_by_its_options(dpsel: Dpsel, config: Path) -> None:
    words = ("--target", "came_back", "--positive", "yes", "--k", "2", "--epsilon", "1")
    config.write_text('target = "came_back"\npositive = "yes"\nk = 2\nepsilon = 1\nseed = 5\n')
    by_file = dpsel("select", VISITS, "--config", config, "--quiet")
    assert by_file == dpsel("select", VISITS, *words, "--seed", "5", "--quiet")
    assert (by_file.code, json.loads(by_file.out)["k"]) == (0, 2)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("epsilonn = 1", "there is no option 'epsilonn'; did you mean 'epsilon'?"),
        (
            "rows_per_persons = 1",
            "there is no option 'rows_per_persons'; did you mean 'rows-per-person'?",
        ),
        ("zzz = 1", "there is no option 'zzz'"),
        ("table = 'x.csv'", "'table' belongs on the command line"),
        ("up-to = 1\nup_to = 2", "up-to is there twice"),
        ("config = 'other.toml'", "'config' belongs on the command line"),
        ("debug = true", "'debug' belongs on the command line"),
        ("k = 'five'", "k must be a whole number"),
        ("k = 5.0", "k must be a whole number"),
        ("k = true", "k must be a whole number"),
        ("epsilon = 'one'", "epsilon must be a number"),
        ("epsilon = true", "epsilon must be a number"),
        ("quiet = 'yes'", "quiet must be true or false"),
        ("quiet = 1", "quiet must be true or false"),
        ("target = ['a', 'b']", "target must be a text"),
        ("target = true", "target must be a text"),
        ("features = [1, true]", "features must be a text, or a list of texts"),
        ("classes = ['a,b', 'c']", "classes must be texts without commas"),
        ("neighbors = 'both'", "neighbors must be one of 'add-remove', 'replace-one'"),
        ("neighbors = ['add-remove']", "neighbors must be one of 'add-remove', 'replace-one'"),
        ("[select]\nk = 5", "[select]: options are not in sections"),
    ],
)
def test_an_invalid_config_is_one_plain_error_that_names_the_file(
    dpsel: Dpsel, config: Path, text: str, complaint: str
) -> None:
    config.write_text(text)
    result = dpsel("select", VISITS, "--config", config)
    assert (result.code, result.out) == (3, "")
    assert result.err.splitlines()[0] == f"error: run.toml: {complaint}"


def test_a_file_that_cannot_be_read_is_named(dpsel: Dpsel, config: Path) -> None:
    result = dpsel("select", VISITS, "--config", config)
    assert (result.code, result.err) == (3, f"error: {config}: no such file\n")
    config.write_text("k = ")
    assert dpsel("select", VISITS, "--config", config).err.startswith(
        "error: run.toml: is not TOML"
    )
    assert dpsel("select", VISITS, "--config", "").code == 3
    assert dpsel("select", VISITS, "--config", config, "--help").code == 0


def test_no_file_is_searched_for_and_epsilon_has_no_default(
    dpsel: Dpsel, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    monkeypatch.setenv("HOME", str(config.parent))
    for name in ("run.toml", "dpsel.toml", ".dpsel.toml", "pyproject.toml"):
        Path(name).write_text("epsilon = 1\n")
    asked = ("select", VISITS, "--target", "came_back", "--k", "1")
    assert "Missing option '--epsilon'" in dpsel(*asked).err
    config.write_text("quiet = true\n")
    assert "Missing option '--epsilon'" in dpsel(*asked, "--config", config).err


def test_lists_become_the_words_that_other_commands_take(config: Path) -> None:
    config.write_text("epsilon = [1, 2.5]\nfeatures = 5\ntruth = ['a', 'b']\n")
    command = built_command("plan")
    kinds = get_type_hints(command.callback, include_extras=True)
    found = {"epsilon": "1,2.5", "features": 5, "truth": "a,b"}
    assert read_config(str(config), command.params, kinds) == found


@pytest.mark.parametrize("name", ["preprocess", "baseline", "evaluate", "plan", "audit"])
def test_other_commands_take_such_a_file_too(dpsel: Dpsel, config: Path, name: str) -> None:
    config.write_text("quit = true\n")
    tables = {"preprocess": ("a.csv", "b.csv"), "baseline": ("a.csv",), "evaluate": ("a.csv",)}
    result = dpsel(name, *tables.get(name, ()), "--config", config)
    complaint = "run.toml: there is no option 'quit'; did you mean 'quiet'?"
    assert (result.code, result.err) == (3, f"error: {complaint}\n")
