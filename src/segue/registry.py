"""Every store by the scheme of its URL. A store is named by a string and imported when it is opened."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from segue.store import Durability, Store

STORES = {
    "cortext": "segue.dialects.cortext.store:CortextStore",
    "gptel": "segue.dialects.gptel.store:GptelStore",
    "journal": "segue.stores.journal:JournalStore",
    "memory": "segue.stores.memory:MemoryStore",
    "postgres": "segue.stores.postgres:PostgresStore",
    "postgresql": "segue.stores.postgres:PostgresStore",
    "ralph": "segue.dialects.ralph.store:RalphStore",
    "soleur": "segue.dialects.soleur.store:SoleurStore",
}
"""Scheme → "module:Class"; the class takes `(path, *, clock, durability)`, where the path is all after the colon."""
SCHEMES = tuple(STORES)


def open_store(url: str, *, clock: Callable[[], datetime], durability: Durability) -> Store:
    """Open the store that a URL names. Failures while one session is read never affect the others.

    UsageError if the URL names no store.
    """
    from segue.stores.isolation import isolate_sessions

    scheme, colon, path = url.partition(":")
    if not colon or scheme not in STORES:
        from segue.formats.store_url import hide_password

        known = ", ".join(f"{name}:" for name in STORES)
        raise UsageError(
            f"{hide_password(url)!r} does not name a store",
            hint=f"begin with one of {known} as in journal:/path/to/sessions",
        )
    module, _, name = STORES[scheme].partition(":")
    store: Store = getattr(import_module(module), name)(path, clock=clock, durability=durability)
    return isolate_sessions(store)
