"""Recovery of a damaged journal: into a new file; the original is kept and never repaired in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.durable.file_store import keep_original
from segue.errors import DamagedError
from segue.formats.journal import encode_event
from segue.model import Metadata
from segue.store import FORMAT_VERSION

if TYPE_CHECKING:
    from datetime import datetime

    from segue.durable.folder import Folder
    from segue.stores.journal.parser import Parser


def salvage_journal(folder: Folder, name: str, parser: Parser, *, now: datetime) -> tuple[int, str]:
    """Replace a damaged journal by all that can be read of it. Returns the number of events and the original's path."""
    events = parser.named()
    if not events:
        raise DamagedError(parser.session_id, parser.damages)
    if not isinstance(events[0], Metadata):  # neither the first line nor a checkpoint is left
        first = Metadata(
            session_id=parser.session_id, agent="", created_at=now, status="active", version=FORMAT_VERSION, id="line-1"
        )
        events = [first, *events]
    data = b"".join([encode_event(replace(event, seq=seq)) for seq, event in enumerate(events, start=1)])
    original = keep_original(folder, name)
    folder.replace(name, data)
    return len(parser.events), folder.path_of(original)
