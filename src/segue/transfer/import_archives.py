"""Importing the conversations of an export archive: each becomes a session, and a second import adds what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.errors import SegueError, UsageError
from segue.integrations.archives.archive import UnreadConversation, read_archive
from segue.transfer.import_sessions import FailedImport, import_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.store import Store
    from segue.transfer.import_sessions import Imported


def import_archive(path: str, store: Store) -> Iterator[Imported | FailedImport]:
    """Import every conversation; a failure affects only itself. UsageError if the file is not such an archive."""
    for found in read_archive(path):
        if isinstance(found, UnreadConversation):
            error = UsageError(f"{found.place}: {found.reason}")
            yield FailedImport(tool="archive", native_id="", error=error)
            continue
        try:
            yield import_session(found.source, found.session, store)
        except SegueError as error:
            yield FailedImport(tool=found.source.name, native_id=found.session.id, error=error)
