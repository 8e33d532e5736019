"""Two samplers of the same law: direct looks at every class of subsets, lazy at very few."""

import bisect
import math

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.core.mechanisms.binomials import log_binomial, log_binomial_gap
from dpsel.core.mechanisms.subset_classes import LipschitzLosses, largest_noise
from dpsel.core.randomness import Randomness, exponentials
from dpsel.records import frozen

_CLASSES_AT_ONCE = 1 << 18


def direct_classes(
    losses: LipschitzLosses, draws: int, rng: Randomness
) -> tuple[IntArray, IntArray]:
    """Return the winning (h, t) of every draw; the top set is (k - 1, k).

    Privacy:
        Neighbors: whatever the scores behind `losses` were made for.
        Guarantee: that of canonical-lipschitz, whose law this draws from.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_canonical_lipschitz.py
    """
    best_h = np.full(draws, losses.k - 1)
    best_t = np.full(draws, losses.k)
    best = largest_noise(np.log(exponentials(rng, draws))) + losses.top_gain
    heads = np.arange(losses.k)[:, None]
    width = max(1, _CLASSES_AT_ONCE // losses.k)
    for first in range(losses.k + 1, losses.d + 1, width):
        tails = np.arange(first, min(first + width, losses.d + 1))[None, :]
        log_sizes = log_class_size(heads, tails, losses.k).ravel()
        loss = losses(heads, tails).ravel()
        at_once = max(1, _CLASSES_AT_ONCE // loss.size)
        for start in range(0, draws, at_once):
            rows = np.arange(start, min(start + at_once, draws))
            noise = np.log(exponentials(rng, rows.size * loss.size)).reshape(rows.size, loss.size)
            value = largest_noise(noise - log_sizes) - loss
            winner = np.argmax(value, axis=1)
            won = value[np.arange(rows.size), winner]
            better = won > best[rows]
            rows, winner = rows[better], winner[better]
            best[rows] = won[better]
            best_h[rows] = winner // tails.size
            best_t[rows] = first + winner % tails.size
    return best_h, best_t


def log_class_size(h: IntArray, t: IntArray, k: int) -> FloatArray:
    """Return the log of C(t-h-2, k-h-1), the number of subsets in the class (h, t), t > k.

    The paper prints C(t-h-1, k-h-1). Classes of that size overlap, and the mechanism would not be
    private.
    """
    return log_binomial(t - h - 2, k - h - 1)


_NODES_AT_ONCE = 1 << 18
# Splitting this many nodes takes about as long as splitting a handful.
_CHEAP_NODES = 1 << 10
_MOST_PARTS = 32
# The errors of the shares of small nodes are far below this: see `share_doubt`.
_DOUBT = 1e-9


def lazy_classes(losses: LipschitzLosses, draws: int, rng: Randomness) -> tuple[IntArray, IntArray]:
    """Return the winning (h, t) of every draw; the top set is (k - 1, k).

    Privacy:
        Neighbors: whatever the scores behind `losses` were made for.
        Guarantee: that of canonical-lipschitz, whose law this draws from.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_canonical_lipschitz.py
    """
    at_once = max(1, _NODES_AT_ONCE // losses.k)
    parts = [
        _lazy_classes(losses, min(at_once, draws - first), rng)
        for first in range(0, draws, at_once)
    ]
    return np.concatenate([h for h, _ in parts]), np.concatenate([t for _, t in parts])


@frozen
class _Nodes:
    """Nodes: the classes (h, t1..t2) of a draw, with the log of their smallest y."""

    draw: IntArray
    h: IntArray
    t1: IntArray
    t2: IntArray
    log_y: FloatArray

    def __getitem__(self, which: BoolArray) -> "_Nodes":
        return _Nodes(
            self.draw[which], self.h[which], self.t1[which], self.t2[which], self.log_y[which]
        )


def _lazy_classes(
    losses: LipschitzLosses, draws: int, rng: Randomness
) -> tuple[IntArray, IntArray]:
    """Return the winners of `draws` draws, which must fit in memory at once."""
    best_h = np.full(draws, losses.k - 1)
    best_t = np.full(draws, losses.k)
    # The top set is a class by itself, with one subset and no loss.
    floor = largest_noise(np.log(exponentials(rng, draws))) + losses.top_gain
    nodes = _whole_rows(losses, draws, rng)
    while nodes.draw.size:
        noise = largest_noise(nodes.log_y)
        upper = noise - losses(nodes.h, nodes.t1)
        lower = noise - losses(nodes.h, nodes.t2)
        np.maximum.at(floor, nodes.draw, lower)
        live = upper >= floor[nodes.draw]
        single = nodes.t1 == nodes.t2
        winners = nodes[live & single]
        best_h[winners.draw] = winners.h
        best_t[winners.draw] = winners.t1
        nodes = _split(nodes[live & ~single], losses.k, rng)
    return best_h, best_t


def _whole_rows(losses: LipschitzLosses, draws: int, rng: Randomness) -> _Nodes:
    """Return one node for every h and every draw, with all classes of that h."""
    k, d = losses.k, losses.d
    h = np.tile(np.arange(k), draws)
    t1 = np.full(h.size, k + 1)
    t2 = np.full(h.size, d)
    log_y = np.log(exponentials(rng, h.size)) - np.tile(
        log_node_size(np.arange(k), t1[:k], t2[:k], k), draws
    )
    return _Nodes(np.repeat(np.arange(draws), k), h, t1, t2, log_y)


def _split(nodes: _Nodes, k: int, rng: Randomness) -> _Nodes:
    """Split every node into parts; a part drawn in proportion to its size keeps the smallest y."""
    count = nodes.h.size
    parts = min(_MOST_PARTS, max(2, _CHEAP_NODES // max(1, count)))
    # Rows are nodes and columns are parts. Parts may be empty; these are dropped at the end.
    width = (nodes.t2 - nodes.t1 + 1)[:, None]
    edges = nodes.t1[:, None] + width * np.arange(parts + 1) // parts
    t1, t2 = edges[:, :-1], edges[:, 1:] - 1
    h = np.broadcast_to(nodes.h[:, None], t1.shape)
    log_size = log_node_size(h, t1, t2, k)
    later = np.log(exponentials(rng, t1.size)).reshape(t1.shape) - log_size
    log_y = np.logaddexp(nodes.log_y[:, None], later)
    log_y[np.arange(count), _parts_with_smallest(nodes.h, edges, log_size, k, rng)] = nodes.log_y
    full = t1 <= t2
    draw = np.broadcast_to(nodes.draw[:, None], t1.shape)
    return _Nodes(draw[full], h[full], t1[full], t2[full], log_y[full])


def _parts_with_smallest(
    h: IntArray, edges: IntArray, log_size: FloatArray, k: int, rng: Randomness
) -> IntArray:
    """Return one part of every node, drawn in exact proportion to the sizes of its parts."""
    words = rng.words(len(h))
    sizes = np.exp(log_size - log_size.max(axis=1, keepdims=True, initial=-np.inf))
    borders = np.cumsum(sizes, axis=1)
    distance = words[:, None] * 2.0**-64 - borders[:, :-1] / borders[:, -1:]
    chosen: IntArray = np.asarray(np.count_nonzero(distance >= 0, axis=1), dtype=np.int64)
    near = np.abs(distance) < share_doubt(h, edges[:, -1] - 1, k)[:, None]
    for node in np.flatnonzero(near.any(axis=1)):
        chosen[node] = exact_part(int(h[node]), edges[node].tolist(), k, int(words[node]), rng)
    return chosen


def share_doubt(h: IntArray, t2: IntArray, k: int) -> FloatArray:
    """Return the distance from a border, as a share, below which floats cannot tell parts apart.

    The parts are those of the classes (h, ..t2).
    The log of a part's size has an error of at most 32 roundings of log C(t2-h-1, k-h) + 1. A share
    s has an error of s (1 - s) times the difference of two such errors: at most half of one.
    """
    log_whole = log_binomial(t2 - h - 1, k - h)
    return np.asarray(_DOUBT + 32 * 2.0**-52 * (log_whole + 1.0))


def exact_part(h: int, edges: list[int], k: int, word: int, rng: Randomness) -> int:
    """Return the part that contains a uniform real number, whose first 64 bits are `word`.

    Part i holds the classes (h, edges[i]..edges[i+1]-1). Further bits are drawn until there is no
    doubt.
    """
    counts = [math.comb(edge - h - 2, k - h) for edge in edges]
    borders = [count - counts[0] for count in counts]
    bits = 64
    while True:
        lowest = word * borders[-1] >> bits
        highest = ((word + 1) * borders[-1] - 1) >> bits
        part = bisect.bisect_right(borders, lowest) - 1
        if bisect.bisect_right(borders, highest) - 1 == part:
            return part
        word = (word << 64) | int(rng.words(1)[0])
        bits += 64


def log_node_size(h: IntArray, t1: IntArray, t2: IntArray, k: int) -> FloatArray:
    """Return the log of the number of subsets in the classes (h, t1..t2).

    The sizes C(t-h-2, k-h-1) add up to C(t2-h-1, k-h) - C(t1-h-2, k-h): -inf if t1 > t2.
    """
    return log_binomial_gap(t2 - h - 1, k - h, t2 - t1 + 1)
