"""Lines of shell, run for real: in bash, dash and zsh, where every command is a stub that tells how it was called."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segue.permissions.shell_parser import SimpleCommand

SHELLS = {
    "bash": ("bash", "--norc", "--noprofile", "-c"),
    "dash": ("dash", "-c"),
    "zsh": ("zsh", "-f", "-c"),
    # As people set them up: what is said to be known must be so with these as well.
    "bash with options": ("bash", "--norc", "-O", "extglob", "-O", "globstar", "-O", "nullglob", "-c"),
    "zsh with options": (
        *("zsh", "-f", "-o", "extendedglob", "-o", "rcquotes", "-o", "magicequalsubst", "-o", "shwordsplit"),
        *("-o", "globsubst", "-o", "kshglob", "-o", "braceccl", "-o", "nullglob", "-c"),
    ),
}
STUBS = (
    *("ls", "cat", "say", "git", "touch", "rm", "tee", "cp", "more", "less", "sh", "bash", "env", "time", "sudo"),
    *("xargs", "find", "nice", "timeout", "make", "repeat", "always"),
)
STUB = """\
#!{dash}
printf '%s\\0' "$SEGUE_LINE" "$#" "$HOME" "${{0##*/}}" "$@" >> "$SEGUE_LOG"
"""
# Many lines in one process of the shell, each in a subshell, which waits for what it left in the background.
DRIVER = """\
SEGUE_LINE=0
for segue_line do
    export SEGUE_LINE
    (eval "$segue_line"; wait) </dev/null >/dev/null 2>&1
    SEGUE_LINE=$((SEGUE_LINE + 1))
done
"""
FILES = ("notes", "a", "b", "3x", "-n", ".env", "key.pem", "app/x", "app/y z", "folder/a", "a[$(touch X)]")


class Judged(NamedTuple):
    """A line that was allowed, and what it was said to run."""

    line: str
    parts: tuple[SimpleCommand, ...]


class RealShells:
    """A project, a home and a PATH of stubs, in a folder that nobody else uses."""

    def __init__(self, folder: Path) -> None:
        self.project, self.home, self._bin, self._log = (folder / name for name in ("project", "home", "bin", "log"))
        self._bin.mkdir(parents=True)
        for name in STUBS:
            (self._bin / name).write_text(STUB.format(dash=shutil.which("dash")))
            (self._bin / name).chmod(0o755)
        for root in (self.project, self.home):
            for name in FILES:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("canary")

    def differences(self, judged: Sequence[Judged]) -> list[str]:
        """What the shells did otherwise than it was said."""
        found: list[str] = []
        for shell in SHELLS:
            calls = self._run(shell, [one.line for one in judged])
            for one, told in zip(judged, calls, strict=True):
                if (difference := self._compare(one, told)) is not None:
                    found.append(f"{shell} ran {difference} for {one.line!r}")
            if touched := self._touched(judged):
                if len(judged) > 1:
                    return [each for one in judged for each in self.differences([one])]
                found.append(f"{shell} wrote {', '.join(touched)} for {judged[0].line!r}")
        return found

    def _run(self, shell: str, lines: Sequence[str]) -> list[list[tuple[str, ...]]]:
        """How the stubs were called, for each line. One line alone is run as other programs run it."""
        argv = [*SHELLS[shell], *(lines if len(lines) == 1 else (DRIVER, "driver", *lines))]
        self._log.write_bytes(b"")
        environ = {"PATH": str(self._bin), "HOME": str(self.home), "SEGUE_LOG": str(self._log), "LC_ALL": "C.UTF-8"}
        program = shutil.which(argv[0])
        assert program is not None, f"{argv[0]} is not installed"
        subprocess.run(
            [program, *argv[1:]],
            cwd=self.project,
            env={**environ, "SEGUE_LINE": "0", "X": "a b"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=300,
        )
        return self._calls(len(lines))

    def _calls(self, count: int) -> list[list[tuple[str, ...]]]:
        calls: list[list[tuple[str, ...]]] = [[] for _ in range(count)]
        fields = self._log.read_bytes().decode().split("\0")[:-1]
        at = 0
        while at < len(fields):
            number, words = int(fields[at]), int(fields[at + 1])
            home = () if fields[at + 2] == str(self.home) else (f"HOME={fields[at + 2]}",)
            calls[number].append((*home, *fields[at + 3 : at + 4 + words]))
            at += 4 + words
        return calls

    def _compare(self, judged: Judged, calls: Sequence[tuple[str, ...]]) -> str | None:
        """The calls, if one was not spoken of, or one that was spoken of did not come."""
        left = [part for part in judged.parts if part.argv and part.argv[0] in STUBS]
        # A stub ends well, so that all there is runs, unless a file or a name cannot be found.
        is_certain = len(left) == len(judged.parts) and "||" not in judged.line
        if is_certain and not any(part.redirections or None in part.words for part in left):
            said = Counter(tuple(self._at_home(word) for word in part.argv if word is not None) for part in left)
            return None if said == Counter(calls) else f"{calls} and not {sorted(said.elements())}"
        return None if self._were_said(calls, left) else str(calls)

    def _were_said(self, calls: Sequence[tuple[str, ...]], left: Sequence[SimpleCommand]) -> bool:
        """Whether each call is one of what is left, in some way."""
        return not calls or any(
            self._is_like(part.argv, calls[0]) and self._were_said(calls[1:], [*left[:at], *left[at + 1 :]])
            for at, part in enumerate(left)
        )

    def _is_like(self, words: Sequence[str | None], call: Sequence[str]) -> bool:
        """An unknown word may become any number of words."""
        at = 0
        for number, word in enumerate(words):
            if word is None:
                rest = words[number + 1 :]
                return any(self._is_like(rest, call[start:]) for start in range(at, len(call) + 1))
            if at >= len(call) or call[at] != self._at_home(word):
                return False
            at += 1
        return at == len(call)

    def _at_home(self, word: str) -> str:
        return f"{self.home}{word[1:]}" if word == "~" or word.startswith("~/") else word

    def _touched(self, judged: Sequence[Judged]) -> list[str]:
        """Files that were written though no line was said to, put in order again."""
        said = {
            os.path.normpath(self.project / self._at_home(redirection.path))
            for one in judged
            for part in one.parts
            for redirection in part.redirections
            if redirection.writes
        }
        touched: list[str] = []
        for root in (self.project, self.home):
            known = {str(root / name) for name in FILES}
            there = {str(path) for path in root.rglob("*") if not path.is_dir()}
            for path in sorted(known | there):
                is_canary = path in known and path in there and os.path.getsize(path) == len("canary")
                if is_canary:
                    continue
                if path not in said:
                    touched.append(path)
                if path in known:
                    (root / path).write_text("canary")
                else:
                    os.unlink(path)
        return touched
