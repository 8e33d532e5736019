"""Checks of arguments; they know nothing of any data."""

import math

from dpsel.core.errors import UsageError


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not a positive, finite number."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise UsageError(f"epsilon must be a positive, finite number, got {epsilon:g}")


def check_delta(delta: float) -> None:
    """Refuse a delta that is not between 0 and 1."""
    if not 0.0 <= delta < 1.0:
        raise UsageError(f"delta must be 0 or more and below 1, got {delta:g}")


def check_at_least(least: int, number: int, name: str) -> int:
    """Return a number that is large enough."""
    if number < least:
        raise UsageError(f"{name} must be {least} or more, got {number}")
    return number


def check_clip(clip: float) -> None:
    """Refuse a clip that is not a positive, finite number."""
    if not (math.isfinite(clip) and clip > 0):
        raise UsageError(f"clip must be a positive, finite number, got {clip:g}")


def check_gamma(gamma: float) -> float:
    """Return a gamma between 0 and 1."""
    if not 0.0 <= gamma <= 1.0:
        raise UsageError(f"gamma must be between 0 and 1, got {gamma:g}")
    return gamma


def check_k(k: int, d: int) -> None:
    """Refuse a k that does not fit the number of features."""
    if not 1 <= k <= d:
        raise UsageError(f"k must be between 1 and {d}, the number of features, got {k}")
