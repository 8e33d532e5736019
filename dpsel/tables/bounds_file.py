"""Public bounds from a TOML or JSON file.

Such a file looks like this, in TOML:

[default]
lower = 0
upper = 100

[target]
lower = 0
upper = 1

[columns.age]
lower = 0
upper = 120
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpsel.core.bounds import UNIT_INTERVAL, Bounds, Interval
from dpsel.errors import InputError, UsageError
from dpsel.records import frozen
from dpsel.system.text import did_you_mean, parsed, text_of

_SECTIONS = ("default", "target", "columns")


@frozen
class PublicBounds:
    """Bounds by column name, as the user gave them."""

    label: str
    default: Interval | None
    target: Interval | None
    columns: Mapping[str, Interval]

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds as the content of a file."""
        found: dict[str, Any] = {}
        if self.default is not None:
            found["default"] = asdict(self.default)
        if self.target is not None:
            found["target"] = asdict(self.target)
        found["columns"] = {name: asdict(interval) for name, interval in self.columns.items()}
        return found

    def declared(self, target: str) -> frozenset[str]:
        """Return the columns with bounds of their own, which the user says are numbers."""
        return frozenset([*self.columns, *([] if self.target is None else [target])])

    def resolve(
        self, features: Sequence[str], target: str, table: Sequence[str], *, coded: bool
    ) -> Bounds:
        """Return the bounds of features and target; a coded target is already within [-1, 1]."""
        known = frozenset(table)
        for name in self.columns:
            if name not in known:
                hint = did_you_mean(name, table)
                raise InputError(f"{self.label}: the table has no column '{name}'{hint}")
        if self.default is not None and not self.columns:
            chosen = [self.default] * len(features)
        else:
            chosen = [self._of(name) for name in features]
        if coded:
            return Bounds.of(chosen, UNIT_INTERVAL)
        return Bounds.of(chosen, self.target if self.target is not None else self._of(target))

    def _of(self, name: str) -> Interval:
        """Return the bounds of one column."""
        found = self.columns.get(name, self.default)
        if found is None:
            raise InputError(
                f"{self.label}: there are no bounds for column '{name}', and no [default]"
            )
        return found


def uniform_bounds(interval: Interval) -> PublicBounds:
    """Return the same bounds for every column."""
    return PublicBounds("bounds", interval, interval, {})


def given_bounds(bounds: str | Path | Mapping[str, Any]) -> PublicBounds:
    """Return the bounds in a file, or in a mapping of the same shape or of names to pairs."""
    if isinstance(bounds, str | Path):
        return read_bounds(bounds)
    return parse_bounds(_sections(bounds), "bounds")


def _sections(bounds: Any) -> Any:
    """Return `{"age": (0, 120)}` in the shape of a file; that shape may contain pairs too."""
    if not isinstance(bounds, Mapping):
        return bounds
    shaped = bounds if set(bounds) <= set(_SECTIONS) else {"columns": bounds}
    found = {section: _of_pair(value) for section, value in shaped.items()}
    columns = found.get("columns")
    if isinstance(columns, Mapping):
        found["columns"] = {str(name): _of_pair(value) for name, value in columns.items()}
    return found


def _of_pair(value: Any) -> Any:
    """Return a pair as a section with lower and upper, and anything else unchanged."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return value
    # NumPy numbers become Python's own.
    lower, upper = (end.item() if hasattr(end, "item") else end for end in value)
    return {"lower": lower, "upper": upper}


def read_bounds(path: str | Path) -> PublicBounds:
    """Return the bounds in a file."""
    text, label = text_of(path, "--bounds"), Path(path).name
    content = parsed(text, label, "JSON" if label.lower().endswith(".json") else "TOML")
    return parse_bounds(content, label)


def parse_bounds(content: Any, label: str) -> PublicBounds:
    """Return the bounds in a mapping of the shape of a file."""
    if not isinstance(content, Mapping):
        raise InputError(f"{label}: expected the sections {', '.join(_SECTIONS)}")
    for section in content:
        if section not in _SECTIONS:
            raise InputError(
                f"{label}: unknown section '{section}'; expected {', '.join(_SECTIONS)}"
            )
    columns = content.get("columns", {})
    if not isinstance(columns, Mapping):
        raise InputError(f"{label}: [columns] must hold one section a column")
    return PublicBounds(
        label,
        _interval(content["default"], "default", label) if "default" in content else None,
        _interval(content["target"], "target", label) if "target" in content else None,
        {name: _interval(value, f"columns.{name}", label) for name, value in columns.items()},
    )


def _interval(value: Any, section: str, label: str) -> Interval:
    """Return the bounds in one section."""
    if not isinstance(value, Mapping) or set(value) != {"lower", "upper"}:
        raise InputError(f"{label}: [{section}] must hold lower and upper, and nothing else")
    for end in ("lower", "upper"):
        if isinstance(value[end], bool) or not isinstance(value[end], int | float):
            raise InputError(f"{label}: {end} in [{section}] must be a number")
    try:
        return Interval(float(value["lower"]), float(value["upper"]))
    except (UsageError, OverflowError) as error:
        raise InputError(f"{label}: [{section}]: {error}") from None
