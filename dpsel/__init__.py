"""Differentially private feature selection."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["DpselError", "Selection", "__version__", "select", "top_k"]

if TYPE_CHECKING:
    from dpsel.core.release import Selection, top_k
    from dpsel.errors import DpselError
    from dpsel.selection.api import select

_HOMES = {
    "DpselError": "dpsel.errors",
    "Selection": "dpsel.core.release",
    "select": "dpsel.selection.api",
    "top_k": "dpsel.core.release",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `dpsel --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dpsel' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
