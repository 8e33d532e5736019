"""Damaging files: every kind of slip of a disk, a cable, a program or a vandal, from a seed."""

from collections.abc import Callable
from random import Random

_SIZES = (1, 2, 4, 8)
_TOKENS = (
    *(b'"', b'""', b'"""', b"\0", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\n\n", b",", b",,,,,"),
    *(b"\t", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"NaN", b"1e999", b"-inf", b"\x1a", b"\x1b[2J"),
    *(b"\xe2\x80\xa8", b"9" * 5000, b'"' + b"a" * 9000 + b'"', b"\x01", b" ", b"true", b"#", b"\\"),
    *(b"{", b"}", b"[", b"]", b"=", b":", b"null", b"1" * 30, b"'", b"nan", b"-0", b"1_0", b"e5"),
)


def _place(rng: Random, content: bytes) -> int:
    """Return a place: anywhere, or near the start or the end, where a file says what it is."""
    end = len(content)
    area = rng.choice(["anywhere", "start", "end"])
    if area == "start":
        return rng.randrange(min(end, 64) + 1)
    if area == "end":
        return end - rng.randrange(min(end, 400) + 1)
    return rng.randrange(end + 1)


def flip_bits(rng: Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        place = _place(rng, content)
        if place < len(damaged):
            damaged[place] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def overwrite_number(rng: Random, content: bytes) -> bytes:
    """Put a size, an offset or a count in place of whatever is there."""
    size = rng.choice(_SIZES)
    top = 1 << (8 * size)
    value = rng.choice([0, 1, top - 1, top // 2, top // 2 - 1, len(content), rng.randrange(top)])
    place = _place(rng, content)
    return content[:place] + (value % top).to_bytes(size, "little") + content[place + size :]


def truncate(rng: Random, content: bytes) -> bytes:
    return content[: _place(rng, content)]


def behead(rng: Random, content: bytes) -> bytes:
    return content[_place(rng, content) :]


def remove(rng: Random, content: bytes) -> bytes:
    place = _place(rng, content)
    return content[:place] + content[place + rng.choice([1, 2, 7, 40]) :]


def repeat(rng: Random, content: bytes) -> bytes:
    place, size = _place(rng, content), rng.choice([1, 3, 16, 100])
    piece = content[place : place + size]
    return content[:place] + piece * rng.choice([2, 3, 50]) + content[place:]


def insert_noise(rng: Random, content: bytes) -> bytes:
    place = _place(rng, content)
    return content[:place] + rng.randbytes(rng.choice([1, 4, 30])) + content[place:]


def blank_out(rng: Random, content: bytes) -> bytes:
    place, size = _place(rng, content), rng.choice([4, 16, 64])
    gone = content[place : place + size]
    return content[:place] + bytes([rng.choice([0, 0xFF])]) * len(gone) + content[place + size :]


def insert_token(rng: Random, content: bytes) -> bytes:
    place = _place(rng, content)
    return content[:place] + rng.choice(_TOKENS) + content[place:]


def replace_token(rng: Random, content: bytes) -> bytes:
    """Put something else in place of a word, a number or a sign."""
    place = _place(rng, content)
    return content[:place] + rng.choice(_TOKENS) + content[place + rng.choice([1, 3]) :]


def shuffle_lines(rng: Random, content: bytes) -> bytes:
    """Repeat, drop or join lines; the first stays first."""
    first, *lines = content.split(b"\n")
    place = rng.randrange(len(lines) + 1)
    way = rng.choice(["repeat", "drop", "join", "only header", "many"])
    if way == "repeat":
        lines[place:place] = lines[place : place + 1] * 3
    elif way == "drop":
        del lines[place : place + 2]
    elif way == "join":
        lines[place : place + 2] = [b",".join(lines[place : place + 2])]
    elif way == "only header":
        lines = []
    else:
        lines *= 12
    return b"\n".join([first, *lines])


def change_names(rng: Random, content: bytes) -> bytes:
    """Repeat, empty, drop or add names in the first line."""
    first, feed, rest = content.partition(b"\n")
    sign = b"\t" if b"\t" in first else b","
    names = first.split(sign)
    place = rng.randrange(len(names))
    other = rng.choice([names[0], b"", b" ", b'"', b"\xff", b"\0", b"a" * 3000, b"x1,x1", b"1"])
    names[place : place + rng.randrange(2)] = [other] * rng.choice([0, 1, 3])
    return sign.join(names) + feed + rest


def empty(rng: Random, content: bytes) -> bytes:
    return rng.choice(
        [b"", b"\n", b"\xef\xbb\xbf", b"\0" * 12, b"PAR1", b"ARROW1\0\0", b"\x1f\x8b"]
    )


Damage = Callable[[Random, bytes], bytes]
OF_BYTES: tuple[Damage, ...] = (
    *(flip_bits, flip_bits, overwrite_number, overwrite_number, truncate, remove, repeat),
    *(insert_noise, blank_out, behead, empty),
)
OF_TEXT: tuple[Damage, ...] = (
    *(insert_token, insert_token, replace_token, shuffle_lines, change_names, truncate, remove),
    *(repeat, insert_noise, flip_bits, blank_out, empty),
)


def damaged(rng: Random, content: bytes, ways: tuple[Damage, ...]) -> bytes:
    """Damage a file in one way, or in a few."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        content = rng.choice(ways)(rng, content)
    return content


def damaged_footer(rng: Random, content: bytes, ways: tuple[Damage, ...]) -> bytes:
    """Damage the footer of a Parquet file, and give the length that it now has."""
    length = int.from_bytes(content[-8:-4], "little")
    footer = damaged(rng, content[-8 - length : -8], ways)
    return content[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def damaged_pages(rng: Random, content: bytes, ways: tuple[Damage, ...]) -> bytes:
    """Damage what is before the footer of a Parquet file, and keep its length."""
    length = int.from_bytes(content[-8:-4], "little") + 8
    pages = damaged(rng, content[:-length], ways)[: len(content) - length]
    return pages.ljust(len(content) - length, b"\0") + content[-length:]
