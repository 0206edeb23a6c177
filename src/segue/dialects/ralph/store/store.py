"""The store over a folder of Ralph's files. The folder above is writable for all users, so this one must be private."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.dialects.ralph.format import LAYOUT_VERSION, ParsedRalphFile, RalphDocument, new_document, read
from segue.dialects.ralph.store.backups import discard_backup
from segue.durable.kernel import KERNEL, Kernel
from segue.durable.private_folder import check_private
from segue.errors import SegueError
from segue.store import Durability
from segue.stores.sealed import SealedHeadCache, SealedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from segue.durable.lock import WriterLock
    from segue.model import Event, Head, Overview


class RalphHeadCache(SealedHeadCache):
    read = staticmethod(read)


class RalphStore(SealedStore[RalphDocument]):
    """See store.Store, and SealedStore."""

    scheme = "ralph"
    head_cache_type = RalphHeadCache
    layout_version = LAYOUT_VERSION

    def __init__(
        self,
        root: str,
        *,
        kernel: Kernel = KERNEL,
        clock: Callable[[], datetime] = utc_now,
        durability: Durability = Durability.SYNCED,
    ) -> None:
        super().__init__(root, kernel=kernel, clock=clock, durability=durability)
        self._named = os.path.abspath(root)  # noqa: PTH100 - as the user named it, with its links
        check_private(self._named)

    @property
    def trash(self) -> None:
        """None: a temporary folder may be emptied at the next boot, so it is not a place for a trash."""
        return

    def ids(self) -> Iterator[str]:
        check_private(self._named)
        return super().ids()

    def revisions(self) -> Iterator[tuple[str, str]]:
        check_private(self._named)
        return super().revisions()

    def heads(self) -> Iterator[Head]:
        check_private(self._named)
        return super().heads()

    def delete(self, session_id: str, *, revision: str | None = None) -> None:
        """Delete its backup in the project first: after a crash the session still exists and can be deleted again."""
        with suppress(SegueError, OSError):
            project = self.overview(session_id).extra.get("project")
            if isinstance(project, str) and Path(project).is_absolute():
                discard_backup(project, session_id)
        super().delete(session_id, revision=revision)

    def _file_name(self, session_id: str) -> str:
        """Every access to a session goes through here."""
        check_private(self._named)
        return super()._file_name(session_id)

    def _lock_new(self, session_id: str) -> WriterLock:
        self.folder.make()
        check_private(self._named)  # another user may have created it meanwhile
        return super()._lock_new(session_id)

    def _begin(self, session_id: str, events: Sequence[Event]) -> RalphDocument:  # noqa: ARG002 - the metadata names it
        return new_document(events)

    def _parse(self, session_id: str, data: bytes) -> ParsedRalphFile:
        return read(data, session_id, self._file_name(session_id))

    def _extend(self, document: RalphDocument, events: Sequence[Event], overview: Overview) -> RalphDocument:
        return document.extended(events, overview)
