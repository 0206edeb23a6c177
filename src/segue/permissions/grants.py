"""One-time permissions: a grant is a small file, and removing it uses it up."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

import msgspec

from segue.durable.folder import TEMPORARY

if TYPE_CHECKING:
    from segue.durable.folder import Folder


class OneTimeGrants:
    """The grants of all sessions. A grant survives power loss; of two processes that take it, only one succeeds."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def give(self, *key: str) -> None:
        self._folder.make()
        self._folder.create(f"{_name(key)}-{secrets.token_hex(8)}", "\n".join(key).encode("utf-8", "surrogatepass"))

    def take(self, *key: str) -> bool:
        """Use up one grant; False if there is none."""
        if not self._folder.exists():
            return False
        prefix = _name(key)
        for entry in list(self._folder.scan()):
            if entry.name.startswith(TEMPORARY) or not entry.name.startswith(f"{prefix}-"):
                continue
            try:
                self._folder.remove(entry.name)
            except FileNotFoundError:
                continue  # another process was faster
            return True
        return False


def _name(key: tuple[str, ...]) -> str:
    return hashlib.sha256(msgspec.json.encode([part.encode("utf-8", "surrogatepass") for part in key])).hexdigest()
