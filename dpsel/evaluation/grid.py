"""Parse the lists and ranges of k and epsilon that users write.

It imports no tables, because `plan` uses it too.
"""

import math
import re

import numpy as np

from dpsel.core.guarantee import check_at_least, check_epsilon
from dpsel.errors import UsageError
from dpsel.records import frozen

LOGD = "logd"
_MOST_POINTS = 1000
_MOST_DIGITS = 18
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|[+-]?inf", re.I)


@frozen
class AskedK:
    """A k as the user wrote it: a number, or `logd`."""

    text: str

    def of(self, d: int) -> int:
        """Return k for d features; `logd` is the floor of the natural log of d, at least 1."""
        return max(1, int(math.log(d))) if self.text == LOGD else int(self.text)


def parse_ks(text: str) -> tuple[AskedK, ...]:
    """Return every k in a list such as `5,logd`, without repetitions."""
    ks = []
    for part in text.split(","):
        part = part.strip()
        if part != LOGD:
            if not _is_whole(part):
                raise UsageError(
                    f"k must be a list of whole numbers or {LOGD}, got '{part or text}'"
                )
            check_at_least(1, int(part), "k")
            part = str(int(part))
        ks.append(AskedK(part))
    return tuple(dict.fromkeys(ks))


def parse_epsilons(text: str) -> tuple[float, ...]:
    """Return the epsilons in a list such as `0.5,1,2`, `0.1:20:log12` or `1:10:lin10`, ascending.

    A range of n points includes both ends; the points between are rounded to 4 digits.
    """
    epsilons: set[float] = set()
    for part in text.split(","):
        epsilons.update(_range(part) if ":" in part else [_number(part)])
    return tuple(sorted(epsilons))


def _range(text: str) -> list[float]:
    """Return the points of a range such as `0.1:20:log12`."""
    parts = text.split(":")
    steps = parts[2].strip() if len(parts) == 3 else ""
    kind, count = steps[:3], steps[3:]
    if kind not in ("log", "lin") or not _is_whole(count):
        raise UsageError(f"a range of epsilons is FROM:TO:logN or FROM:TO:linN, got {text}")
    low, high = _number(parts[0]), _number(parts[1])
    points = int(count)
    if not 2 <= points <= _MOST_POINTS or low >= high:
        raise UsageError(
            f"a range of epsilons rises, with 2 to {_MOST_POINTS} points between, got {text}"
        )
    with np.errstate(over="ignore"):
        spaced = (
            np.exp(np.linspace(math.log(low), math.log(high), points))
            if kind == "log"
            else np.linspace(low, high, points)
        )
    between = [float(f"{point:.4g}") for point in spaced[1:-1]]
    return [low, *(min(max(point, low), high) for point in between), high]


def _number(text: str) -> float:
    """Return a text as an epsilon."""
    if not _NUMBER.fullmatch(text.strip()):
        raise UsageError(f"epsilon must be a number or a range, got '{text.strip()}'")
    epsilon = float(text)
    check_epsilon(epsilon)
    return epsilon


def _is_whole(text: str) -> bool:
    """Return whether a text is a whole number of a reasonable length."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
