"""Other programs that show sessions of AI tools: which messages of the user they find in a home folder."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
from contextlib import closing
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_MESSAGE = re.compile(r'<div class="message user"(.*?)(?=<div class="(?:message |pagination)|<script>)', re.DOTALL)


def _run(folder: Path, home: Path, *words: str) -> None:
    # It stays on this machine, starts no server and reports to nobody.
    environ = {**os.environ, "HOME": str(home), "DO_NOT_TRACK": "1", "AGENTSVIEW_NO_DAEMON": "1"}
    argv = [str(folder / "bin" / words[0]), *words[1:]]
    done = subprocess.run(argv, env=environ, cwd=home, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done


def _claude_files(home: Path) -> list[Path]:
    return sorted((home / ".claude" / "projects").rglob("*.jsonl"))


def _claude_code_log(folder: Path, home: Path) -> Iterator[str]:
    for file in _claude_files(home):
        output = home / "log.json"
        _run(folder, home, "claude-code-log", str(file), "-o", str(output), "--depth", "hook")
        waiting = json.loads(output.read_text(encoding="utf-8"))["messages"]
        while waiting:
            message = waiting.pop()
            waiting += message.get("children") or []
            if message["type"] in {"user", "bash-input"}:
                yield "\n".join(_texts(message["content"]))


def _texts(content: dict[str, object]) -> Iterator[str]:
    items = content.get("items")
    for item in items if isinstance(items, list) else []:
        yield item.get("text", "")
    for name in ("text", "command", "command_name", "command_args", "command_contents", "summary_text", "stdout"):
        yield str(content.get(name) or "")


def _claude_code_transcripts(folder: Path, home: Path) -> Iterator[str]:
    for number, file in enumerate(_claude_files(home)):
        output = home / f"pages-{number}"
        _run(folder, home, "claude-code-transcripts", "json", str(file), "-o", str(output))
        for page in sorted(output.glob("page-*.html")):
            for found in _MESSAGE.finditer(page.read_text(encoding="utf-8")):
                shown = found[1].partition('<div class="message-content">')[2]
                yield unescape(_TAG.sub(" ", shown))


def _agentsview(folder: Path, home: Path) -> Iterator[str]:
    _run(folder, home, "agentsview", "sync")
    with closing(sqlite3.connect(home / ".agentsview" / "sessions.db")) as database:
        query = "SELECT content FROM messages WHERE role = 'user' AND NOT is_system"
        yield from (content for (content,) in database.execute(query).fetchall())


VIEWERS: Mapping[str, Callable[[Path, Path], Iterator[str]]] = {
    "claude-code-log": _claude_code_log,
    "claude-code-transcripts": _claude_code_transcripts,
    "agentsview": _agentsview,
}
"""By the name of the program: the messages of the user that it shows for a home folder."""


def plain_words(text: str) -> str:
    """The words of a text as they are compared: without tags, entities and marks of Markdown."""
    return " ".join(re.findall(r"\w+", _TAG.sub(" ", unescape(text))))
