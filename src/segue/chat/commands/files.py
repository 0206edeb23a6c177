"""Commands for files: write copies of the conversation, import turns, attach files as context."""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.chat.commands.attachments import attach, changed_files, expand_path, read
from segue.chat.commands.table import Command
from segue.durable.folder import Folder
from segue.durable.kernel import storage_error
from segue.errors import UsageError
from segue.formats import transcript
from segue.formats.exported import BadExportError, read_export
from segue.formats.transcript import has_derived_id
from segue.model import fold

if TYPE_CHECKING:
    from datetime import datetime

    from segue.chat.repl import Chat
    from segue.model import Session, Turn

_FORMATS = {"markdown": ".md", "json": ".json", "jsonl": ".jsonl"}
_IMPORT_LIMIT_BYTES = 256 << 20


def resolve_path(chat: Chat, argument: str) -> Path:
    """The path that was typed, relative to the folder in which the conversation was started."""
    if len(argument) > 1 and argument[0] == argument[-1] and argument[0] in "\"'":
        argument = argument[1:-1]
    return expand_path(chat, argument)


def resolve_paths(chat: Chat, argument: str) -> list[Path]:
    """The one path that was typed, also with blanks, if it exists; else several, quoted as in a shell, or patterns."""
    whole = resolve_path(chat, argument)
    if os.path.lexists(whole):
        return [whole]
    try:
        words = shlex.split(argument)
    except ValueError:
        raise UsageError("a quotation mark is not closed", hint="put names with blanks in quotation marks") from None
    return list(dict.fromkeys(path for word in words for path in _matching(chat, word)))


def _matching(chat: Chat, word: str) -> list[Path]:
    path = expand_path(chat, word)
    if os.path.lexists(path) or not any(char in word for char in "*?["):
        return [path]
    folder = Path(path.anchor) if word.startswith("/") else expand_path(chat, "~" if word.startswith("~/") else "")
    found = sorted(one for one in folder.glob(word.removeprefix("~/").lstrip("/")) if one.is_file())
    if not found:
        raise UsageError(f"no file matches {word}", hint="/context PATH attaches a file")
    return found


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
    path = resolve_path(chat, argument) if argument else chat.surface.cwd / name
    if path.is_dir():
        path /= name
    content = _render(chat, ending if is_fixed else path.suffix.lower() or ending)
    if _write(chat, path, content.encode("utf-8", "backslashreplace")):
        chat.terminal.note(f"wrote a copy to {path}")
    else:
        chat.terminal.note("nothing was written")


def _render(chat: Chat, ending: str) -> str:
    session, streamed = chat.library.load(chat.session.id), chat.library.stream(chat.session.id)
    match ending:
        case ".json":
            records = [transcript.to_json_object(record) for record in streamed.records]
            return transcript.json_document(transcript.to_json_object(session) | {"records": records}) + "\n"
        case ".jsonl":
            return transcript.jsonl(session)
        case _:
            return transcript.markdown(session, records=streamed.record_count)


def _write(chat: Chat, path: Path, data: bytes) -> bool:
    """Write the whole file or nothing; an existing file is replaced only after a clear yes."""
    folder = Folder(os.path.realpath(path.parent))
    try:
        try:
            folder.create(path.name, data)
        except FileExistsError:
            if not stat.S_ISREG(path.lstat().st_mode):
                raise UsageError(
                    f"{path} is not a regular file and was not replaced", hint="name another one"
                ) from None
            if not chat.terminal.ask(f"{path} exists. Replace it?", default=False):
                return False
            folder.replace(path.name, data)
    except OSError as error:
        raise storage_error(error, str(path), "write") from None
    return True


def _import(chat: Chat, argument: str) -> None:
    if not argument:
        raise UsageError("no file is named", hint="/import FILE reads what /export wrote")
    path = resolve_path(chat, argument)
    data = read(path, limit_bytes=_IMPORT_LIMIT_BYTES)
    turns = turns_of(data, path.name, now=chat.clock(), branch=chat.session.branch)
    before = chat.session.overview.turn_count
    if turns:
        chat.session.record(*_placed(turns, chat.library.load(chat.session.id)))
    added = chat.session.overview.turn_count - before
    known = f"; {len(turns) - added} were there already" if added < len(turns) else ""
    chat.terminal.note(f"{added} turn{'' if added == 1 else 's'} recorded from {path}{known}")


def _placed(turns: list[Turn], session: Session) -> list[Turn]:
    """The turns on the active branch: those that it shares with another stay there, and it gets copies of others'.

    A copy has an id of its own, always the same, so that importing a file again adds nothing.
    """
    recorded = {turn.id: turn for own in session.own_turns.values() for turn in own}
    shared = {turn.id for turn in session.turns}
    alike = {(turn.role, turn.content, turn.timestamp): turn for turn in session.turns}
    placed: list[Turn] = []
    for given in turns:
        turn = given
        if has_derived_id(turn):  # Markdown has no ids, so the same turn is known by what it says, and when
            turn = alike.get((turn.role, turn.content, turn.timestamp), turn)
        known = recorded.get(turn.id)
        if known is None or known.branch == turn.branch:
            placed.append(turn)
        elif turn.id in shared:
            placed.append(replace(turn, branch=known.branch))
        else:
            name = hashlib.sha256(f"{turn.branch}\n{turn.id}".encode()).hexdigest()[:32]
            placed.append(replace(turn, id=f"copy:{name}"))
    return placed


def _context(chat: Chat, argument: str) -> None:
    if argument:
        attach(chat, *resolve_paths(chat, argument))
        return
    attachments = {one.path: one for one in chat.session.overview.attachments}
    if not attachments:
        chat.terminal.note("nothing is attached; /context PATH attaches a file")
        return
    changed = {one.path: f"; it {how} since" for one, how in changed_files(chat)}
    cuts = {cut.path: f"; {cut} are sent" for cut in chat.conversation.requests.cuts()}
    lines = [
        f"{path} ({one.size_bytes:,} bytes{changed.get(path, '')}{cuts.get(path, '')})"
        for path, one in attachments.items()
    ]
    chat.terminal.say("\n".join(lines))


COMMANDS = (
    Command(
        name="context",
        usage="[PATH …]",
        help="attach files, or show what is attached",
        run=_context,
        completes="path",
    ),
    Command(name="save", usage="[FILE]", help="write a copy to read (.md, .json, .jsonl)", run=_save, completes="path"),
    Command(
        name="export",
        usage="[FORMAT] [FILE]",
        help="write a copy as jsonl, json or markdown",
        run=_export,
        completes="path",
    ),
    Command(name="import", usage="FILE", help="add the turns of an export", run=_import, completes="path"),
)


def turns_of(data: bytes, name: str, *, now: datetime, branch: str) -> list[Turn]:
    """The turns of the active branch of an export, for this branch; UsageError names the first thing that is wrong."""
    try:
        turns = fold(read_export(data, id="import", now=now).events).turns
    except (BadExportError, RecursionError) as error:
        reason = error if isinstance(error, BadExportError) else "it is nested too deeply"
        raise UsageError(f"{name}: {reason}; nothing was recorded", hint="correct it, and try again") from None
    return [replace(turn, branch=branch, seq=0) for turn in turns]
