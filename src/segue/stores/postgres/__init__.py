"""Sessions in Postgres. Read `schema/schema.sql`, then `store` and `writer`."""

from __future__ import annotations

from segue.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
