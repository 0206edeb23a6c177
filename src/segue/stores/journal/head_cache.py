"""Heads of many journals: for nearly all of them, the end of the file is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.durable.head_cache import HeadCache
from segue.formats.journal import read_checkpoint_head
from segue.stores.journal.file import SUFFIX, JournalFile

if TYPE_CHECKING:
    from segue.model import Head

_END_BYTES = 1024
"""A journal that was closed properly ends with a checkpoint, and nearly all checkpoints fit in here."""


class JournalHeadCache(HeadCache):
    suffix = SUFFIX

    def read_head_fast(self, fd: int, size: int, session_id: str) -> Head | None:
        start = size - _END_BYTES if size > _END_BYTES else 0
        data = self._folder.kernel.pread(fd, _END_BYTES, start)
        is_whole = len(data) == size - start and data[-1:] == b"\n"
        head = read_checkpoint_head(data[data.rfind(b"\n", 0, -1) + 1 : -1]) if is_whole else None
        return head if head is None or head.id == session_id else replace(head, id=session_id)

    def read_head(self, session_id: str) -> Head | str:
        with JournalFile(self._folder, session_id) as file:
            return file.head()
