"""The contract of a store on a server, for those who run the server: see `Store.administration`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence


class Space(Struct, frozen=True, kw_only=True):
    """A part of a store with sessions of its own."""

    name: str
    """Empty for the part that a URL without a space names."""
    role: str | None
    """Only those who have the rights of this role see it; None: everyone who may use the store."""


class ServerInfo(Struct, frozen=True, kw_only=True):
    """What a server says of itself, of this connection and of its tables."""

    server: str
    """Its name and version."""
    is_standby: bool
    is_pooled: bool
    """Whether a pooler is between."""
    is_encrypted: bool
    """Whether the connection is, as far as the server can tell."""
    role: str
    sees_all_spaces: bool
    """Whether the role is the owner of the tables or a superuser, for whom spaces are open."""
    can_read: bool
    can_write: bool
    can_create: bool
    """Whether the role may create the tables where there are none."""
    schema: str
    has_tables: bool
    version: int | None
    """The version of the tables; None if there are none or the role may not read it."""
    newest_version: int
    """The version that this program knows."""
    space: str
    spaces: tuple[Space, ...]
    """Those that the role may see."""


class TableChanges(Struct, frozen=True, kw_only=True):
    """What `Administration.create` has done."""

    before: int | None
    """The version of the tables before; None if there were none."""
    version: int
    grants: tuple[str, ...] = ()
    """The statements that gave rights to roles."""


class Administration(Protocol):
    """What those who run the server do once. Everyday use needs none of it and fewer rights."""

    def describe(self) -> ServerInfo:
        """It changes nothing, and works before there are tables."""

    def create(self, *, readers: Sequence[str] = (), writers: Sequence[str] = ()) -> TableChanges:
        """Create or upgrade the tables where that is needed, and let roles use them; all or nothing.

        NotFoundError if there is no such role.
        """

    def script(self, *, readers: Sequence[str] = (), writers: Sequence[str] = (), after: int | None = None) -> str:
        """The SQL that does the same with no tables yet, or `after` a version, for those who run it themselves."""

    def add_space(self, name: str, role: str) -> bool:
        """Add a space for those who have the rights of a role; False if it is there already, with this role.

        NotFoundError if there are no tables or no such role, ConflictError if the space belongs to another role.
        """
