"""Commands for texts: copy an answer to the clipboard, write a message in an editor, summarize the conversation."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from segue import process
from segue.chat.commands.branches import last_of_user
from segue.chat.commands.table import Command
from segue.chat.compaction import compact
from segue.durable.folder import Folder
from segue.durable.kernel import storage_error
from segue.durable.scratch import scratch_folder
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segue.chat.repl import Chat

_CLIPBOARD_SECONDS = 5.0
_CLIPBOARDS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("TMUX", ("tmux", "load-buffer", "-w", "-")),
    ("", ("pbcopy",)),
)
"""The programs that set a clipboard, each with the variable without which it has none to set."""
_EDITORS = ("sensible-editor", "nano", "vim", "vi")
_MESSAGE = "message.md"


def _copy(chat: Chat, _: str) -> None:
    answer = next((turn for turn in reversed(chat.session.tail(50)) if turn.role == "assistant" and turn.content), None)
    if answer is None:
        raise UsageError("there is no answer to copy", hint="ask something first")
    program = _set_clipboard(answer.content, chat.surface.environ)
    is_sent = chat.terminal.copy(answer.content)
    count = f"{len(answer.content):,} characters"
    if program:
        chat.terminal.note(f"copied {count} with {program}")
    elif is_sent:
        chat.terminal.note(f"sent {count} to the clipboard of the terminal, if it allows that (OSC 52)")
    else:
        raise UsageError("there is no clipboard here", hint="/save FILE writes a copy; wl-copy, xclip and pbcopy work")


def _set_clipboard(text: str, environ: Mapping[str, str]) -> str:
    """The program that took the text; empty if none did."""
    for variable, argv in _CLIPBOARDS:
        program = process.which(argv[0], environ) if not variable or environ.get(variable) else None
        if program is None:
            continue
        data = text.encode("utf-8", "replace")
        try:
            ended = process.run(
                [program, *argv[1:]], cwd="/", environ=environ, timeout_seconds=_CLIPBOARD_SECONDS, stdin=data
            )
        except OSError:
            continue
        if ended.code == 0:
            return argv[0]
    return ""


def _edit(chat: Chat, argument: str) -> None:
    """Send what was written in the editor; `last` is the last message, which is sent again from a new branch."""
    if argument not in {"", "last"}:
        raise UsageError(f"{argument!r} is not a message", hint="/edit, or /edit last")
    if not chat.terminal.is_interactive:
        raise UsageError("an editor needs a terminal", hint="type the message")
    found = last_of_user(chat) if argument else None
    if argument and found is None:
        raise UsageError("there is no message to edit", hint="/edit writes a new one")
    before = found[1].content if found is not None else ""
    text = _written(chat, before).strip("\n")
    if not text.strip() or text == before:
        chat.terminal.note("nothing was sent")
        return
    if found is not None:
        branch = chat.session.branch
        name = chat.session.fork(at=found[0] - 1)
        chat.terminal.note(f"now in {name}; the message as it was is in {branch}: /switch {branch}")
    chat.terminal.say(f"{text}\n")
    chat.send(text)


def _written(chat: Chat, before: str) -> str:
    """What the user leaves in a file after editing it."""
    argv = _editor(chat.surface.environ)
    with scratch_folder() as folder:
        file = Folder(folder)
        try:
            file.create(_MESSAGE, before.encode("utf-8", "backslashreplace"))
            code = process.run_in_terminal(
                [*argv, str(Path(folder) / _MESSAGE)], environ=chat.surface.environ, cwd=chat.surface.cwd
            )
            data = file.read(_MESSAGE)
        except OSError as error:
            raise storage_error(error, argv[0], "run") from None
    if code:
        raise UsageError(f"{argv[0]} {process.describe_exit(code)}; nothing was sent", hint="set EDITOR, and try again")
    return data.decode("utf-8", "backslashreplace")


def _editor(environ: Mapping[str, str]) -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environ.get(name, ""))
        except ValueError:
            raise UsageError(f"{name} has a quotation mark that is not closed", hint=f"correct {name}") from None
        program = process.which(words[0], environ) if words else None
        if program is not None:
            return [program, *words[1:]]
        if words:
            raise UsageError(f"{name} names {words[0]}, which is not a program here", hint=f"correct {name}")
    for name in _EDITORS:
        if (program := process.which(name, environ)) is not None:
            return [program]
    raise UsageError("there is no editor", hint="set EDITOR")


def _compact(chat: Chat, argument: str) -> None:
    before, turns = chat.session.branch, chat.session.overview.turn_count
    waiting = f"{chat.agent_name} summarizes {turns} turns"
    compacted = compact(chat.conversation, argument, show=lambda pieces: chat.terminal.show(pieces, waiting=waiting))
    lost = f" ({compacted.unread} of them did not fit and are not in it)" if compacted.unread else ""
    chat.terminal.note(f"now in {compacted.branch}, where this summary is sent instead of the {turns} turns{lost}")
    chat.terminal.note(f"nothing is deleted: /switch {before} goes back to the whole conversation")


COMMANDS = (
    Command(name="copy", help="copy the last answer to the clipboard", run=_copy),
    Command(name="edit", usage="[last]", help="write a message, or your last one, in an editor", run=_edit),
    Command(name="compact", usage="[WHAT MATTERS]", help="continue with a summary; nothing is deleted", run=_compact),
)
