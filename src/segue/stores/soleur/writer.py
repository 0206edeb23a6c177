"""The one writer of a file: number, render, replace the whole file, acknowledge."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.durable.blobs import put_blob
from segue.errors import ConflictError, DamagedError, NotFoundError, UsageError
from segue.model import Attachment, apply, check_event, content_of
from segue.store import Durability, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Self

    from segue.durable.folder import Folder
    from segue.durable.lock import WriterLock
    from segue.durable.snapshot import Snapshot
    from segue.formats.soleur import Document
    from segue.model import Event, Overview


class SoleurWriter:
    """See store.Writer."""

    def __init__(
        self,
        *,
        snapshot: Snapshot,
        lock: WriterLock,
        document: Document,
        blobs: Folder,
        get_blob: Callable[[str], bytes],
    ) -> None:
        self._snapshot = snapshot
        self._lock = lock
        self._document = document
        self._blobs = blobs
        self._get_blob = get_blob
        self._recorded = {event.id: event for event in document.events}

    @property
    def overview(self) -> Overview:
        return self._document.overview

    @property
    def branch(self) -> str:
        return self.overview.branch

    def append(self, *events: Event, fresh: bool = False) -> Receipt:  # noqa: ARG002 - every id is at hand
        self._snapshot.check()  # before its mutex, which a thread of a forked parent may have held
        with self._snapshot.lock:
            new, seqs, overview = self._sort_out(events)
            if new:
                document = self._document.extended(new, overview, self._context(new, overview))
                self._snapshot.put(document.encode())
                self._document = document
                self._recorded |= {event.id: event for event in new}
            return Receipt(seqs=seqs, durability=Durability.SYNCED)

    def put_blob(self, data: bytes) -> str:
        self._snapshot.check()
        return put_blob(self._blobs, data)

    def close(self) -> None:
        self._snapshot.stop()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _sort_out(self, events: Iterable[Event]) -> tuple[list[Event], tuple[int, ...], Overview]:
        """Those of the events that are new, numbered and our own; the seq of each of all; and what comes of them."""
        overview = self.overview
        new: dict[str, Event] = {}
        seqs: list[int] = []
        for event in events:
            known = self._recorded.get(event.id) or new.get(event.id)
            if known is None:
                check_event(event, overview)
                known = new[event.id] = replace(deepcopy(event), seq=overview.seq + 1)
                overview = apply(overview, known)
            elif content_of(known) != content_of(event):
                raise ConflictError(f"session {overview.id} holds another event with the id {event.id}")
            seqs.append(known.seq)
        return list(new.values()), tuple(seqs), overview

    def _context(self, new: list[Event], overview: Overview) -> object:
        """What the file shows as its project context: it changes when something is attached."""
        if not any(isinstance(event, Attachment) for event in new):
            return self._document.context
        return _context_of(overview.attachments, self._get_blob)


def _context_of(attachments: Iterable[Attachment], get_blob: Callable[[str], bytes]) -> str | None:
    """The text of what is attached: of one file as it is, of several each under its path, the latest of each path."""
    texts: dict[str, str] = {}
    for attachment in attachments:
        try:
            texts[attachment.path] = get_blob(attachment.hash).decode()
        except (NotFoundError, UsageError, DamagedError, UnicodeDecodeError):
            texts.pop(attachment.path, None)  # nothing that Soleur could show
    if len(texts) <= 1:
        return next(iter(texts.values()), None)
    return "\n\n".join(f"# {path}\n\n{text}" for path, text in texts.items())
