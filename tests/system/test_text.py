"""Text that a terminal shows as it is, and JSON that says the same as it did."""

import json
import sys

from dpsel.display import printable
from dpsel.system.text import json_text


def test_json_holds_nothing_that_is_not_seen_and_is_parsed_to_the_same_names() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    # Two halves of one sign side by side would be parsed as that sign.
    names = [
        every[start : start + 4096].replace("\udbff\udc00", "\udbff \udc00")
        for start in range(0, len(every), 4096)
    ]
    text = json_text({"names": names})
    assert all(sign == "\n" or sign.isprintable() for sign in text)
    assert json.loads(text) == {"names": names}
    text.encode()


def test_what_is_seen_is_not_escaped() -> None:
    names = ["é", "日本", "\U0001f600", "x'<y>\\&"]
    assert (
        json_text({"names": names})
        == json.dumps({"names": names}, indent=2, ensure_ascii=False) + "\n"
    )
    assert [printable(name) for name in names] == names
