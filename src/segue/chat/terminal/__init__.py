"""The two terminals of a conversation: an interactive one, and one that reads lines and writes plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import TextIO

    from segue.surface import Terminal


def open_terminal(
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    *,
    environ: Mapping[str, str],
    history: Path | None = None,
    name: str = "segue",
) -> Terminal:
    """An interactive terminal if both ends are one; else one that reads line by line and writes plain text."""
    if stdin.isatty() and stdout.isatty():
        from segue.chat.terminal.interactive import InteractiveTerminal

        is_plain = bool(environ.get("NO_COLOR")) or environ.get("TERM", "dumb") in {"", "dumb", "unknown"}
        return InteractiveTerminal(stdin, stdout, is_plain=is_plain, history=history)
    from segue.chat.terminal.script import ScriptTerminal

    return ScriptTerminal(stdin.buffer, stdout, stderr, name=name, prompts=stdin.isatty() and stderr.isatty())
