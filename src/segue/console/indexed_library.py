"""The library of the commands: it indexes what it has written, so that the next listing need not read it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.library import Library
from segue.user_folders import INDEX_NAME, cache_folder

if TYPE_CHECKING:
    from segue.session import LiveSession
    from segue.store import Writer


class IndexedLibrary(Library):
    """A library that updates the index when it is closed. A failure of the index is not an error."""

    _written: tuple[str, ...] = ()

    def discard(self, id: str, *, revision: str | None = None) -> str:
        key = super().discard(id, revision=revision)
        self._written += (id,)
        return key

    def restore(self, id: str) -> str:
        restored = super().restore(id)
        self._written += (restored,)
        return restored

    def close(self) -> None:
        with suppress(SegueError, OSError):
            self._update_index()
        super().close()

    def _live(self, writer: Writer, *, created: bool = False) -> LiveSession:
        live = super()._live(writer, created=created)
        self._written += (live.id,)
        return live

    def _update_index(self) -> None:
        written, self._written = dict.fromkeys(self._written), ()
        if not written or not self.store.capabilities.shared or self.store.queries is not None:
            return
        if not Path((folder := cache_folder()).path_of(INDEX_NAME)).exists():
            return  # the first listing makes an index
        from segue.index import Index, StoreSource

        with Index(folder, timeout_seconds=0) as index:
            for id in written:
                index.update(StoreSource(self.store), id)
