"""The slash commands: one table for all dialects.

Read `table` (what a command is), then the groups: `session`, `notes`, `branches`, `sessions`, `writing`, `files`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.commands import branches, files, notes, session, sessions, writing
from segue.chat.commands.table import Called, Command, Leave, Table, TypedLine, UnknownCommand

if TYPE_CHECKING:
    from segue.chat.dialect import Dialect

COMMANDS: tuple[Command, ...] = (
    *session.COMMANDS,
    *notes.COMMANDS,
    *branches.COMMANDS,
    *sessions.COMMANDS,
    *writing.COMMANDS,
    *files.COMMANDS,
)

__all__ = ["COMMANDS", "Called", "Command", "Leave", "Table", "TypedLine", "UnknownCommand", "table_of"]


def table_of(dialect: Dialect) -> Table:
    """All commands except those that the dialect hides, then its own."""
    return Table([*(command for command in COMMANDS if command.name not in dialect.hidden), *dialect.extra])
