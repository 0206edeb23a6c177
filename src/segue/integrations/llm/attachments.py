"""Files and images in a database of llm: fragments of a prompt are texts, attachments are files of any type."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from segue.integrations.format.parts import file_part, image_part
from segue.integrations.format.values import as_text
from segue.integrations.shared.sqlite import has_table

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from segue.model import JsonObject

_LINKS = {
    "part_attachments": ("part_id", "attachments", "attachment_id"),
    "prompt_attachments": ("response_id", "attachments", "attachment_id"),
    "tool_results_attachments": ("tool_result_id", "attachments", "attachment_id"),
    "part_fragments": ("part_id", "fragments", "fragment_id"),
    "prompt_fragments": ("response_id", "fragments", "fragment_id"),
    "system_fragments": ("response_id", "fragments", "fragment_id"),
}
"""The tables that say what belongs to what: the column of the owner, the other table, and the column with its id."""


def linked_parts(database: sqlite3.Connection, table: str, owner: object) -> list[JsonObject]:
    """The parts for what a table links to a row, in its order. A file that is only named is not opened."""
    return [_part(row) for row in linked_rows(database, table, owner)]


def linked_rows(database: sqlite3.Connection, table: str, owner: object) -> Iterator[sqlite3.Row]:
    column, target, key = _LINKS[table]
    if not has_table(database, table) or not has_table(database, target):
        return
    query = f'SELECT {target}.* FROM {table} JOIN {target} ON {target}.id = {key} WHERE {column} = ? ORDER BY "order"'  # noqa: S608 - of names above
    yield from database.execute(query, (owner,))


def _part(row: sqlite3.Row) -> JsonObject:
    fields = dict(row)
    content = fields.get("content")
    if "type" not in fields:
        return file_part(fields.get("source") or fields.get("hash"), content)
    if as_text(fields["type"]).startswith("image/"):
        data = base64.b64encode(content).decode("ascii") if isinstance(content, bytes) else ""
        return image_part(fields["type"], data)
    return file_part(fields.get("path") or fields.get("url") or fields["type"])
