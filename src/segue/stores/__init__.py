"""Every store there is, by the scheme of its URL. Stores never import one another, and are imported when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from segue.store import Durability, Store

SCHEMES = ("cortext", "gptel", "journal", "memory", "ralph", "soleur")


def open_store(url: str, *, clock: Callable[[], datetime], durability: Durability) -> Store:
    """The store that the URL names; what is odd about one of its sessions costs that session alone."""
    from segue.stores.contained import contained

    return contained(_open(url, clock=clock, durability=durability))


def _open(url: str, *, clock: Callable[[], datetime], durability: Durability) -> Store:
    """The store that a URL names. UsageError if it names none."""
    scheme, colon, path = url.partition(":")
    if not colon or scheme not in SCHEMES:
        known = ", ".join(f"{name}:" for name in SCHEMES)
        raise UsageError(
            f"{url!r} does not name a store", hint=f"begin with one of {known} as in journal:/path/to/sessions"
        )
    if scheme == "memory":
        from segue.stores.memory import MemoryStore

        if path:
            raise UsageError(f"{url!r}: a store in memory has no path", hint="use memory:")
        return MemoryStore(clock=clock)
    if not path or "\0" in path:
        raise UsageError(f"{url!r} names no folder", hint=f"as in {scheme}:/path/to/sessions")
    if not _is_utf8(path):
        raise UsageError(f"{url!a} is not UTF-8", hint="name a folder that is")
    if scheme == "cortext":
        from segue.stores.cortext import CortextStore

        return CortextStore(path, clock=clock)
    if scheme == "gptel":
        from segue.stores.gptel import GptelStore

        return GptelStore(path, clock=clock)
    if scheme == "ralph":
        from segue.stores.ralph import RalphStore

        return RalphStore(path, clock=clock)
    if scheme == "soleur":
        from segue.stores.soleur import SoleurStore

        return SoleurStore(path, clock=clock)
    from segue.stores.journal import JournalStore

    return JournalStore(path, clock=clock, durability=durability)


def _is_utf8(path: str) -> bool:
    """Whether it can be shown, passed on and noted. The system hands over any bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
