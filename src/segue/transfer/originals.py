"""The sessions of an AI tool that Segue made there: copies of ours, and what the tool made as an agent."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from segue.clock import utc_now
from segue.errors import SegueError
from segue.links import place_of
from segue.registry import open_store
from segue.store import Durability

if TYPE_CHECKING:
    from segue.integrations.shared.history import ExternalSession
    from segue.integrations.shared.integration import Integration
    from segue.links import Link, Links
    from segue.store import Store


class Originals:
    """What this machine has recorded about the sessions of one integration."""

    def __init__(self, links: Links, integration: Integration, store: Store) -> None:
        self._integration = integration
        self._store = store
        self._links: dict[str, Link] = {}
        for link in links.read():
            if link.tool == integration.name and link.how != "import":
                self._links[link.native_id] = link

    def is_copy(self, external: ExternalSession) -> bool:
        """Whether nothing would be lost without an import of this session: its conversation is in a store of ours."""
        link = self._find(external)
        return link is not None and (link.how == "answer" or self._exists(link))

    def find(self, external: ExternalSession) -> str:
        """The id of the session in the store of which this one is a copy; empty if there is none."""
        link = self._find(external)
        return link.session if link is not None and link.how == "handover" and self._is_here(link) else ""

    def _find(self, external: ExternalSession) -> Link | None:
        if not self._links:
            return None
        return self._links.get(external.id) or self._links.get(self._launch_of(external))

    def _launch_of(self, external: ExternalSession) -> str:
        """The id with which we started it; empty if the tool has left it unchanged, or it is not ours."""
        try:
            builder, turns = self._integration.preview(external)
            with closing(turns):
                next(turns, None)
        except Exception:  # noqa: BLE001 - the import reports why it cannot be read
            return ""
        return builder.launch

    def _is_here(self, link: Link) -> bool:
        """Whether the store has it: the store may have been moved since, or be a copy."""
        try:
            return _has(self._store, link)
        except SegueError:
            return False

    def _exists(self, link: Link) -> bool:
        """Whether the session is there, and is not a later one with the same id."""
        if self._is_here(link):
            return True
        try:
            if link.place == place_of(self._store.url):
                return False
            with closing(open_store(link.place, clock=utc_now, durability=Durability.SYNCED)) as other:
                return _has(other, link)
        except SegueError:
            return False


def _has(store: Store, link: Link) -> bool:
    return abs(store.overview(link.session).created_at.timestamp() - link.created_at) <= 1
