"""Differentially private feature selection."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["__version__", "top_k"]

if TYPE_CHECKING:
    from dpsel.core.topk import top_k

_HOMES = {"top_k": "dpsel.core.topk"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `dpsel --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dpsel' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
