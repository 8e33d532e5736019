"""Journals of unfinished sweeps."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dpsel.errors import DpselError, OutputError, UsageError
from dpsel.evaluation.journal import Journal

ABOUT = {"seed": 0, "ks": ["5"]}


def opened(place: Path | None, about: Any = ABOUT, **options: bool) -> Journal:
    return Journal(place, about, **{"resume": False, "force": False, **options})


def filled(place: Path, lines: int = 3) -> None:
    journal = opened(place)
    for i in range(lines):
        journal.append(f"cell {i}", {"accuracy": 0.1 * i, "counts": [[1, i]], "bound": None})
    journal.close()


def test_what_was_written_is_found_again_to_the_last_bit(tmp_path: Path) -> None:
    filled(tmp_path / "j")
    again = opened(tmp_path / "j", resume=True)
    assert again.found == {
        f"cell {i}": {"accuracy": 0.1 * i, "counts": [[1, i]], "bound": None} for i in range(3)
    }


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_half_a_line_at_the_end_is_dropped_and_the_next_is_whole(tmp_path: Path, cut: int) -> None:
    place = tmp_path / "j"
    filled(place)
    last = len(place.read_bytes().splitlines(keepends=True)[-1])
    content = place.read_bytes()
    place.write_bytes(content[: len(content) - min(cut, last - 1)])
    again = opened(place, resume=True)
    assert sorted(again.found) == ["cell 0", "cell 1"]
    again.append("cell 2", 7)
    again.close()
    assert opened(place, resume=True).found["cell 2"] == 7
    assert all(json.loads(line) for line in place.read_text().splitlines())


@pytest.mark.parametrize("left", range(1, 30, 4))
def test_half_a_header_counts_as_an_empty_journal(tmp_path: Path, left: int) -> None:
    place = tmp_path / "j"
    filled(place)
    place.write_bytes(place.read_bytes()[:left])
    journal = opened(place, resume=True)
    assert journal.found == {}
    journal.append("a", 1)
    journal.close()
    assert opened(place, resume=True).found == {"a": 1}


def test_an_unfinished_run_is_not_thrown_away_by_mistake(tmp_path: Path) -> None:
    filled(tmp_path / "j")
    with pytest.raises(UsageError, match="go on with --resume, or start anew with --force"):
        opened(tmp_path / "j")
    assert opened(tmp_path / "j", force=True).found == {}


def test_other_settings_are_refused(tmp_path: Path) -> None:
    filled(tmp_path / "j")
    with pytest.raises(UsageError, match="other settings"):
        opened(tmp_path / "j", {**ABOUT, "seed": 1}, resume=True)


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", b"{}", b'["x"]\n', b"\x00" * 40, b'{"journal":"x"']
)
def test_a_file_of_somebody_else_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "j"
    place.write_bytes(content)
    for options in ({"resume": True}, {"force": True}, {}):
        with pytest.raises(UsageError, match="is in the way"):
            opened(place, **options)
        assert place.read_bytes() == content


def test_two_runs_cannot_share_one(tmp_path: Path) -> None:
    first = opened(tmp_path / "j")
    with pytest.raises(UsageError, match="another run is writing it"):
        opened(tmp_path / "j", resume=True)
    first.close()
    opened(tmp_path / "j", resume=True).close()


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    (tmp_path / "there").chmod(0o644)
    for name in ("j", "there"):
        filled(tmp_path / name)
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o600


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "j").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="cannot be written"):
        opened(tmp_path / "j")
    assert not (tmp_path / "elsewhere").exists()


def test_a_missing_folder_is_an_error_of_output(tmp_path: Path) -> None:
    with pytest.raises(DpselError, match="cannot be written"):
        opened(tmp_path / "none" / "j")


def test_removing_leaves_nothing(tmp_path: Path) -> None:
    journal = opened(tmp_path / "j")
    journal.append("a", 1)
    journal.remove()
    assert list(tmp_path.iterdir()) == []


def test_without_a_place_it_is_kept_in_memory() -> None:
    journal = opened(None)
    journal.append("a", [1])
    assert journal.found == {"a": [1]}
    journal.remove()
