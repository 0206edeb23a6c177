"""Sessions in Postgres. Read `schema/schema.sql`, then `store` and `writer`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segue.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]


def __getattr__(name: str) -> object:
    """The store is imported with the driver when it is asked for: an address alone needs neither."""
    if name != "PostgresStore":
        raise AttributeError(name)
    from segue.stores.postgres.connections import import_driver

    import_driver()
    from segue.stores.postgres.store import PostgresStore

    return PostgresStore
