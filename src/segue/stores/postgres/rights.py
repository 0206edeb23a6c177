"""What a role must be granted to read or to write: as little as the statements need, and never a whole schema."""

from __future__ import annotations

READ = ("migrations", "spaces", "sessions", "events", "checkpoints", "blobs", "words")
CHANGED = ("sessions", "events", "checkpoints", "blobs", "words")
UPDATED = ("sessions", "checkpoints", "blobs", "words")
"""Events are never changed, so that no writer needs the right to."""


def grants_to_read(schema: str, role: str) -> tuple[str, ...]:
    return (
        f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {quoted(role)}",
        _grant("SELECT", READ, schema, role),
    )


def grants_to_write(schema: str, role: str) -> tuple[str, ...]:
    return (
        *grants_to_read(schema, role),
        _grant("INSERT, DELETE", CHANGED, schema, role),
        _grant("UPDATE", UPDATED, schema, role),
    )


def quoted(name: str) -> str:
    """A name as SQL takes it, also where it is a word of the language."""
    return '"' + name.replace('"', '""') + '"'


def _grant(rights: str, tables: tuple[str, ...], schema: str, role: str) -> str:
    return f"GRANT {rights} ON {', '.join(f'{quoted(schema)}.{table}' for table in tables)} TO {quoted(role)}"
