"""The branches that are open in this process: where they are. Their content is read from disk each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator


class RegisteredBranch(Struct, frozen=True, kw_only=True):
    """An open branch, and the buffer that shows it."""

    session_id: str
    session_dir: str
    branch_name: str
    branch_dir: str
    buffer: object = None
    """The caller's own object for what shows it."""

    @property
    def key(self) -> str:
        return key_of(self.session_id, self.branch_name)


def key_of(session_id: str, branch_name: str) -> str:
    return f"{session_id}/{branch_name}"


class BranchRegistry:
    """The open branches, by session and branch."""

    def __init__(self) -> None:
        self._entries: dict[str, RegisteredBranch] = {}

    def find(self, session_id: str, branch_name: str) -> RegisteredBranch | None:
        return self._entries.get(key_of(session_id, branch_name))

    def enter(self, entry: RegisteredBranch) -> RegisteredBranch:
        """Register a branch and return its entry; the existing one if it has the same folder and buffer."""
        known = self._entries.get(entry.key)
        if known is not None and known.branch_dir == entry.branch_dir and entry.buffer in {None, known.buffer}:
            return known
        self._entries[entry.key] = entry
        return entry

    def remove(self, session_id: str, branch_name: str) -> None:
        self._entries.pop(key_of(session_id, branch_name), None)

    def __iter__(self) -> Iterator[RegisteredBranch]:
        return iter(list(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)
