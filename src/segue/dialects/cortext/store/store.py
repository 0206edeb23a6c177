"""The store over a workspace of Cortext. The files are the only truth; nothing else here needs to survive."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.dialects.cortext.format import (
    HIDDEN,
    LAYOUT_VERSION,
    MESSAGES,
    SESSION,
    CortextDocument,
    document_name,
    encode_turns,
    new_document,
    next_folder,
    path_in_workspace,
    render_stub,
    split_id,
)
from segue.dialects.cortext.store.conversation import ConversationFiles
from segue.dialects.cortext.store.head_cache import CONVERSATIONS, CortextHeadCache, files_of, revision_of
from segue.dialects.cortext.store.recovery import finish_recovery, salvage_conversation
from segue.dialects.cortext.store.writer import CortextWriter
from segue.durable.file_location import FileLocation
from segue.durable.file_store import FileStore, released_on_error
from segue.durable.folder import parse_temporary_name
from segue.durable.kernel import KERNEL, Kernel
from segue.durable.log import Log
from segue.durable.quarantine import keep_fragment, set_aside
from segue.durable.snapshot import Snapshot, read_signature
from segue.durable.trash import FileTrash
from segue.errors import (
    Damage,
    DamagedError,
    ReadOnlyError,
    SegueError,
    SessionExistsError,
    StorageError,
    UsageError,
)
from segue.ids import is_id
from segue.model import Metadata, Turn, accept_first
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Durability, Examination, Recovery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from segue.durable.folder import Folder
    from segue.durable.lock import WriterLock
    from segue.model import Event, Overview, Session
    from segue.store import Owner

WORKSPACE = ".workspace"
CONTEXT, CONTEXT_SUFFIX = "context", ".md"
"""The folder of the files with which conversations are handed over, and how their names end."""


class CortextStore(FileStore):
    """See store.Store. One folder per conversation; locks and fragments are in `.workspace`, excluded from git."""

    scheme = "cortext"
    head_cache_type = CortextHeadCache
    _head_cache: CortextHeadCache

    def __init__(
        self,
        root: str,
        *,
        kernel: Kernel = KERNEL,
        clock: Callable[[], datetime] = utc_now,
        durability: Durability = Durability.SYNCED,
    ) -> None:
        super().__init__(root, kernel=kernel, clock=clock, durability=durability)
        self._conversations = self.folder.sub(CONVERSATIONS)
        self._locks = self.folder.sub(WORKSPACE).sub("locks")
        self._quarantine = self.folder.sub(WORKSPACE).sub("quarantine")
        self._trash = FileTrash(self, self.folder.sub(WORKSPACE).sub("trash"), clock)

    def new_id(self, label: str, now: datetime, entropy: bytes) -> str:  # noqa: ARG002 - numbered by day
        day = f"{now:%Y-%m-%d}"
        return f"{day}-{next_folder(label, [entry.name for entry in self._conversations.sub(day).scan()])}"

    def create(self, session_id: str, events: Sequence[Event]) -> CortextWriter:
        folder, name = self._location(session_id).folder, split_id(session_id)[1]
        numbered, _, overview = accept_first(session_id, events)
        turns = [event for event in numbered if isinstance(event, Turn)]
        lines = encode_turns(turns, until=overview.seq)
        document = new_document(name, numbered, overview, len(lines))
        data = document.encode()
        lock = self._lock_new(session_id)
        made: list[FileLocation] = []
        with released_on_error(lock.release), released_on_error(partial(self._unmake, session_id, made)):
            if read_signature(folder, SESSION):
                raise SessionExistsError(session_id)
            folder.make()
            self._clear_away(session_id, folder)
            log = self._begin_log(session_id, folder, lines, made)
            with released_on_error(log.close):
                self._write_stub(session_id, numbered[0], made)
                try:
                    folder.create(SESSION, data)
                except FileExistsError:
                    raise SessionExistsError(session_id) from None
                made.append(FileLocation(folder, SESSION))
                snapshot = Snapshot(folder, SESSION, data, read_signature(folder, SESSION))
                return self._writer(session_id, lock, log, snapshot, document, is_recorded=True)

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> CortextWriter:
        lock = self._acquire(session_id, timeout_seconds)
        with released_on_error(lock.release):
            folder = self._location(session_id).folder
            folder.make()
            folder.sync()  # the process that wrote the session may have been killed before this
            conversation = ConversationFiles(folder, session_id)
            end = conversation.end()
            _check_version(session_id, end.document)
            if end.is_ours and end.reading is not None and end.reading.is_whole:
                finish_recovery(folder, end.document, end.reading.events)  # a recovery was cut short
                end = conversation.end()
            is_new = not read_signature(folder, MESSAGES)
            log = Log(folder, MESSAGES, folder.open(MESSAGES, os.O_RDWR | os.O_APPEND | os.O_CREAT))
            with released_on_error(log.close):
                if is_new:
                    folder.sync()
                if end.complete < log.size:
                    self.exclude_from_git(self._quarantine)
                    set_aside(self._quarantine, session_id, log, end.complete)
                snapshot = Snapshot(folder, SESSION, conversation.data, conversation.signature)
                writer = self._writer(session_id, lock, log, snapshot, end.document, is_recorded=end.is_recorded)
                if end.is_ours:
                    writer.settle()
                return writer

    def load(self, session_id: str) -> Session:
        session = self._conversation(session_id).sound().session
        assert session is not None  # noqa: S101 - otherwise it would be damaged
        return self._with_liveness(session)

    def overview(self, session_id: str) -> Overview:
        return self._with_liveness(self._conversation(session_id).end().document.overview)

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        return self._conversation(session_id).tail(count, branch)

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        return (event for event in self._conversation(session_id).sound().events if event.seq > after)

    def revision(self, session_id: str) -> str:
        folder = self._location(session_id).folder
        signature = read_signature(folder, SESSION)
        if not signature:
            raise self._not_found(session_id)
        return revision_of(signature, read_signature(folder, MESSAGES))

    def ids(self) -> Iterator[str]:
        return self._head_cache.ids()

    def revisions(self) -> Iterator[tuple[str, str]]:
        """In one pass over the folders."""
        return self._head_cache.revisions()

    def examine(self, session_id: str) -> Examination:
        conversation = self._conversation(session_id)
        try:
            reading = conversation.read()
        except StorageError as error:
            return Examination(session=None, damages=(Damage(path_in_workspace(session_id, SESSION), str(error)),))
        session = reading.session
        return Examination(
            session=session and self._with_liveness(session),
            damages=reading.damages,
            torn_bytes=max(0, conversation.size - reading.complete),
        )

    def recover(self, session_id: str) -> Recovery:
        lock = self._acquire(session_id, 0.0)
        try:
            conversation = self._conversation(session_id)
            reading = conversation.read()
            document = reading.document
            if document is not None:
                _check_version(session_id, document)
            if not reading.damages:
                raise UsageError(f"session {session_id} is not damaged", hint="there is nothing to recover")
            if document is None:
                raise DamagedError(session_id, reading.damages)
            original = salvage_conversation(conversation.folder, document, reading)
        finally:
            lock.release()
        kept, damages = len(reading.events), reading.damages
        return Recovery(session=self.load(session_id), kept=kept, damages=damages, original=original)

    def _location(self, session_id: str) -> FileLocation:
        day, folder = split_id(session_id)
        return FileLocation(self._conversations.sub(day).sub(folder).sub(HIDDEN), SESSION)

    def _blobs(self, session_id: str) -> Folder:
        return self._location(session_id).folder.sub("blobs")

    def _conversation(self, session_id: str) -> ConversationFiles:
        return ConversationFiles(self._location(session_id).folder, session_id)

    def _try_acquire(self, session_id: str, timeout_seconds: float) -> WriterLock | Owner:
        self.exclude_from_git(self._locks)
        return super()._try_acquire(session_id, timeout_seconds)

    def exclude_from_git(self, folder: Folder) -> None:
        exclude_from_git(folder)

    def _clear_away(self, session_id: str, folder: Folder) -> None:
        """Quarantine turns without a session.json, which a crash or a user left."""
        if read_signature(folder, MESSAGES):
            self.exclude_from_git(self._quarantine)
            keep_fragment(self._quarantine, session_id, 0, folder.read(MESSAGES))
            folder.remove(MESSAGES)

    def _begin_log(self, session_id: str, folder: Folder, lines: bytes, made: list[FileLocation]) -> Log:
        fd, temporary = folder.begin(lines, MESSAGES)
        with released_on_error(partial(folder.close, fd)):
            try:
                folder.publish(temporary, MESSAGES)
            except FileExistsError:
                raise SessionExistsError(session_id) from None
            made.append(FileLocation(folder, MESSAGES))
            return Log(folder, MESSAGES, fd)

    def _write_stub(self, session_id: str, first: Event, made: list[FileLocation]) -> None:
        """Create the document that the user writes in, unless it exists."""
        assert isinstance(first, Metadata)  # noqa: S101 - it was checked
        day, name = split_id(session_id)
        location = FileLocation(self._conversations.sub(day).sub(name), document_name(first, name))
        with suppress(FileExistsError):
            location.folder.create(location.name, render_stub(first, name))
            made.append(location)

    def _unmake(self, session_id: str, made: list[FileLocation]) -> None:
        for location in reversed(made):
            location.folder.discard(location.name)
        self.remove_empty_folders(session_id)

    def content_files(self, session_id: str) -> Sequence[str]:
        return files_of(self.folder.path, session_id)

    def has_session(self, session_id: str, root: Folder | None = None) -> bool:
        return bool(read_signature(self._folder_of(session_id, root).sub(HIDDEN), SESSION))

    def session_files(self, session_id: str, root: Folder | None = None) -> Iterator[FileLocation]:
        """The folder of the conversation if it contains only our files; else only our files in it."""
        folder = self._folder_of(session_id, root)
        if folder.sub(HIDDEN).exists():
            day, name = split_id(session_id)
            is_ours = {entry.name for entry in folder.scan()} <= {HIDDEN, self._find_stub(session_id, root)}
            yield (
                FileLocation((root or self.folder).sub(CONVERSATIONS).sub(day), name)
                if is_ours
                else FileLocation(folder, HIDDEN)
            )
        for shared in self._shared_folders(root):
            for entry in list(shared.scan()):
                if self._session_of(entry.name) == session_id:
                    yield FileLocation(shared, entry.name)

    def remove_empty_folders(self, session_id: str) -> None:
        folder = self._folder_of(session_id)
        for one in (folder.sub(HIDDEN), folder, self._conversations.sub(split_id(session_id)[0])):
            one.remove_if_empty()

    def _shared_folders(self, root: Folder | None = None) -> Iterator[Folder]:
        for name in ("quarantine", "locks", "trash", CONTEXT):
            yield (root or self.folder).sub(WORKSPACE).sub(name)

    def _session_of(self, name: str) -> str:
        id = name.removesuffix(CONTEXT_SUFFIX)
        return id if id != name and is_id(id) else super()._session_of(name)

    def _session_folders(self, session_id: str) -> Iterator[Folder]:
        yield self._folder_of(session_id).sub(HIDDEN)

    def _leftovers(self, session_id: str) -> Iterator[FileLocation]:
        yield from super()._leftovers(session_id)
        day, name = split_id(session_id)
        above = self._conversations.sub(day)
        yield from [
            FileLocation(above, entry.name) for entry in above.scan() if parse_temporary_name(entry.name) == name
        ]
        folder = above.sub(name)
        yield from [
            FileLocation(folder, entry.name) for entry in folder.scan() if parse_temporary_name(entry.name) is not None
        ]

    def _folder_of(self, session_id: str, root: Folder | None = None) -> Folder:
        day, name = split_id(session_id)
        return (root or self.folder).sub(CONVERSATIONS).sub(day).sub(name)

    def _find_stub(self, session_id: str, root: Folder | None = None) -> str:
        """The name of the document, if it is still as we created it."""
        folder = self._folder_of(session_id, root)
        with suppress(SegueError, FileNotFoundError):
            reading = ConversationFiles(folder.sub(HIDDEN), session_id).read()
            first = reading.events[0] if reading.events else None
            if isinstance(first, Metadata):
                name = document_name(first, folder_name := split_id(session_id)[1])
                return name if folder.read(name) == render_stub(first, folder_name) else ""
        return ""

    def _writer(
        self,
        session_id: str,
        lock: WriterLock,
        log: Log,
        snapshot: Snapshot,
        document: CortextDocument,
        *,
        is_recorded: bool,
    ) -> CortextWriter:
        # Another program may have left the last line without a newline.
        is_open_ended = log.size > 0 and log.read(log.size - 1) != b"\n"
        return CortextWriter(
            log=log,
            snapshot=snapshot,
            lock=lock,
            document=document,
            is_recorded=is_recorded,
            is_open_ended=is_open_ended,
            blobs=self._blobs(session_id),
            history=partial(self.read, session_id),
        )


def exclude_from_git(folder: Folder) -> None:
    """Exclude a folder from git, if possible."""
    if not read_signature(folder, ".gitignore"):
        folder.make()
        with suppress(SegueError, FileExistsError, FileNotFoundError):
            folder.create(".gitignore", b"*\n")


def _check_version(session_id: str, document: CortextDocument) -> None:
    if document.overview.version > FORMAT_VERSION or document.version > LAYOUT_VERSION:
        raise ReadOnlyError(
            f"session {session_id} was written by a newer version",
            hint="it can be read; install a newer segue to write it",
        )
