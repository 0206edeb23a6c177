"""Copies of the conversation as files, turns that come from files, and files as context."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from segue.chat.commands.attachments import read
from segue.chat.commands.table import Command
from segue.durable.folder import Folder
from segue.durable.kernel import storage_error
from segue.errors import UsageError
from segue.formats import transcript

if TYPE_CHECKING:
    from pathlib import Path

    from segue.chat.repl import Chat
    from segue.model import Session

_FORMATS = {"markdown": ".md", "json": ".json", "jsonl": ".jsonl"}
_IMPORT_LIMIT_BYTES = 256 << 20


def place(chat: Chat, argument: str) -> Path:
    """The path that a person typed, seen from the folder the conversation was started in."""
    if len(argument) > 1 and argument[0] == argument[-1] and argument[0] in "\"'":
        argument = argument[1:-1]
    if argument == "~" or argument.startswith("~/"):
        return chat.surface.home / argument[2:]
    return chat.surface.cwd / argument


def _save(chat: Chat, argument: str) -> None:
    _write_copy(chat, argument, ".md")


def _export(chat: Chat, argument: str) -> None:
    first, _, rest = argument.partition(" ")
    if first in _FORMATS:
        _write_copy(chat, rest.strip(), _FORMATS[first], is_fixed=True)
    else:
        _write_copy(chat, argument, ".jsonl")


def _write_copy(chat: Chat, argument: str, ending: str, *, is_fixed: bool = False) -> None:
    """Write to the file that was named or one named after the session, in the format of its ending or the given one."""
    name = f"{chat.session.id}{ending}"
    path = place(chat, argument) if argument else chat.surface.cwd / name
    if path.is_dir():
        path /= name
    content = _render(chat.library.load(chat.session.id), ending if is_fixed else path.suffix.lower() or ending)
    if _write(chat, path, content.encode("utf-8", "backslashreplace")):
        chat.terminal.note(f"a copy is written to {path}")
    else:
        chat.terminal.note("nothing is written")


def _render(session: Session, ending: str) -> str:
    match ending:
        case ".json":
            return transcript.json_document(transcript.to_json_object(session)) + "\n"
        case ".jsonl":
            return transcript.jsonl(session)
        case _:
            return transcript.markdown(session)


def _write(chat: Chat, path: Path, data: bytes) -> bool:
    """All of it under its name, or nothing; what is there is replaced only by a clear yes."""
    folder = Folder(os.path.realpath(path.parent))
    try:
        try:
            folder.create(path.name, data)
        except FileExistsError:
            if not stat.S_ISREG(path.lstat().st_mode):
                raise UsageError(f"{path} is no regular file, and is not replaced", hint="name another one") from None
            if not chat.terminal.ask(f"{path} exists. Replace it?", default=False):
                return False
            folder.replace(path.name, data)
    except OSError as error:
        raise storage_error(error, str(path), "write") from None
    return True


def _import(chat: Chat, argument: str) -> None:
    if not argument:
        raise UsageError("which file?", hint="/import FILE reads what /export wrote")
    from segue.chat.commands.imports import turns_of

    path = place(chat, argument)
    data = read(path, limit_bytes=_IMPORT_LIMIT_BYTES)
    turns = turns_of(data, path.name, now=chat.clock(), branch=chat.session.branch, new_id=lambda: os.urandom(8).hex())
    before = chat.session.overview.turn_count
    if turns:
        chat.session.record(*turns)
    added = chat.session.overview.turn_count - before
    known = f"; {len(turns) - added} were there already" if added < len(turns) else ""
    chat.terminal.note(f"{added} turn{'' if added == 1 else 's'} recorded from {path}{known}")


def _context(chat: Chat, argument: str) -> None:
    if argument:
        chat.attach(place(chat, argument))
        chat.conversation.changed = [one.path for one, _ in chat.changes()]
        return
    attachments = {one.path: one for one in chat.session.overview.attachments}
    if not attachments:
        chat.terminal.note("nothing is attached; /context PATH attaches a file")
        return
    changed = {one.path: how for one, how in chat.changes()}
    lines = [
        f"{path} ({one.size_bytes:,} bytes{f'; it {changed[path]} since' if path in changed else ''})"
        for path, one in attachments.items()
    ]
    chat.terminal.say("\n".join(lines))


COMMANDS = (
    Command(
        name="context", usage="[PATH]", help="attach a file, or show what is attached", run=_context, completes="path"
    ),
    Command(name="save", usage="[FILE]", help="write a copy to read (.md, .json, .jsonl)", run=_save, completes="path"),
    Command(
        name="export",
        usage="[markdown|json|jsonl] [FILE]",
        help="write a copy for programs (jsonl)",
        run=_export,
        completes="path",
    ),
    Command(name="import", usage="FILE", help="add the turns of an export", run=_import, completes="path"),
)
