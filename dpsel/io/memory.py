"""How much memory there is for tables: what the machine has left, or what the user says."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dpsel.core.errors import UsageError

VARIABLE = "DPSEL_MEMORY"
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
# Programs need some for themselves, and others may come to need some.
_SHARE = 0.75
_UNKNOWN = 1 << 30


def memory_for_tables() -> int:
    """Return how many bytes tables may take: $DPSEL_MEMORY, or three quarters of what is free."""
    asked = memory_asked()
    return int(_SHARE * max(0, min(_left(), default=_UNKNOWN))) if asked is None else asked


def memory_asked() -> int | None:
    """Return how many bytes the user lets tables take, if $DPSEL_MEMORY says so."""
    asked = os.environ.get(VARIABLE, "").strip()
    return parsed_size(asked) if asked else None


def parsed_size(text: str) -> int:
    """Return the bytes that a text such as `2GB`, `500 MiB` or `1000000` stands for."""
    found = _SIZE.fullmatch(text)
    if found is None or (found[3] and not found[2]):
        raise UsageError(f"{VARIABLE} must be a size such as 2GB or 500MB, got '{text}'")
    unit = found[2].lower()
    return int(float(found[1]) * (_BINARY_UNITS if found[3] else _UNITS)[unit])


def _left() -> Iterator[int]:
    """Yield what is left of the machine's memory and of every limit that is set."""
    with suppress(OSError, ValueError, IndexError):
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        yield int(fields["MemAvailable"].split()[0]) * 1024
        yield from _left_of_groups()
        yield from _left_of_limits()
        return
    with suppress(OSError, ValueError, AttributeError):
        # No Linux: half of all there is.
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _left_of_groups() -> Iterator[int]:
    """Yield what is left in the control groups of this process, old and new ones."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, place = line.split(":", 2)
        if kinds == "":
            root, limit, used, cache = "", "memory.max", "memory.current", "inactive_file"
        elif "memory" in kinds.split(","):
            root, limit, used = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        # In a container its own group may be seen as the root.
        for folder in (
            Path("/sys/fs/cgroup", root, place.lstrip("/")),
            Path("/sys/fs/cgroup", root),
        ):
            with suppress(OSError, ValueError):
                most = int((folder / limit).read_text())
                taken = int((folder / used).read_text())
                statistics = (folder / "memory.stat").read_text().splitlines()
                freed = sum(int(s.split()[1]) for s in statistics if s.split()[0] == cache)
                yield most - taken + freed


def _left_of_limits() -> Iterator[int]:
    """Yield what is left of the limits that `ulimit` sets."""
    import resource

    pages = [int(field) for field in Path("/proc/self/statm").read_text().split()]
    size = os.sysconf("SC_PAGE_SIZE")
    for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield most - used * size
