"""Heads of many sealed files: every byte is checked, and an unchanged file is not parsed."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.durable.head_cache import HeadCache
from segue.formats.sealed import read_sealed_head
from segue.model import head_of

if TYPE_CHECKING:
    from segue.model import Head
    from segue.stores.sealed.document import ParsedFile, SealedDocument


class SealedHeadCache(HeadCache):
    suffix = ".json"

    @staticmethod
    @abstractmethod
    def read(data: bytes, session_id: str, place: str) -> ParsedFile[SealedDocument]:
        """Read a file in the way of the format."""

    def read_head_fast(self, fd: int, size: int, session_id: str) -> Head | None:
        return read_sealed_head(self._folder.kernel.pread(fd, size, 0), session_id)

    def read_head(self, session_id: str) -> Head | str:
        name = session_id + self.suffix
        reading = self.read(self._folder.read(name), session_id, name)
        if reading.document is None:
            return str(reading.damages[0])
        head = head_of(reading.document.overview)
        return replace(head, damage=str(reading.damages[0])) if reading.damages else head
