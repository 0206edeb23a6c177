"""The writer of a session: number, record in the events, acknowledge, then show it in the files that users read."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.closing import Closing
from segue.dialects.gptel.format.assembly import without_branch
from segue.dialects.gptel.format.conversation import BranchText
from segue.dialects.gptel.format.footer import Upto, read_page
from segue.dialects.gptel.format.names import EVENTS, SESSION
from segue.dialects.gptel.format.renaming import with_branch_renamed
from segue.dialects.gptel.format.settings import variables_of
from segue.dialects.gptel.store.tree import file_checksum
from segue.durable.blobs import put_blob
from segue.durable.log import Log
from segue.durable.snapshot import Snapshot, read_signature
from segue.errors import ConflictError, DamagedError, DiskFullError, SegueError, UsageError, WriterStoppedError
from segue.formats.journal import encode_append, encode_event, fingerprint
from segue.model import BranchCreated, Turn, accept, fold, overview_of
from segue.store import Durability, Receipt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.dialects.gptel.store.tree import Replaced, Signature, Sum, Tree, TreeReading
    from segue.durable.folder import Folder
    from segue.durable.lock import WriterLock
    from segue.model import Event, Overview

SHOWN_AT_ONCE_BYTES = 1 << 18
SHOWN_SHARE = 8
"""A longer conversation is shown again when an eighth of it is new, or when something other than a turn happens."""

TRIES = 10
"""How often a text is written again at once, if the user saved it while it was written."""


class GptelWriter(Closing):
    """See store.Writer."""

    def __init__(self, *, tree: Tree, lock: WriterLock, reading: TreeReading, blobs: Folder) -> None:
        self._tree = tree
        self._lock = lock
        self._blobs = blobs
        self._mutex = threading.Lock()
        self._process = os.getpid()
        self._stopped = ""
        self._log: Log | None = None
        self._accounted = 0
        self._events: list[Event]
        self._overview: Overview
        self._recorded: dict[str, tuple[int, int]]  # id -> seq, fingerprint
        self._signature: Signature
        self._outdated: set[str] = set()
        """Branches whose files do not show all that is recorded of them."""
        self._take_in(reading)

    @property
    def overview(self) -> Overview:
        return self._overview

    @property
    def branch(self) -> str:
        return self._overview.branch

    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:  # noqa: ARG002 - every id is in memory
        self._check_process()  # before the mutex, which a thread of a forked parent may have held
        with self._mutex:
            self._check()
            if self._tree.texts() != self._signature:  # the user saved the text in an editor
                self._take_in(self._tree.read_finished(self._overview.id))
            new, seqs, overview = accept(events, self._overview, self._recorded, fingerprint)
            if new:
                self._record(new)
                self._recorded |= {event.id: (event.seq, fingerprint(event)) for event in new}
                self._events += new
                self._overview = overview
                self._show(new)
                if self.branch in self._chosen:  # the settings in the file of this branch apply from now on
                    with suppress(SegueError):
                        self._take_in(self._tree.read_finished(self._overview.id))
            elif self._log is not None:
                self._log.sync()  # a killed writer may have written them without a sync
            return Receipt(seqs=seqs, durability=Durability.SYNCED)

    def put_blob(self, data: bytes) -> str:
        self._check_process()
        if self._log is not None:
            self._log.check()
        return put_blob(self._blobs, data)

    def settle(self) -> None:
        """Show what a dead writer had recorded and not shown."""
        with suppress(SegueError):
            self._tree.sweep(self._events)
            for replaced in list(self._tree.replaced()):
                if self._is_earlier(replaced):
                    self._tree.discard(replaced)
                else:
                    self._merge(replaced)
            if not self._is_pending and (late := self._tree.late(fold(self._events))):
                self._outdated.update(late)
                self._catch_up()

    def save(self, settled: str = "") -> None:
        """Import what users wrote, and show every branch completely, even without turns.

        `settled` is a branch in whose file no settings are left to wait until it is active. Unlike an append this fails
        where a file cannot be written: nothing is lost, and it can be done again.
        """
        self._check_process()
        with self._mutex:
            self._check()
            if self._tree.texts() != self._signature:
                self._take_in(self._tree.read_finished(self._overview.id))
            if self._is_pending:
                self._record([])
            self._chosen.pop(settled, None)
            self._outdated.update(self._overview.branches)
            self._write_texts(None, is_saved=True)
            self._write_about()

    def drop_branch(self, name: str) -> None:
        """Remove a branch from the session, with its folder. Its turns stay in the events, marked as removed.

        UsageError for the first branch, the active one, and one that others grew from.
        """
        branch = self._overview.get_branch(name)
        children = sorted(one.name for one in self._overview.branches.values() if one.parent == name)
        if not branch.parent:
            raise UsageError(f"{name} is the first branch", hint="it cannot be deleted without the session")
        if name == self.branch:
            raise UsageError(f"{name} is the current branch", hint="switch to another one first")
        if children:
            raise UsageError(f"{', '.join(children)} branched from {name}", hint="delete those branches first")
        self.save(name)
        with self._mutex:
            self._record_instead(without_branch(self._events, name))
            self._overview = overview_of(fold(self._events))
            self._recorded = {event.id: (event.seq, fingerprint(event)) for event in self._events}
            self._edits += 1
            self._outdated.discard(name)
            self._tree.remove_branch(name)
            self._write_texts(None, is_saved=True)
            self._write_about()

    def rename_branch(self, old: str, new: str) -> None:
        """Give a branch another name, with its folder. UsageError for the first one, ConflictError for a used name."""
        parent = self._overview.get_branch(old).parent
        if not parent:
            raise UsageError(f"{old} is the first branch", hint="its name is fixed")
        if new in self._overview.branches or self._tree.branch(new).exists():
            raise ConflictError(f"there is already a branch {new}", hint="choose another name")
        self.save()
        with self._mutex:
            self._record_instead(with_branch_renamed(self._events, old, new))
            if self.branch == old:
                self._tree.point(parent)  # `current` always leads somewhere
            self._tree.rename_branch(old, new)
            self._outdated.discard(old)
            self._take_in(self._tree.read_finished(self._overview.id))
        self.save()

    def _record_instead(self, events: list[Event]) -> None:
        """Record these events instead of all that there are, or nothing."""
        before = self._events
        self._events, self._is_pending = events, True
        try:
            self._record([])
        except BaseException:
            self._events, self._is_pending = before, False
            raise

    def close(self) -> None:
        if not self._stopped and os.getpid() == self._process:
            with self._mutex:
                if self._is_dirty and self._tree.texts() == self._signature:
                    self._catch_up()
                self._stopped = "it is closed"
                if self._log is not None:
                    self._log.close()
        self._lock.release()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            self._stopped = "it was opened by the parent of this process, which still writes it"
        if self._stopped:
            path = self._tree.folder.path
            hint = "open the session again; everything acknowledged is there"
            raise WriterStoppedError(f"cannot write to {path} any more: {self._stopped}", hint=hint, path=path)

    def _check(self) -> None:
        """Under the mutex: another thread may be between writing the file and recording it here."""
        self._check_process()
        if self._log is not None:
            if self._log.size != self._accounted:  # a Ctrl-C came between the write and our record of it
                self._log.stop()
            self._log.check()

    def _take_in(self, reading: TreeReading) -> None:
        """Start from the current content of the files."""
        if reading.damages:
            raise DamagedError(self._tree.name, reading.damages)
        self._events = list(reading.events)
        self._overview = overview_of(fold(self._events))
        self._recorded = {event.id: (event.seq, fingerprint(event)) for event in self._events}
        self._signature = reading.texts
        self._sums: dict[str, Sum | None] = dict(reading.sums)
        """The checksum of each session.md as it was read or written: any other version that we replace is imported."""
        self._edits = reading.edits
        self._is_pending = reading.is_changed
        """Whether our events must be rewritten, since the files contain more."""
        self._is_dirty = False
        self._chosen = dict(reading.chosen)
        self._texts: dict[str, BranchText] = {}
        self._cuts: dict[str, int] = {}
        self._shown_bytes: dict[str, int] = {}
        if self._log is None and not self._is_pending:
            self._open_log()

    def _open_log(self) -> None:
        ours = self._tree.ours
        self._log = Log(ours, EVENTS, ours.open(EVENTS, os.O_RDWR | os.O_APPEND))
        self._accounted = self._log.size

    def _record(self, new: list[Event]) -> None:
        """The one write that makes an append."""
        if not self._is_pending:
            assert self._log is not None  # noqa: S101 - it was opened when the session was
            self._log.append(encode_append(new))
            self._accounted = self._log.size
            return
        ours = self._tree.ours
        ours.make()
        data = b"".join([encode_event(event) for event in self._events]) + encode_append(new)
        events = Snapshot(ours, EVENTS, self._tree.find(ours, EVENTS) or b"", read_signature(ours, EVENTS))
        try:
            events.put(data)
        except DiskFullError:
            raise
        except BaseException:
            self._stopped = "a write failed"
            raise
        if self._log is not None:
            self._log.close()
        self._open_log()
        self._is_pending = False
        self._texts = {}
        self._outdated.update(self._overview.branches)

    def _show(self, new: list[Event]) -> None:
        """A failure here loses nothing: the events are recorded, and are shown the next time."""
        self._is_dirty = True
        turns = [event for event in new if isinstance(event, Turn)]
        for name in {turn.branch for turn in turns}:
            if (text := self._texts.get(name)) is not None:
                text.extend([turn for turn in turns if turn.branch == name])
            self._outdated.add(name)
        for grown in [event for event in new if isinstance(event, BranchCreated)]:
            self._outdated.add(grown.name)
            if grown.parent in self._chosen:  # a branch inherits the settings of its parent
                self._chosen[grown.name] = self._chosen[grown.parent]
        if len(turns) < len(new):
            self._outdated.add(self.branch)
            self._catch_up(new)
        elif any(turn.role == "tool" for turn in turns) or any(map(self._is_due, self._outdated)):
            self._show_texts(new)

    def _is_due(self, name: str) -> bool:
        size = self._text(name).size_bytes
        return size < SHOWN_AT_ONCE_BYTES or (size - self._shown_bytes.get(name, 0)) * SHOWN_SHARE > size

    def _catch_up(self, new: list[Event] | None = None) -> None:
        with suppress(SegueError):
            late = set(self._outdated)
            self._show_texts(new)
            self._write_about(late)
        self._read()

    def _write_about(self, late: Iterable[str] | None = None) -> None:
        for name in self._overview.branches if late is None else {*late, self.branch}:
            self._tree.write_about(self._overview, name, self._cut(name))
        self._tree.point(self.branch)
        self._is_dirty = bool(self._outdated)
        self._read()

    def _show_texts(self, new: list[Event] | None) -> None:
        with suppress(SegueError):
            self._write_texts(new)
        self._read()

    def _write_texts(self, new: list[Event] | None, *, is_saved: bool = False, tries: int = TRIES) -> None:
        """`new` is all that may be missing from the logs; everything, if unknown.

        An editor that saves all the time has the last word for now, once that has happened so often in a row.
        """
        for name in sorted(self._outdated):
            text = self._text(name)
            is_kept = is_saved or (not text.size_bytes and self._tree.is_saved(name))
            upto = Upto(self._overview.seq, self._edits)
            chosen = self._chosen.get(name)
            data = text.encode(upto, variables_of(self._overview), is_saved=is_kept, chosen=chosen)
            turns = [event for event in self._events if isinstance(event, Turn)] if new is None else new
            path = [turn for turn in turns if isinstance(turn, Turn) and turn.branch == name]
            if not is_saved or self._tree.find(self._tree.branch(name), SESSION) != data:  # an editor may have it open
                replaced = self._tree.write_branch(name, data, self._overview, self._cut(name))
                before, self._sums[name] = self._sums.get(name), file_checksum(data)
                if replaced is not None and file_checksum(replaced.data) == before:
                    self._tree.discard(replaced)
                elif replaced is not None and self._merge(replaced, file_checksum(data)):
                    if tries:
                        self._write_texts(None, is_saved=is_saved, tries=tries - 1)
                    return
            self._tree.write_logs(name, path, self._events if new is None else new)
            self._shown_bytes[name] = text.size_bytes
            self._outdated.discard(name)

    def _merge(self, replaced: Replaced, ours: Sum | None = None) -> bool:
        """Import what an editor had saved at the very moment when we replaced it. Returns whether it was new.

        `ours` is what we put in its place. What is there now may be yet another, which is not taken in thereby.
        """
        reading = self._tree.read(self._overview.id, {replaced.branch: replaced.data})
        if reading.is_changed or reading.damages:
            self._take_in(reading)
            self._record([])
        self._sums[replaced.branch] = ours
        self._tree.discard(replaced)
        return reading.is_changed

    def _is_earlier(self, replaced: Replaced) -> bool:
        """Whether it is an earlier page of our own, which contains nothing new."""
        page = read_page(replaced.data)
        if page.mark is None or not page.mark.is_pristine or page.mark.upto > (self._overview.seq, self._edits):
            return False
        now = self._tree.find(self._tree.branch(replaced.branch), SESSION)
        return now is not None and read_page(now).body.startswith(page.body.rstrip(" #\n"))

    def _read(self) -> None:
        with suppress(SegueError):
            self._signature = self._tree.texts()

    def _cut(self, name: str) -> int:
        """The position where a branch diverges from its parent."""
        if name not in self._cuts:
            branch = self._overview.branches[name]
            shared = fold(self._events).path(name)[: branch.at] if branch.parent else ()
            self._cuts[name] = BranchText(shared).end
        return self._cuts[name]

    def _text(self, name: str) -> BranchText:
        if name not in self._texts:
            self._texts[name] = BranchText(fold(self._events).path(name))
        return self._texts[name]
