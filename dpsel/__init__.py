"""Differentially private feature selection."""

import typing as _typing

__version__ = "0.1.0"

if _typing.TYPE_CHECKING:
    from dpsel.core.release import Selection, top_k
    from dpsel.errors import (
        BudgetError,
        ClusterError,
        DpselError,
        InputError,
        OutputError,
        UsageError,
    )
    from dpsel.selection.api import baseline, select

__all__ = [
    "BudgetError",
    "ClusterError",
    "DpselError",
    "InputError",
    "OutputError",
    "Selection",
    "UsageError",
    "__version__",
    "baseline",
    "select",
    "top_k",
]

_HOMES = {
    "dpsel.core.release": ("Selection", "top_k"),
    "dpsel.errors": (
        *("BudgetError", "ClusterError", "DpselError", "InputError", "OutputError", "UsageError"),
    ),
    "dpsel.selection.api": ("baseline", "select"),
}


if not _typing.TYPE_CHECKING:  # A type checker would take any name for one of ours.

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used: `dpsel --help` needs none of them."""
        for home, names in _HOMES.items():
            if name in names:
                from importlib import import_module

                return getattr(import_module(home), name)
        raise AttributeError(f"module 'dpsel' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Return the public names, and nothing else."""
    return __all__
