"""Recovery of a damaged conversation: both originals are kept, and all that can be read takes their place.

Two files cannot be replaced at once. So session.json is replaced first, with the turns in it and a word that
messages.jsonl does not count; then that, then session.json again without. A crash at any point leaves a whole session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.dialects.cortext.format import MESSAGES, SESSION, CortextDocument, encode_entry, encode_turns, new_document
from segue.durable.file_store import keep_original
from segue.durable.snapshot import read_signature
from segue.model import Turn, fold, overview_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.dialects.cortext.format import ParsedConversation
    from segue.durable.folder import Folder
    from segue.model import Event


def salvage_conversation(folder: Folder, document: CortextDocument, reading: ParsedConversation) -> str:
    """Replace the damaged files by all that can be read of them, and return the path of the original."""
    events = [replace(event, seq=seq) for seq, event in enumerate(reading.events, start=1)]
    fresh = new_document(document.folder, events, overview_of(fold(events)), 0)
    fresh = replace(fresh, top=document.top, version=document.version)
    originals = {name: keep_original(folder, name) for name in (MESSAGES, SESSION) if read_signature(folder, name)}
    folder.replace(SESSION, replace(fresh, turns=tuple(map(encode_entry, _turns(events)))).encode())
    finish_recovery(folder, fresh, events)
    is_in_messages = any(f"/{MESSAGES}" in damage.place for damage in reading.damages)
    return folder.path_of(originals[MESSAGES if is_in_messages and MESSAGES in originals else SESSION])


def finish_recovery(folder: Folder, document: CortextDocument, events: Sequence[Event]) -> None:
    """Move the turns from session.json to messages.jsonl. Idempotent."""
    lines = b"".join([encode_turns([turn]) for turn in _turns(events)])
    folder.replace(MESSAGES, lines)
    folder.replace(SESSION, replace(document, size=len(lines)).encode())


def _turns(events: Sequence[Event]) -> list[Turn]:
    return [event for event in events if isinstance(event, Turn)]
