"""Files as context: which can be attached, and whether they have changed since."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from segue.chat.context.system_prompt import ATTACHMENTS_PERCENT
from segue.durable.kernel import storage_error
from segue.errors import SegueError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.chat.repl import Chat
    from segue.model import Attachment, Overview
    from segue.session import LiveSession

_FILE = "file"
"""The trust mark that allows an attached file to be read again."""
_MENTION = re.compile(r"""(?<![^\s(\["'])@(?:"([^"\n]+)"|([^\s"]+))""")
_PUNCTUATION = ".,;:!?)]}'\""
LIMIT_BYTES = 1 << 20
"""More than this does not fit into the context of any current model."""


def attach(chat: Chat, *paths: Path) -> None:
    """Attach files, all or none, and record that this user chose them on this machine."""
    for path in paths:
        check(path)
    for path in paths:
        chat.terminal.note(_attach(chat.session, path))
        name = os.path.realpath(path)
        chat.agents.marks_of(chat.session).put(_FILE, name, where=name)
    chat.conversation.changed_files = [one.path for one, _ in changed_files(chat)]
    _report_cuts(chat)


def attach_mentioned(chat: Chat, text: str) -> None:
    """Attach the files that a message mentions as `@path`: a word that names a file is one, any other is text.

    A pasted text may mention any file, so the user is asked before one outside of the current folder, or a hidden one,
    is sent to an agent.
    """
    paths: dict[str, Path] = {}
    for match in _MENTION.finditer(text):
        path = _mentioned(chat, match[1] or match[2])
        if path is not None and _may_attach(chat, path):
            paths.setdefault(os.path.realpath(path), path)
    known = {one.path: one for one in chat.session.overview.attachments}
    new = [path for name, path in paths.items() if name not in known or known[name].hash != _hash(check(path))]
    if new:
        attach(chat, *new)


def _mentioned(chat: Chat, word: str) -> Path | None:
    """The file of this name, with or without the punctuation after it."""
    for name in (word, word.rstrip(_PUNCTUATION)):
        path = expand_path(chat, name)
        try:
            if name and path.is_file():
                return path
        except (OSError, ValueError):
            return None
    return None


def expand_path(chat: Chat, argument: str) -> Path:
    """The path that was typed, relative to the folder in which the conversation was started."""
    if argument == "~" or argument.startswith("~/"):
        return chat.surface.home / argument[2:]
    return chat.surface.cwd / argument


def _may_attach(chat: Chat, path: Path) -> bool:
    folder = os.path.realpath(chat.surface.cwd)
    inside = is_inside(path, chat.surface.cwd)
    parts = Path(os.path.realpath(path)).relative_to(folder).parts if inside else ()
    if inside and not any(part.startswith(".") for part in parts):
        return True
    why = "is hidden" if inside else "is not in this folder"
    if chat.terminal.ask(f"{path} {why}. Attach it?", default=False):
        return True
    chat.terminal.note(f"{path} is not attached; /context {path} attaches it")
    return False


def report_attachments(chat: Chat) -> None:
    """Report attached files that have changed since, and what of the attachments is not sent."""
    changed = changed_files(chat)
    chat.conversation.changed_files = [one.path for one, _ in changed]
    for one, how in changed:
        again = f"; /context {one.path} attaches it again" if how == "has changed" else ""
        chat.terminal.note(f"{one.path} {how} since it was attached{again}")
    _report_cuts(chat)


def changed_files(chat: Chat) -> list[tuple[Attachment, str]]:
    """The attached files that have changed, of those that were chosen here or are in the current folder."""
    marks = chat.agents.marks_of(chat.session)

    def may_look(path: Path) -> bool:
        return marks.has(_FILE, str(path), where=str(path)) or is_inside(path, chat.surface.cwd)

    return changes(chat.session.overview, may_look)


def is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _report_cuts(chat: Chat) -> None:
    for cut in chat.conversation.requests.cuts():
        chat.terminal.note(f"{cut} of {cut.path} are sent; all attachments share {ATTACHMENTS_PERCENT}% of max_tokens")


def _attach(session: LiveSession, path: Path) -> str:
    """Attach a file with its hash, unless it is already attached and unchanged; returns a message for the user."""
    name, data = os.path.realpath(path), check(path)
    earlier = next((one for one in reversed(session.overview.attachments) if one.path == name), None)
    if earlier is not None and earlier.hash == _hash(data):
        return f"{path} is already attached and has not changed"
    session.attach(name, data)
    changed = "; it has changed since it was attached before" if earlier is not None else ""
    return f"{path} is attached ({len(data):,} bytes){changed}"


def check(path: Path, *, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """The content of a file that can be attached. UsageError if it is too large, or not text."""
    data = read(path, limit_bytes=limit_bytes)
    try:
        is_text = b"\0" not in data and data.decode() is not None
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise UsageError(f"{path} is not a text file (UTF-8)", hint="convert it to text, and attach that")
    return data


def changes(overview: Overview, may_look: Callable[[Path], bool]) -> list[tuple[Attachment, str]]:
    """The attachments whose files differ now, each with "has changed" or "is gone".

    The paths come from the session, so only those are read that `may_look` allows.
    """
    latest = {one.path: one for one in overview.attachments}
    found: list[tuple[Attachment, str]] = []
    for name, one in latest.items():
        path = Path(name)
        if "\0" in name or not path.is_absolute() or not may_look(path):  # without a path it came from standard input
            continue
        try:
            if path.stat().st_size != one.size_bytes or _hash(read(path, limit_bytes=one.size_bytes)) != one.hash:
                found.append((one, "has changed"))
        except (OSError, SegueError):
            found.append((one, "is gone"))
    return found


def read(path: Path, *, limit_bytes: int) -> bytes:
    """The bytes of a regular file; never waits for a pipe."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{path} is not a regular file", hint="name a file")
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except OSError as error:
        raise storage_error(error, str(path), "read") from None
    if len(data) > limit_bytes:
        raise UsageError(
            f"{path} is too large: {max(found.st_size, len(data)):,} bytes; the limit is {limit_bytes:,}",
            hint="attach only the part that matters",
        )
    return data


def _hash(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
