"""Results are written whole or not at all."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsel.errors import OutputError
from dpsel.system.output import Output


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def mask(request: pytest.FixtureRequest) -> Iterator[int]:
    wanted: int = request.param
    before = os.umask(wanted)
    yield wanted
    os.umask(before)


@pytest.mark.parametrize("owner_only", [False, True])
def test_a_file_appears_whole_for_all_or_for_its_owner_and_the_mask_is_never_touched(
    tmp_path: Path, mask: int, owner_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(_: int) -> int:
        raise AssertionError("the mask belongs to all threads of the process")

    place = tmp_path / "out.json"
    with monkeypatch.context() as patch:
        patch.setattr(os, "umask", touched)
        with Output(str(place), force=False, owner_only=owner_only) as output:
            assert not place.exists()
            output.write(b"text\n")
    assert place.read_text() == "text\n"
    assert files(tmp_path) == ["out.json"]
    assert stat.S_IMODE(place.stat().st_mode) == (0o600 if owner_only else 0o666) & ~mask


def test_a_private_file_is_never_readable_by_others_not_even_while_it_is_written(
    tmp_path: Path, mask: int
) -> None:
    with Output(str(tmp_path / "out.csv"), force=False, owner_only=True):
        (unfinished,) = tmp_path.iterdir()
        assert stat.S_IMODE(unfinished.stat().st_mode) == 0o600


def test_an_existing_file_stays_unless_forced(tmp_path: Path) -> None:
    place = tmp_path / "out.json"
    place.write_text("old")
    with pytest.raises(OutputError, match="exists already; replace it with --force"):
        Output(str(place), force=False)
    with Output(str(place), force=True) as output:
        output.write(b"new")
    assert place.read_text() == "new"
    assert files(tmp_path) == ["out.json"]


def test_a_file_made_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "out.json"
    with Output(str(place), force=False) as output:
        place.write_text("somebody else's")
        with pytest.raises(OutputError, match="exists already"):
            output.write(b"ours")
    assert place.read_text() == "somebody else's"
    assert files(tmp_path) == ["out.json"]


def test_nothing_is_left_when_the_run_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Output(str(tmp_path / "out.json"), force=False):
        raise KeyboardInterrupt
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("missing/out.json", "missing/out.json: cannot be written: no such file or directory"),
        (".", r"\.: is a folder; name a file"),
        ("file/out.json", "file/out.json: cannot be written: not a directory"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(
    place: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=f"^{message}$"):
        Output(place, force=True)


def test_the_table_itself_is_never_overwritten(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,y\n")
    with pytest.raises(OutputError, match="is the table itself; name another file"):
        Output(str(table), force=True, inputs=[table])


def test_a_device_is_written_to_and_not_replaced() -> None:
    with Output(os.devnull, force=True) as output:
        output.write(b"text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(OutputError, match="no space left"), Output("/dev/full", force=False) as out:
        out.write(b"text")
