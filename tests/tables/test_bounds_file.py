"""Public bounds from files."""

import json
from pathlib import Path

import pytest

from dpsel.errors import InputError
from dpsel.tables.bounds_file import parse_bounds, read_bounds

TOML = """
[default]
lower = 0
upper = 10.5
[target]
lower = -1
upper = 1
[columns."gene.1"]
lower = -5
upper = 5
"""
CONTENT = {
    "default": {"lower": 0, "upper": 10.5},
    "target": {"lower": -1, "upper": 1},
    "columns": {"gene.1": {"lower": -5, "upper": 5}},
}


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text(TOML)
    (tmp_path / "b.json").write_text(json.dumps(CONTENT))
    for name in ("b.toml", "b.json"):
        public = read_bounds(tmp_path / name)
        bounds = public.resolve(["gene.1", "age"], "y", ["gene.1", "age", "y"], coded=False)
        assert bounds.lower.tolist() == [-5, 0]
        assert bounds.upper.tolist() == [5, 10.5]
        assert (bounds.target.lower, bounds.target.upper) == (-1, 1)


def test_a_target_without_bounds_of_its_own_has_those_of_its_column(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text("[columns.y]\nlower=2\nupper=4\n[default]\nlower=0\nupper=1")
    bounds = read_bounds(tmp_path / "b.toml").resolve(["x"], "y", ["x", "y"], coded=False)
    assert (bounds.target.lower, bounds.target.upper) == (2, 4)
    coded = read_bounds(tmp_path / "b.toml").resolve(["x"], "y", ["x", "y"], coded=True)
    assert (coded.target.lower, coded.target.upper) == (-1, 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lower = ", "b.toml: is not TOML: "),
        ("[defaults]\nlower=0\nupper=1", "b.toml: unknown section 'defaults'; expected default,"),
        ("columns = 3", "b.toml: [columns] must hold one section a column"),
        ("[default]\nlower=0", "b.toml: [default] must hold lower and upper, and nothing else"),
        ("[default]\nlower=0\nupper=1\nmid=2", "b.toml: [default] must hold lower and upper, and"),
        ("[default]\nlower='0'\nupper=1", "b.toml: lower in [default] must be a number"),
        ("[default]\nlower=0\nupper=true", "b.toml: upper in [default] must be a number"),
        (
            "[columns.x]\nlower=1\nupper=1",
            "b.toml: [columns.x]: lower must be below upper in bounds, got 1 and 1",
        ),
        ("[target]\nlower=0\nupper=inf", "b.toml: [target]: bounds must be finite, got 0 and inf"),
        ("[target]\nlower=nan\nupper=1", "b.toml: [target]: bounds must be finite, got nan and 1"),
        ("[columns.xx]\nlower=0\nupper=1", "b.toml: the table has no column 'xx'; did you mean"),
        ("[columns.x]\nlower=0\nupper=1", "b.toml: there are no bounds for column 'z', and no"),
        (
            "[columns.x]\nlower=0\nupper=1\n[columns.z]\nlower=0\nupper=1",
            "b.toml: there are no bounds for column 'y', and no [default]",
        ),
    ],
)
def test_the_error_says_what_is_wrong_with_bounds(
    content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "b.toml").write_text(content)
    with pytest.raises(InputError) as raised:
        read_bounds(tmp_path / "b.toml").resolve(["x", "z"], "y", ["x", "z", "y"], coded=False)
    assert str(raised.value).startswith(message)


class CountedName(str):
    """A name that counts how often it is compared with another one."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedName.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_names_are_looked_up_and_not_searched_for() -> None:
    names = [f"x{place}" for place in range(500)]
    columns = {name: {"lower": 0, "upper": 1} for name in [*names, "y"]}
    public = parse_bounds({"columns": columns}, "b.toml")
    CountedName.comparisons = 0
    table = [CountedName(name) for name in [*names, "y"]]
    assert len(public.resolve(names, "y", table, coded=False).lower) == len(names)
    # Each is found by its hash, and compared once, or some times more if hashes collide.
    assert 0 < CountedName.comparisons < 10 * len(table)


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nope\.toml: no such file"):
        read_bounds(tmp_path / "nope.toml")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"b\.json: cannot be read as text"):
        read_bounds(tmp_path / "b.json")
    (tmp_path / "b.json").write_text("[1]")
    with pytest.raises(InputError, match=r"b\.json: expected the sections default, target"):
        read_bounds(tmp_path / "b.json")
