"""Reading an export archive: nothing is unpacked to the disk, and no more is decompressed than such a file contains."""

from __future__ import annotations

import re
import zipfile
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from segue.errors import SegueError, UsageError
from segue.formats.records import BadRecordError
from segue.integrations.archives import chatgpt, claude_ai
from segue.integrations.archives.json_array import BadArrayError, split_items
from segue.integrations.format.limits import ARCHIVE_FILES, CONVERSATION_BYTES, unpacked_limit
from segue.integrations.format.transcript import TranscriptBuilder, parse_record
from segue.integrations.format.values import as_text
from segue.integrations.shared.history import ExternalSession, OpenedTranscript, open_lines
from segue.integrations.shared.integration import Integration

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import IO

    from segue.integrations.format.transcript import TranscriptTurn
    from segue.model import JsonObject

    ParseConversation = Callable[[JsonObject, TranscriptBuilder], Generator[TranscriptTurn]]

MAGIC = b"PK\x03\x04"
_CONVERSATIONS = re.compile(r"(?:[^/]+/){0,3}conversations(?:[-_]\d{1,6})?\.json")
_MESSAGES = re.compile(rb'(?<!\\)"(?:mapping"\s*:\s*\{|chat_messages"\s*:\s*\[)')
"""Where a conversation has its messages; in a text, the quotation mark is escaped."""
_HEAD_BYTES = 256 << 10
_BLOCK_BYTES = 1 << 20
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)
"""What a damaged, encrypted or unusual zip file raises."""


class ArchivedConversation(Integration, frozen=True, kw_only=True):
    """One conversation of an archive, as an integration that has only this session."""

    document: dict[str, object]
    parse: object

    def read(self, session: ExternalSession) -> OpenedTranscript:
        builder = TranscriptBuilder(self.name, session.path, session.id)
        parse: ParseConversation = self.parse  # type: ignore[assignment]
        return OpenedTranscript(builder, parse(self.document, builder))


class FoundConversation(NamedTuple):
    source: ArchivedConversation
    session: ExternalSession


class UnreadConversation(NamedTuple):
    """A part of an archive that cannot be read."""

    place: str
    reason: str


def is_archive(path: str) -> bool:
    """Whether a file is a zip file, or JSON that starts like a list of such conversations."""
    try:
        with open_lines(path) as lines:
            start = lines.read(_HEAD_BYTES, 0)
    except SegueError:
        return False  # reading it as another format reports why
    is_list = start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    return start.startswith(MAGIC) or (is_list and _MESSAGES.search(start) is not None)


def read_archive(path: str) -> Iterator[FoundConversation | UnreadConversation]:
    """The conversations, one at a time. UsageError if it is not an archive of conversations."""
    with open(path, "rb") as file:  # noqa: PTH123 - the path may not be text
        if file.read(4) != MAGIC:
            file.seek(0)
            yield from _conversations(path, path, _blocks(file, path, None))
            return
        try:
            with zipfile.ZipFile(file) as archive:
                for info in _find_members(path, archive):
                    with archive.open(info) as member:
                        blocks = _blocks(member, info.filename, unpacked_limit(info.compress_size))
                        yield from _conversations(path, f"{path}, {info.filename}", blocks)
        except _BROKEN as error:
            raise UsageError(f"{path}: it cannot be unpacked: {error!s:.200}") from None


def _find_members(path: str, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    if len(members) > ARCHIVE_FILES:
        raise UsageError(f"{path}: it contains more than {ARCHIVE_FILES:,} files")
    found = {info.filename: info for info in members if _CONVERSATIONS.fullmatch(info.filename)}
    if any(".." in name.split("/") for name in found):
        raise UsageError(f"{path}: it contains a file outside of its own folder")
    if not found:
        raise UsageError(f"{path}: it contains no conversations.json", hint="export archives of chats have one")
    return [found[name] for name in sorted(found)]


def _blocks(file: IO[bytes], name: str, limit: int | None) -> Iterator[bytes]:
    total = 0
    while block := file.read(_BLOCK_BYTES):
        total += len(block)
        if limit is not None and total > limit:
            raise UsageError(f"{name} decompresses to more than {limit >> 20} MB, far more than text does")
        yield block


def _conversations(path: str, place: str, blocks: Iterator[bytes]) -> Iterator[FoundConversation | UnreadConversation]:
    items = split_items(blocks, CONVERSATION_BYTES)
    number = 0
    while True:
        number += 1
        here = f"{place}, conversation {number}"
        try:
            data = next(items, b"")
        except BadArrayError as error:
            if number == 1:
                raise UsageError(f"{place}: {error}; nothing was imported") from None
            yield UnreadConversation(here, str(error))
            return
        if data == b"":
            return
        if data is None:
            yield UnreadConversation(here, f"it is longer than {CONVERSATION_BYTES >> 20} MB")
            continue
        try:
            yield _conversation(path, here, parse_record(data), data)
        except (BadRecordError, RecursionError) as error:
            yield UnreadConversation(here, str(error) or "it is nested too deeply")


def _conversation(path: str, place: str, document: object, data: bytes) -> FoundConversation | UnreadConversation:
    if not isinstance(document, dict):
        return UnreadConversation(place, "it is not a conversation")
    id = as_text(document.get("conversation_id") or document.get("id") or document.get("uuid"))
    id = id[:100] or sha256(data).hexdigest()[:16]
    session = ExternalSession(id=id, revision="", path=f"{path}, conversation {id}", changed_at=0.0)
    if isinstance(document.get("mapping"), dict):
        found = ArchivedConversation(name="chatgpt", title="ChatGPT", document=document, parse=chatgpt.parse_turns)
    elif isinstance(document.get("chat_messages"), list):
        found = ArchivedConversation(
            name="claude-ai", title="Claude.ai", document=document, parse=claude_ai.parse_turns
        )
    else:
        return UnreadConversation(place, "it is neither a conversation of ChatGPT nor of Claude.ai")
    return FoundConversation(found, session)
