"""A run as a ledger sees it: what it promises, and all that is public about it."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsel.core.privacy import Guarantee
from dpsel.io.places import has_scheme, public_place
from dpsel.io.sources import STDIN
from dpsel.plan import Demands, SelectPlan

SEEDED = "a draw with --seed is not private"
NOT_PRIVATE = "the method is not private"
_LONG = 300


@dataclass(frozen=True)
class Order:
    """What is to be run. Equal parameters, with equal costs, are one run under one run id."""

    command: str
    guarantee: Guarantee
    person: str | None
    parameters: Mapping[str, Any]
    not_private: str | None
    """Why nothing is promised; None if the guarantee is."""
    demands: Demands

    @property
    def free_because(self) -> str | None:
        """Return why there is nothing to charge; None if there is."""
        if self.not_private is None:
            return None
        return f"{self.not_private}, so there is no budget to spend on it"


def select_order(table: Any, plan: SelectPlan) -> Order:
    """Return what a run of `select` asks for; the table is named, and not looked at."""
    return Order(
        "select",
        plan.guarantee,
        plan.wanted.person,
        public_parameters(table, plan),
        not_private=None if plan.seed is None else SEEDED,
        demands=plan.demands,
    )


def public_parameters(table: Any, plan: SelectPlan, **more: Any) -> dict[str, Any]:
    """Return what decides which release a plan leads to, and no more: not the number of threads."""
    guarantee, wanted = plan.guarantee, plan.wanted
    found = {
        "table": _table_name(table),
        "target": wanted.target,
        "k": int(plan.k),
        "score": plan.score,
        "mechanism": plan.mechanism,
        **plan.parameters,
        "features": wanted.features,
        "exclude": wanted.exclude,
        "positive": plan.coding.positive,
        "bounds": plan.bounds.to_dict(),
        "scope": guarantee.scope.why,
        "input-format": plan.input_format,
        "separator": plan.separator,
        **more,
    }
    return {name: _short(value) for name, value in found.items()}


def _table_name(table: Any) -> str:
    """Return a table's full path, or what it is if it has none."""
    if not isinstance(table, str | Path):
        return "a frame"
    if has_scheme(str(table)):
        return public_place(str(table))
    return "stdin" if str(table) == STDIN else os.path.abspath(table)


def _short(value: Any) -> Any:
    """Return a value as JSON would return it, or the digest of a long one."""
    text = json.dumps(value, default=str)
    if len(text) > _LONG:
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    return json.loads(text)
