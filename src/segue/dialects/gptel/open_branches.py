"""Which branches are open in this process. It says where they are; what they are is read from disk, every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator


class OpenBranch(Struct, frozen=True, kw_only=True):
    """Where a branch is, and who shows it."""

    session_id: str
    session_dir: str
    branch_name: str
    branch_dir: str
    buffer: object = None
    """Whatever the caller shows it in."""

    @property
    def key(self) -> str:
        return key_of(self.session_id, self.branch_name)


def key_of(session_id: str, branch_name: str) -> str:
    return f"{session_id}/{branch_name}"


class OpenBranches:
    def __init__(self) -> None:
        self._entries: dict[str, OpenBranch] = {}

    def find(self, session_id: str, branch_name: str) -> OpenBranch | None:
        return self._entries.get(key_of(session_id, branch_name))

    def enter(self, entry: OpenBranch) -> OpenBranch:
        """What is entered of the branch already, if that is where it is; otherwise this."""
        known = self._entries.get(entry.key)
        if known is not None and known.branch_dir == entry.branch_dir and entry.buffer in {None, known.buffer}:
            return known
        self._entries[entry.key] = entry
        return entry

    def remove(self, session_id: str, branch_name: str) -> None:
        self._entries.pop(key_of(session_id, branch_name), None)

    def __iter__(self) -> Iterator[OpenBranch]:
        return iter(list(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)
