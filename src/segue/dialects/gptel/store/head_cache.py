"""Heads of many sessions: only those whose files have changed since the last time are read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.dialects.gptel.store.tree import Tree
from segue.durable.folder import is_settled
from segue.durable.head_cache import HeadCache
from segue.errors import NotFoundError, SegueError, SessionNotFoundError
from segue.ids import is_id
from segue.model import EPOCH, Head, Metadata, fold, head_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.dialects.gptel.store.tree import Signature
    from segue.durable.folder import Folder


class GptelHeadCache(HeadCache):
    suffix = ""

    def __init__(self, folder: Folder, is_alive: Callable[[str], bool], path_of: Callable[[str], str]) -> None:
        super().__init__(folder, is_alive, path_of)
        self._heads: dict[str, tuple[Signature, Head]] = {}

    def names(self) -> Iterator[str]:
        """Every folder of the root that has branches."""
        for entry in self._folder.scan():
            if is_id(entry.name) and entry.is_dir(follow_symlinks=False) and Tree(self._folder, entry.name).exists():
                yield entry.name

    def heads(self) -> Iterator[Head]:
        for name in self.names():
            try:
                yield self.head(name)
            except NotFoundError:
                continue  # deleted since it was listed

    def head(self, session_id: str) -> Head:
        try:
            signature = Tree(self._folder, session_id).signature()
            known = self._heads.get(session_id)
            if known is None or known[0] != signature:
                newest = max((mtime_ns for *_, mtime_ns in signature), default=0)
                known = signature, self._read_dated(session_id, newest)
                if all(is_settled(mtime_ns) for *_, mtime_ns in signature):
                    self._heads[session_id] = known
            return self.with_liveness(known[1])
        except NotFoundError:
            raise
        except SegueError as error:
            return _unreadable(session_id, str(error))

    def forget(self) -> None:
        self._heads.clear()

    def read_head_fast(self, fd: int, size: int, session_id: str) -> Head | None:  # noqa: ARG002 - it is a folder
        return None

    def read_head(self, session_id: str) -> Head | str:
        tree = Tree(self._folder, session_id)
        reading = tree.read(session_id)
        if not tree.exists():
            raise SessionNotFoundError(session_id, self._folder.path)
        if not reading.events or not isinstance(reading.events[0], Metadata):
            return str(reading.damages[0])
        head = head_of(fold(reading.events))
        return replace(head, damage=str(reading.damages[0])) if reading.damages else head

    def _read_dated(self, session_id: str, mtime_ns: int) -> Head:
        head = self.read_head(session_id)
        return self.with_mtime(head, mtime_ns) if isinstance(head, Head) else _unreadable(session_id, head)


def _unreadable(session_id: str, why: str) -> Head:
    return Head(id=session_id, created_at=EPOCH, updated_at=EPOCH, damage=why)
