"""Completion in bash, zsh and fish: their scripts, how they ask, and what they understand.

A script runs `dpsel --complete SHELL` with what was typed up to the cursor. The answer is a line
that says `words` or `files`, then a line for each word. Whatever goes wrong, there are no words,
and nothing is said. A dpsel without completion refuses `--complete`, and so never runs what is
being typed.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dpsel.cli.completion import SHELLS, Fitting, fitting
from dpsel.errors import OutputError, UsageError
from dpsel.system.output import Output
from dpsel.system.process import reason

_SCRIPTS = Path(__file__).parent / "scripts"
# What bash takes for something else unless there is a backslash before it.
_SPECIAL_IN_BASH = frozenset(" \t\n\\'\"`$&|;<>()[]{}*?!#~^")
_SPECIAL_IN_QUOTES = frozenset('\\"`$')


def answer(asked: Sequence[str]) -> int:
    """Print what fits at the end of a command line: a shell's name, and then what it sends."""
    with suppress(Exception):
        shell, *sent = asked
        lines = _lines_for_bash(*sent) if shell == "bash" else _lines(shell, sent)
        sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
        sys.stdout.flush()
    return 0


def script_of(shell: str) -> str:
    """Return the script that makes a shell complete command lines of dpsel."""
    _check_known(shell)
    return (_SCRIPTS / f"complete.{shell}").read_text()


def install(shell: str) -> list[str]:
    """Put a script where its shell finds it, and return what was done, a line for each step."""
    script = script_of(shell)
    place, start_file, line = _places(shell)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with Output(str(place), force=True) as output:
            output.write(script.encode())
        done = [f"wrote {place}"]
        if start_file is not None and line not in _text(start_file):
            with start_file.open("a", encoding="utf-8") as file:
                file.write(f"\n{line}\n")
            done.append(f"added to {start_file}: {line}")
    except OSError as error:
        raise OutputError(f"{place}: completion cannot be installed: {reason(error)}") from None
    return [*done, f"start a new {shell}, and press Tab"]


def this_shell() -> str:
    """Return the name of the shell that this was started from, or else the user's usual one."""
    with suppress(OSError):
        parent = Path(f"/proc/{os.getppid()}/comm").read_text().strip()
        if parent in SHELLS:
            return parent
    return Path(os.environ.get("SHELL", "")).name


def _check_known(shell: str) -> None:
    """Refuse a shell that there is no script for."""
    if shell not in SHELLS:
        got = f", got {shell}" if shell else ""
        raise UsageError(f"completion is for {', '.join(SHELLS)}: name one of them{got}")


def _places(shell: str) -> tuple[Path, Path | None, str]:
    """Return where a script belongs, and the file that is to tell the shell of it, and how."""
    home = Path.home()
    if shell == "bash":
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
        place = data / "bash-completion" / "completions" / "dpsel"
        return place, home / ".bashrc", f"[ -f '{place}' ] && . '{place}'"
    if shell == "zsh":
        own = Path(os.environ.get("ZDOTDIR") or home)
        line = f"fpath=('{own / '.zfunc'}' $fpath); autoload -Uz compinit && compinit"
        return own / ".zfunc" / "_dpsel", own / ".zshrc", line
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "fish" / "completions" / "dpsel.fish", None, ""


def _text(path: Path) -> str:
    """Return a file as text, an empty one if there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _lines(shell: str, words: Sequence[str]) -> list[str]:
    """Return the answer to zsh or fish, which send the words one by one."""
    *before, last = words
    if shell == "fish":
        # As it was typed, and fish itself compares.
        last = last.lstrip("'\"").replace("\\", "")
    found = fitting([*before, last])
    if shell == "fish":
        return [_kind(found), *("\t".join(filter(None, pair)) for pair in found.words)]
    escaped = [
        [text.replace("\\", "\\\\").replace(":", "\\:") for text in pair] for pair in found.words
    ]
    return [_kind(found), *(":".join(filter(None, pair)) for pair in escaped)]


def _kind(found: Fitting) -> str:
    return "files" if found.files else "words"


def _lines_for_bash(line: str, breaks: str) -> list[str]:
    """Return the answer to bash, which sends the line up to the cursor, and where it breaks words.

    It puts each word of the answer in place of what is behind the last break, as it is.
    """
    words, kept, quote = _split(line, breaks)
    found = fitting(words[1:])
    rest = [word[kept:] for word, _ in found.words]
    if quote == "'":
        return [_kind(found), *(word for word in rest if "'" not in word)]
    special = _SPECIAL_IN_QUOTES if quote else _SPECIAL_IN_BASH
    escaped = ("".join(f"\\{sign}" if sign in special else sign for sign in word) for word in rest)
    return [_kind(found), *escaped]


def _split(line: str, breaks: str) -> tuple[list[str], int, str]:
    """Return a line's words without quotes, how much of the last one stays, and an open quote."""
    words: list[str] = []
    word, kept, quote = "", 0, ""
    begun = escaped = False
    for sign in line:
        if escaped:
            word += sign if not quote or sign in _SPECIAL_IN_QUOTES else f"\\{sign}"
            escaped = False
        elif sign == "\\" and quote != "'":
            begun = escaped = True
        elif quote and sign != quote:
            word += sign
        elif sign in "'\"":
            quote, begun, kept = "" if quote else sign, True, len(word)
        elif sign.isspace():
            if begun:
                words.append(word)
            word, kept, begun = "", 0, False
        else:
            word, begun = word + sign, True
            kept = len(word) if sign in breaks else kept
    return [*words, word], kept, quote
