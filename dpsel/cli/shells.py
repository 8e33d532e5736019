"""Completion in bash, zsh and fish: install its scripts, and answer their questions.

A script runs `dpsel --complete SHELL` with the text up to the cursor. The answer is a line with
`words` or `files`, and then one line per word. If anything goes wrong, there are no words and no
message. A version of dpsel without completion refuses `--complete`, so it never runs the command
that is being typed.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dpsel.cli.completion import SHELLS, Completions, completions_of
from dpsel.errors import OutputError, UsageError
from dpsel.system.output import Output
from dpsel.system.process import reason

_SCRIPTS = Path(__file__).parent / "scripts"
# Characters that need a backslash in bash.
_SPECIAL_IN_BASH = frozenset(" \t\n\\'\"`$&|;<>()[]{}*?!#~^")
_SPECIAL_IN_QUOTES = frozenset('\\"`$')


def answer(asked: Sequence[str]) -> int:
    """Print the completions of a command line; `asked` is a shell's name and what it sends."""
    with suppress(Exception):
        shell, *sent = asked
        lines = _lines_for_bash(*sent) if shell == "bash" else _lines(shell, sent)
        sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
        sys.stdout.flush()
    return 0


def script_of(shell: str) -> str:
    """Return the completion script of a shell."""
    _check_known(shell)
    return (_SCRIPTS / f"complete.{shell}").read_text()


def install(shell: str) -> list[str]:
    """Install the script where its shell finds it; return what was done, one line per step."""
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
    """Return the name of the shell that started dpsel, or else of the user's login shell."""
    with suppress(OSError):
        parent = Path(f"/proc/{os.getppid()}/comm").read_text().strip()
        if parent in SHELLS:
            return parent
    return Path(os.environ.get("SHELL", "")).name


def _check_known(shell: str) -> None:
    """Refuse a shell without a script."""
    if shell not in SHELLS:
        got = f", got {shell}" if shell else ""
        raise UsageError(f"completion is for {', '.join(SHELLS)}: name one of them{got}")


def _places(shell: str) -> tuple[Path, Path | None, str]:
    """Return the place of a script, the start-up file that loads it, and the line to add there."""
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
    """Return the text of a file; empty if there is no file."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _lines(shell: str, words: Sequence[str]) -> list[str]:
    """Return the answer to zsh or fish, which send the words separately."""
    *before, last = words
    if shell == "fish":
        # fish sends the last word as typed, with quotes, and compares the answer itself.
        last = last.lstrip("'\"").replace("\\", "")
    completions = completions_of([*before, last])
    if shell == "fish":
        return [_kind(completions), *("\t".join(filter(None, pair)) for pair in completions.words)]
    escaped = [
        [text.replace("\\", "\\\\").replace(":", "\\:") for text in pair]
        for pair in completions.words
    ]
    return [_kind(completions), *(":".join(filter(None, pair)) for pair in escaped)]


def _kind(completions: Completions) -> str:
    return "files" if completions.files else "words"


def _lines_for_bash(line: str, breaks: str) -> list[str]:
    """Return the answer to bash, which sends the line up to the cursor and its word breaks.

    bash replaces the text after the last break by a word of the answer, without quoting it.
    """
    words, kept, quote = _split(line, breaks)
    completions = completions_of(words[1:])
    rest = [word[kept:] for word, _ in completions.words]
    if quote == "'":
        return [_kind(completions), *(word for word in rest if "'" not in word)]
    special = _SPECIAL_IN_QUOTES if quote else _SPECIAL_IN_BASH
    escaped = ("".join(f"\\{sign}" if sign in special else sign for sign in word) for word in rest)
    return [_kind(completions), *escaped]


def _split(line: str, breaks: str) -> tuple[list[str], int, str]:
    """Return the unquoted words of a line, how much of the last bash keeps, and an open quote."""
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
