"""Our own writers tell the index what they wrote, so that the next listing need not read it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from segue.errors import SegueError
from segue.library import Library
from segue.user_folders import cache_folder

if TYPE_CHECKING:
    from segue.session import LiveSession
    from segue.store import Writer


class IndexedLibrary(Library):
    """Remembers which sessions were written through it, and tells at its end. The index never stands in its way."""

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
            self._note()
        super().close()

    def _live(self, writer: Writer, *, created: bool = False) -> LiveSession:
        live = super()._live(writer, created=created)
        self._written += (live.id,)
        return live

    def _note(self) -> None:
        written, self._written = dict.fromkeys(self._written), ()
        if not written or not self.store.capabilities.shared or not (folder := cache_folder()).exists():
            return  # whoever lists first makes an index
        from segue.index import Index, StoreSource

        with Index(folder, patience_seconds=0) as catalog:
            for id in written:
                catalog.note(StoreSource(self.store), id)
