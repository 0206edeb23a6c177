"""A file by its folder and name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from segue.durable.folder import Folder


class FileLocation(NamedTuple):
    """Reads and writes one file of a folder, durably."""

    folder: Folder
    name: str

    @property
    def path(self) -> str:
        return self.folder.path_of(self.name)

    def read(self) -> bytes:
        return self.folder.read(self.name)

    def create(self, data: bytes) -> None:
        self.folder.create(self.name, data)

    def overwrite(self, data: bytes) -> None:
        self.folder.replace(self.name, data)
