"""Which sessions of AI tools belong to which of ours: recorded on this machine when Segue makes or imports one.

Sessions and transcripts travel, and what they claim about one another may be a lie. So only this file decides what is
listed as one conversation. It is not part of any store.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from segue.errors import StorageError
from segue.formats.store_url import SERVERS

if TYPE_CHECKING:
    from segue.durable.folder import Folder

NAME = "links.jsonl"
How = Literal["handover", "import", "answer"]
"""Handed over to the tool, imported from it, or made by the tool when it answered a message as an agent."""


class Link(Struct, frozen=True, kw_only=True):
    """A session of an AI tool and a session of a store that are one conversation."""

    tool: str
    native_id: str
    place: str
    """The store, as `place_of` names it."""
    session: str
    created_at: int
    """When that session was created, in seconds: a later one with the same id is another conversation."""
    how: How


class Links:
    """The links of a user, in a file to which they are appended; without a folder there are none."""

    def __init__(self, folder: Folder | None) -> None:
        self._folder = folder

    def read(self) -> tuple[Link, ...]:
        """All links in the order in which they were recorded; a line that cannot be read is no link."""
        return tuple(link for line in self._data().split(b"\n") if (link := _parse(line)) is not None)

    def add(self, link: Link) -> None:
        """Record a link, once. StorageError if it cannot be saved: then both sessions are listed.

        It is durable on return, except that of an import, which the next import records again.
        """
        if self._folder is None:
            return
        data, line = self._data(), msgspec.json.encode(link)
        if line in data.split(b"\n"):
            return
        self._folder.make()
        fd = self._folder.open(NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            with self._folder.storage_errors(NAME, "write"):
                torn = b"\n" if data and not data.endswith(b"\n") else b""  # by a crash
                self._folder.kernel.write(fd, torn + line + b"\n")
                if link.how != "import":
                    self._folder.kernel.fdatasync(fd)
        finally:
            self._folder.close(fd)

    def _data(self) -> bytes:
        try:
            return self._folder.read(NAME) if self._folder is not None else b""
        except (FileNotFoundError, StorageError):
            return b""


def place_of(url: str) -> str:
    """One name for one store, whichever links lead to its folder, or roles to its database."""
    scheme, colon, path = url.partition(":")
    if scheme in SERVERS:
        from segue.stores.postgres.address import place_in

        return place_in(url)
    return f"{scheme}{colon}{os.path.realpath(path)}" if path.startswith("/") else url


def _parse(line: bytes) -> Link | None:
    try:
        return msgspec.json.decode(line, type=Link) if line else None
    except msgspec.DecodeError:
        return None
