"""The store over a folder of Ralph's files. The folder is in a place that others may write to, and must be ours."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.durable.kernel import KERNEL, Kernel
from segue.durable.ours import check_ours
from segue.formats.ralph import LAYOUT_VERSION, Document, Reading, begin, read
from segue.stores.sealed import SealedListing, SealedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from segue.durable.lock import WriterLock
    from segue.model import Event, Head, Overview


class RalphListing(SealedListing):
    read = staticmethod(read)


class RalphStore(SealedStore[Document]):
    """See store.Store, and SealedStore."""

    scheme = "ralph"
    listing_type = RalphListing
    layout_version = LAYOUT_VERSION

    def __init__(self, root: str, *, kernel: Kernel = KERNEL, clock: Callable[[], datetime] = utc_now) -> None:
        self._named = os.path.abspath(root)  # noqa: PTH100 - as the person named it, links and all
        check_ours(self._named)
        super().__init__(root, kernel=kernel, clock=clock)

    @property
    def trash(self) -> None:
        """What lies in a temporary folder is gone at the next boot: that is no place to keep anything."""
        return

    def ids(self) -> Iterator[str]:
        check_ours(self._named)
        return super().ids()

    def heads(self) -> Iterator[Head]:
        check_ours(self._named)
        return super().heads()

    def _file_name(self, session_id: str) -> str:
        """On the way to every session."""
        check_ours(self._named)
        return super()._file_name(session_id)

    def _claim(self, session_id: str) -> WriterLock:
        self.folder.make()
        check_ours(self._named)  # somebody else may have made it meanwhile
        return super()._claim(session_id)

    def _begin(self, session_id: str, events: Sequence[Event]) -> Document:  # noqa: ARG002 - the metadata names it
        return begin(events)

    def _understand(self, session_id: str, data: bytes) -> Reading:
        return read(data, session_id, self._file_name(session_id))

    def _extend(self, document: Document, events: Sequence[Event], overview: Overview) -> Document:
        return document.extended(events, overview)
