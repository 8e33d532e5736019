"""Cases for the readers, each from its number alone: a sound file, damaged."""

import gzip
from dataclasses import replace
from functools import cache
from random import Random

from tests.hardening import damage
from tests.hardening.originals import Original, all_originals, european_originals

# Cases from this number on select by the method that nobody has to name.
BY_DEFAULT = 2_000_000
# From here on they are of European files. A case's number must always stand for the same case.
EUROPEAN = 4_000_000


@cache
def originals() -> list[Original]:
    """Return all sound files; made once."""
    return all_originals()


def case(number: int) -> Original:
    """Return a case by its number: what to run, with which files and settings."""
    kinds = originals() if number < EUROPEAN else european_originals()
    original = kinds[number % len(kinds)]
    rng = Random(number)
    content = _damaged(rng, original.damaged, original.files[original.damaged])
    return replace(
        original,
        files={**original.files, original.damaged: content},
        arguments=original.by_default if _by_default(number) else original.arguments,
    )


def _by_default(number: int) -> bool:
    """Return whether a case is one of the default method; every other European file is."""
    return number >= BY_DEFAULT if number < EUROPEAN else number // 4 % 2 == 0


def _damaged(rng: Random, name: str, content: bytes) -> bytes:
    """Damage a file in ways that go with its format."""
    if name.endswith(".parquet"):
        way = rng.choice([damage.damaged, damage.damaged_footer, damage.damaged_pages])
        return way(rng, content, damage.OF_BYTES)
    if name.endswith((".arrow", ".arrows")):
        return damage.damaged(rng, content, damage.OF_BYTES)
    if name.endswith(".gz") and rng.random() < 0.5:
        return gzip.compress(damage.damaged(rng, gzip.decompress(content), damage.OF_TEXT), mtime=0)
    if name.endswith((".gz", ".zst")):
        return damage.damaged(rng, content, damage.OF_BYTES)
    return damage.damaged(rng, content, damage.OF_TEXT)
