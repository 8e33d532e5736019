"""Differentially private feature selection."""

import typing as _typing

__version__ = "0.1.0"

if _typing.TYPE_CHECKING:
    from dpsel.auditing.api import audit
    from dpsel.auditing.certificate import Certificate
    from dpsel.budget.api import Ledger
    from dpsel.cards.api import card
    from dpsel.core.release import top_k
    from dpsel.core.selection import Selection
    from dpsel.errors import (
        BudgetError,
        ClusterError,
        DpselError,
        InputError,
        OutputError,
        UsageError,
    )
    from dpsel.evaluation.api import evaluate
    from dpsel.evaluation.run import Evaluation
    from dpsel.planning.api import plan
    from dpsel.planning.plan import Plan
    from dpsel.preprocessing.api import Preprocessed, preprocess, provenance
    from dpsel.selection.api import baseline, select

__all__ = [
    "BudgetError",
    "Certificate",
    "ClusterError",
    "DpselError",
    "Evaluation",
    "InputError",
    "Ledger",
    "OutputError",
    "Plan",
    "Preprocessed",
    "Selection",
    "UsageError",
    "__version__",
    "audit",
    "baseline",
    "card",
    "evaluate",
    "plan",
    "preprocess",
    "provenance",
    "select",
    "top_k",
]

_HOMES = {
    "dpsel.auditing.api": ("audit",),
    "dpsel.auditing.certificate": ("Certificate",),
    "dpsel.budget.api": ("Ledger",),
    "dpsel.cards.api": ("card",),
    "dpsel.core.release": ("top_k",),
    "dpsel.core.selection": ("Selection",),
    "dpsel.errors": (
        *("BudgetError", "ClusterError", "DpselError", "InputError", "OutputError", "UsageError"),
    ),
    "dpsel.evaluation.api": ("evaluate",),
    "dpsel.evaluation.run": ("Evaluation",),
    "dpsel.planning.api": ("plan",),
    "dpsel.planning.plan": ("Plan",),
    "dpsel.preprocessing.api": ("Preprocessed", "preprocess", "provenance"),
    "dpsel.selection.api": ("baseline", "select"),
}


if not _typing.TYPE_CHECKING:  # With `__getattr__`, a type checker would accept any name.

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, so that `dpsel --help` stays fast."""
        for home, names in _HOMES.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(home), name)
        raise AttributeError(f"module 'dpsel' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return the public names only."""
    return __all__
