"""Counting many draws, on all cores where it is worth it."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dpsel.core.audit.tally import PARTS, Outcome, Place, Tally
from dpsel.core.randomness import derived_seed
from dpsel.io.journal import Journal
from dpsel.run import Reporter
from dpsel.workers import run_tasks, ticks

Key = tuple[int, int, int]
"""A pair, one of its inputs, and a part of the draws."""
Work = Callable[[Any, Any], Counter[Any]]
Target = TypeVar("Target")


def counted(
    work: Work,
    target: Any,
    sizes: Mapping[Key, list[Any]],
    reporter: Reporter,
    threads: int,
) -> list[Tally]:
    """Return a tally for every pair, from pieces of work for every pair, input and part."""
    tasks = {
        "/".join(map(str, (*key, place))): (key, piece)
        for key, pieces in sizes.items()
        for place, piece in enumerate(pieces)
    }
    journal = Journal(None, {}, resume=False, force=False)
    tick = ticks(len(tasks), reporter.progress)
    pieces = {name: piece for name, (_, piece) in tasks.items()}
    run_tasks(work, target, pieces, journal, workers=threads, tick=tick)
    counters: dict[int, dict[Place, Counter[Outcome]]] = {}
    for name, ((pair, which, part), _) in tasks.items():
        places = counters.setdefault(pair, {})
        places.setdefault((which, part), Counter()).update(journal.found[name])
    return [Tally.of(counters[pair]) for pair in sorted(counters)]


def pieces_of(samples: int, part: int, at_once: int) -> list[int]:
    """Return the sizes of the pieces of work that make up one part of the samples."""
    wanted = samples * (part + 1) // PARTS - samples * part // PARTS
    whole, rest = divmod(wanted, at_once)
    return [at_once] * whole + ([rest] if rest else [])


def piece_seed(seed: int | None, *parts: object) -> int | None:
    """Return the seed of a piece of work, None for the system's randomness."""
    return None if seed is None else derived_seed(seed, *parts)
