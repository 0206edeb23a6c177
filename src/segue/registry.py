"""Every store, by the scheme of its URL. A store is named by a string and imported when it is asked for."""

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
    "ralph": "segue.dialects.ralph.store:RalphStore",
    "soleur": "segue.dialects.soleur.store:SoleurStore",
}
"""Scheme → "module:Class"."""
SCHEMES = tuple(STORES)


def open_store(url: str, *, clock: Callable[[], datetime], durability: Durability) -> Store:
    """The store that a URL names, in which one unreadable session never affects the others. UsageError if none."""
    from segue.stores.isolation import isolate_sessions

    return isolate_sessions(_open(url, clock=clock, durability=durability))


def _open(url: str, *, clock: Callable[[], datetime], durability: Durability) -> Store:
    scheme, colon, path = url.partition(":")
    if not colon or scheme not in STORES:
        known = ", ".join(f"{name}:" for name in STORES)
        raise UsageError(
            f"{url!r} does not name a store", hint=f"begin with one of {known} as in journal:/path/to/sessions"
        )
    module, _, name = STORES[scheme].partition(":")
    if scheme == "memory":
        if path:
            raise UsageError(f"{url!r}: a store in memory has no path", hint="use memory:")
        store: Store = getattr(import_module(module), name)(clock=clock)
        return store
    if not path or "\0" in path:
        raise UsageError(f"{url!r} names no folder", hint=f"as in {scheme}:/path/to/sessions")
    if not _is_utf8(path):
        raise UsageError(f"{url!a} is not UTF-8", hint="name a folder that is")
    extra = {"durability": durability} if scheme == "journal" else {}
    found: Store = getattr(import_module(module), name)(path, clock=clock, **extra)
    return found


def _is_utf8(path: str) -> bool:
    """Whether a path can be shown, passed on and recorded: the system accepts any bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
