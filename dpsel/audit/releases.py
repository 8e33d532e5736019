"""Runs of `dpsel select` on files, and what they release."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpsel.audit.drawing import piece_seed
from dpsel.audit.files import PERSON, TARGET, feature_names
from dpsel.audit.plan import CommandPlan
from dpsel.core.audit.tally import Outcome
from dpsel.core.scores.registry import find_score
from dpsel.core.selection import Selection
from dpsel.io.formats import OutputFormat
from dpsel.io.records import selection_text
from dpsel.plan import make_plan
from dpsel.run import charge_nothing, run_select

_NOT_ASKED: dict[str, Any] = {
    "features": (),
    "exclude": (),
    "positive": None,
    "bounds": None,
    "lower": None,
    "upper": None,
    "gamma": None,
    "sampler": None,
    "delta": None,
    "person": None,
    "rows_per_person": None,
    "input_format": None,
    "separator": None,
}


def select(path: str, **options: Any) -> Selection:
    """Run what the command runs; no ledger is charged, not even one that the environment names."""
    plan = make_plan(**{**_NOT_ASKED, **options})
    return run_select(path, plan, _Silence(), charge_nothing)


def select_options(plan: CommandPlan) -> dict[str, Any]:
    """Return the arguments of `dpsel.select` that are audited."""
    bounds = {"lower": -1.0, "upper": 1.0} if find_score(plan.score).needs_bounds else {}
    by_person = {"person": PERSON, "rows_per_person": plan.unit.rows}
    return {
        "target": TARGET,
        "k": plan.target.k,
        "epsilon": plan.target.epsilon,
        "score": plan.score,
        "mechanism": plan.target.name,
        "neighbors": str(plan.neighbors),
        "threads": 1,
        **bounds,
        **(by_person if plan.unit.name == "person" else {}),
        **plan.target.parameters,
    }


@dataclass(frozen=True)
class Releases:
    """Runs of the command with the same options."""

    options: Mapping[str, Any]
    rest: str = ""
    """What a record holds besides the selection: it must be the same in all of them."""

    def record(self, path: str, seed: int | None, **other: Any) -> dict[str, Any]:
        """Run the command, and return what it would print."""
        selection = select(path, **{**self.options, "seed": seed, **other})
        record: dict[str, Any] = json.loads(selection_text(selection, OutputFormat.JSON))
        return record

    def outcome(self, path: str, seed: int | None) -> Outcome:
        """Return the selected indices, or the whole record if anything else in it is new."""
        record = self.record(path, seed)
        indices = record["selected_indices"]
        named = record["selected_features"] == [feature_names(i + 1)[i] for i in indices]
        return tuple(indices) if named and rest_of(record) == self.rest else json.dumps(record)


@dataclass(frozen=True)
class Runs:
    """Some runs on one file."""

    path: str
    runs: int
    seed: int | None


def release_chunk(releases: Releases, chunk: Runs) -> Counter[Outcome]:
    """Return how often each record was released."""
    return Counter(
        releases.outcome(chunk.path, piece_seed(chunk.seed, number)) for number in range(chunk.runs)
    )


def rest_of(record: Mapping[str, Any]) -> str:
    """Return all of a record but the selection."""
    left = {key: value for key, value in record.items() if not key.startswith("selected_")}
    return json.dumps(left)


class _Silence:
    """Hears what the data's holder would, of whom there is none."""

    def note(self, message: str) -> None:
        """Say nothing."""

    def warn(self, message: str) -> None:
        """Say nothing."""

    def size(self, file_bytes: int) -> None:
        """Say nothing."""

    def progress(self, done: float) -> None:
        """Say nothing."""
