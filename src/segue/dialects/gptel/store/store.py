"""The store over a folder of session trees. The files are the only truth; nothing else here needs to survive."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec.structs import replace

from segue.dialects.gptel.format.assembly import assemble_session
from segue.dialects.gptel.format.conversation import BranchText, is_visible
from segue.dialects.gptel.format.footer import Upto, read_mark
from segue.dialects.gptel.format.names import EVENTS, SCOPE, SESSION, new_gptel_id
from segue.dialects.gptel.format.settings import variables_of
from segue.dialects.gptel.store.head_cache import GptelHeadCache
from segue.dialects.gptel.store.tree import Tree, discard, inode_of
from segue.dialects.gptel.store.writer import GptelWriter
from segue.durable.file_location import FileLocation
from segue.durable.file_store import FileStore, keep_original, released_on_error
from segue.durable.folder import temporary_for
from segue.durable.log import Log
from segue.durable.quarantine import QUARANTINE, parse_fragment_name
from segue.errors import (
    Damage,
    DamagedError,
    NotFoundError,
    ReadOnlyError,
    SegueError,
    SessionExistsError,
    StorageError,
    UsageError,
)
from segue.formats.journal import encode_append, encode_event
from segue.ids import check_id, is_id
from segue.model import MAIN, Metadata, accept_first, fold, overview_of
from segue.store import FORMAT_VERSION, WAIT_SECONDS, Examination, Recovery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from segue.dialects.gptel.format.assembly import Assembled
    from segue.dialects.gptel.store.tree import TreeReading
    from segue.durable.folder import Folder
    from segue.model import Event, Overview, Session, Turn


class GptelStore(FileStore):
    """See store.Store. One folder per session; locks, fragments and blobs are in hidden folders next to them.

    An append is one write to the events; the text that users read is replaced after it.
    """

    scheme = "gptel"
    head_cache_type = GptelHeadCache
    _head_cache: GptelHeadCache

    @staticmethod
    def new_id(label: str, now: datetime, entropy: bytes) -> str:  # noqa: ARG004 - as gptel names its sessions
        return new_gptel_id(label, now)

    def ids(self) -> Iterator[str]:
        return self._head_cache.names()

    def revision(self, session_id: str) -> str:
        tree = self._tree(session_id)
        if not tree.exists():
            raise self._not_found(session_id)
        return hashlib.sha256(repr(tree.signature()).encode()).hexdigest()[:32]

    def create(self, session_id: str, events: Sequence[Event]) -> GptelWriter:
        tree = self._tree(session_id)
        numbered = accept_first(session_id, events).new
        data = encode_append(numbered)
        lock = self._lock_new(session_id)
        with released_on_error(lock.release):
            if inode_of(tree.folder) or tree.exists():
                raise SessionExistsError(session_id)
            self._publish(tree, numbered, data)
            return GptelWriter(tree=tree, lock=lock, reading=tree.read(session_id), blobs=self._blobs(session_id))

    def open(self, session_id: str, *, timeout_seconds: float = WAIT_SECONDS) -> GptelWriter:
        lock = self._acquire(session_id, timeout_seconds)
        with released_on_error(lock.release):
            tree = self._tree(session_id)
            self.folder.make()
            self.folder.sync()  # the process that created the session may have been killed before this
            tree.folder.sync()
            reading = _sound(session_id, self._read(session_id, tree.read_finished))
            _check_version(session_id, reading.events)
            if reading.complete < reading.size_bytes:
                self._set_aside(tree, session_id, reading.complete)
                reading = self._read(session_id)
            writer = GptelWriter(tree=tree, lock=lock, reading=reading, blobs=self._blobs(session_id))
            writer.settle()
            return writer

    def load(self, session_id: str) -> Session:
        return self._with_liveness(fold(_sound(session_id, self._read(session_id)).events))

    def overview(self, session_id: str) -> Overview:
        return overview_of(self.load(session_id))

    def tail(self, session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        return self.load(session_id).tail(count, branch=branch)

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        return (event for event in _sound(session_id, self._read(session_id)).events if event.seq > after)

    def examine(self, session_id: str) -> Examination:
        try:
            reading = self._read(session_id)
        except StorageError as error:
            return Examination(session=None, damages=(Damage(session_id, str(error)),))
        is_session = bool(reading.events) and isinstance(reading.events[0], Metadata)
        return Examination(
            session=self._with_liveness(fold(reading.events)) if is_session else None,
            damages=reading.damages,
            torn_bytes=reading.size_bytes - reading.complete,
        )

    def recover(self, session_id: str) -> Recovery:
        lock = self._acquire(session_id, 0.0)
        try:
            reading = self._read(session_id)
            _check_version(session_id, reading.events)
            if not reading.damages:
                raise UsageError(f"session {session_id} is not damaged", hint="there is nothing to recover")
            if not reading.events:
                raise DamagedError(session_id, reading.damages)
            original = self._salvage(self._tree(session_id), session_id, reading)
        finally:
            lock.release()
        return Recovery(
            session=self.load(session_id), kept=len(reading.events), damages=reading.damages, original=original
        )

    def revisions(self) -> Iterator[tuple[str, str]]:
        for session_id in self.ids():
            try:
                yield session_id, self.revision(session_id)
            except NotFoundError:
                continue  # deleted since it was listed
            except SegueError as error:
                yield session_id, str(error)

    def scope_file(self, session_id: str) -> FileLocation:
        """The scope of the active branch."""
        tree = self._tree(session_id)
        return FileLocation(tree.branch(tree.current() or MAIN), SCOPE)

    def log_call(self, session_id: str, branch: str, name: str, arguments: object, result: str) -> None:
        """Log a call that the editor made in tools.org; the events and the conversation stay as they are."""
        lock = self._acquire(session_id, WAIT_SECONDS)
        try:
            self._tree(session_id).log_call(branch, name, arguments, result, self._clock())
        finally:
            lock.release()

    def count_unshown(self, session_id: str, branch: str) -> int:
        """How many turns the text of a branch lacks, since a writer died or has not shown them yet."""
        tree = self._tree(session_id)
        data = tree.find(tree.branch(branch), SESSION) or b""
        mark = read_mark(data)
        if (data and mark is None) or tree.last_seq() == (mark.upto.seq if mark is not None else 0):
            return 0
        reading = _sound(session_id, self._read(session_id))
        upto = mark.upto if mark is not None else Upto(0, reading.edits)
        path = fold(reading.events).path(branch) if upto.edits == reading.edits else ()
        return sum(turn.seq > upto.seq and is_visible(turn) for turn in path)

    def _salvage(self, tree: Tree, session_id: str, reading: TreeReading) -> str:
        """Save the originals first, then write what can be read of the events, and what users wrote in the texts since.

        The events come last, since the damage stays until then. But they come before texts with something new: only
        when it is recorded, a text may be replaced.
        """
        events = reading.events
        if not isinstance(events[0], Metadata):
            first = Metadata(
                session_id=session_id,
                agent="",
                created_at=self._clock(),
                status="active",
                id="line-1",
                version=FORMAT_VERSION,
            )
            events = [first, *events]
        numbered = [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]
        whole = assemble_session(session_id, numbered, tree.files(), is_recovery=True)
        original = tree.ours.path_of(keep_original(tree.ours, EVENTS))
        data = b"".join([encode_event(event) for event in whole.events])
        if whole.is_changed:
            tree.ours.replace(EVENTS, data)
        self._rewrite_texts(tree, whole)
        if not whole.is_changed:
            tree.ours.replace(EVENTS, data)
        return original

    def _rewrite_texts(self, tree: Tree, whole: Assembled) -> None:
        session = fold(whole.events)
        for name in session.branches:
            folder = tree.branch(name)
            text, upto = BranchText(session.path(name)), Upto(session.seq, whole.edits)
            data = text.encode(upto, variables_of(session), chosen=whole.chosen.get(name))
            before = tree.find(folder, SESSION)
            if before not in {None, data}:
                keep_original(folder, SESSION)
            replaced = tree.write_session(name, data)
            if replaced is not None and replaced.data == before:  # else the user saved just now, and it is imported
                tree.discard(replaced)

    def _publish(self, tree: Tree, events: list[Event], data: bytes) -> None:
        """Write the whole folder under another name first, so that the session exists completely or not at all."""
        session = fold(events)
        temporary = temporary_for(tree.name)
        new = Tree(self.folder, temporary)
        inode = 0
        try:
            new.ours.make()
            new.ours.create(EVENTS, data)
            for name in session.branches:
                text = BranchText(session.path(name))
                new.write_session(name, text.encode(Upto(session.seq), variables_of(session)))
                cut = BranchText(session.path(name)[: session.branches[name].at]).end
                new.write_about(session, name, cut)
                new.write_logs(name, session.own_turns.get(name, ()), events)
            new.point(session.branch)
            inode = inode_of(new.folder)
            self.folder.rename(temporary, tree.name)
        except BaseException:
            discard(new.folder)
            if inode and inode_of(tree.folder) == inode:
                discard(tree.folder)  # it was never acknowledged
            raise

    def content_files(self, session_id: str) -> Sequence[str]:
        return [path for path, *_ in self._tree(session_id).signature()]

    def has_session(self, session_id: str, root: Folder | None = None) -> bool:
        return Tree(root or self.folder, check_id(session_id)).exists()

    def _session_folders(self, session_id: str) -> Iterator[Folder]:
        yield from super()._session_folders(session_id)
        yield self._tree(session_id).folder

    def _session_of(self, name: str) -> str:
        return parse_fragment_name(name) or (name if is_id(name) else "")

    def _set_aside(self, tree: Tree, session_id: str, complete: int) -> None:
        log = Log(tree.ours, EVENTS, tree.ours.open(EVENTS, os.O_RDWR))
        try:
            fragment = log.read(complete)
            quarantine = self.folder.sub(QUARANTINE)
            quarantine.make()
            try:
                quarantine.create(f"{session_id}.{complete}-{crc32(fragment):08x}.fragment", fragment)
            except FileExistsError:  # set aside before a crash that came before the truncation
                quarantine.sync()
            log.truncate(complete)
        finally:
            log.close()

    def _tree(self, session_id: str) -> Tree:
        return Tree(self.folder, check_id(session_id))

    def _read(self, session_id: str, read: Callable[[str], TreeReading] | None = None) -> TreeReading:
        tree = self._tree(session_id)
        if not tree.exists():
            raise self._not_found(session_id)
        reading = (read or tree.read)(session_id)
        if not tree.exists():
            raise self._not_found(session_id)
        return reading


def _sound(session_id: str, reading: TreeReading) -> TreeReading:
    if reading.damages:
        raise DamagedError(session_id, reading.damages)
    return reading


def _check_version(session_id: str, events: Sequence[Event]) -> None:
    first = events[0] if events else None
    if isinstance(first, Metadata) and first.version > FORMAT_VERSION:
        raise ReadOnlyError(
            f"session {session_id} was written by a newer version",
            hint="it can be read; install a newer segue to write it",
        )
