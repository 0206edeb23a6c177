"""What is done about a crash and about damage: set aside, salvage beside the original, never repair in place."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from msgspec.structs import replace

from segue.durable.shelf import keep_original
from segue.errors import DamagedError
from segue.formats.journal import encode_event
from segue.model import Metadata
from segue.store import FORMAT_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from segue.durable.folder import Folder
    from segue.durable.log import Log
    from segue.stores.journal.parser import Parser


def set_aside(folder: Folder, quarantine: Folder, session_id: str, log: Log, complete: int) -> None:
    """Move the fragment of an append that never completed out of the way. Doing it twice is doing it once."""
    with folder.explaining(f"{session_id}.jsonl", "read"):
        fragment = b"".join(_pieces(folder, log.fd, complete, log.size))
    quarantine.make()
    try:
        quarantine.create(f"{session_id}.{complete}-{crc32(fragment):08x}.fragment", fragment)
    except FileExistsError:  # set aside before a crash that came before the truncation
        quarantine.sync()
    log.truncate(complete)


def salvage(folder: Folder, name: str, parser: Parser, *, now: datetime) -> tuple[int, str]:
    """Write all that can be read in the place of the damaged journal: how many events, where the original is."""
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


def _pieces(folder: Folder, fd: int, start: int, end: int) -> Iterator[bytes]:
    while start < end and (piece := folder.kernel.pread(fd, end - start, start)):
        yield piece
        start += len(piece)
