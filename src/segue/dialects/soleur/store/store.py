"""The store over a folder of Soleur's files."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from segue.dialects.soleur.format import (
    LAYOUT_VERSION,
    ParsedSoleurFile,
    SoleurDocument,
    new_document,
    read,
    read_last_message,
)
from segue.dialects.soleur.store.context import context_of
from segue.durable.blobs import put_blob
from segue.errors import NotFoundError
from segue.model import Attachment
from segue.stores.sealed import SealedHeadCache, SealedStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from segue.model import Event, Overview
    from segue.stores.sealed import document as sealed


class SoleurHeadCache(SealedHeadCache):
    read = staticmethod(read)


class SoleurStore(SealedStore[SoleurDocument]):
    """See store.Store, and SealedStore."""

    scheme = "soleur"
    head_cache_type = SoleurHeadCache
    layout_version = LAYOUT_VERSION

    @staticmethod
    def new_id(label: str, now: datetime, entropy: bytes) -> str:  # noqa: ARG004 - as Soleur names its sessions
        return str(UUID(bytes=entropy[:16], version=4))

    def last_message(self, session_id: str) -> str:
        """The text of the last message of the active branch, as fast as possible; empty if there is none."""
        found = read_last_message(self._read(session_id))
        if found is not None:
            return found
        return "".join(turn.content for turn in self.tail(session_id, 1))

    def get_blob(self, session_id: str, name: str) -> bytes:
        try:
            return super().get_blob(session_id, name)
        except NotFoundError:
            context = self._parse(session_id, self._read(session_id)).context
            if context and name == f"sha256:{hashlib.sha256(context).hexdigest()}":
                return context  # another program put it in the file itself
            raise

    def _begin(self, session_id: str, events: Sequence[Event]) -> SoleurDocument:
        return new_document(session_id, events)

    def _parse(self, session_id: str, data: bytes) -> ParsedSoleurFile:
        return read(data, session_id, self._file_name(session_id))

    def _extend(self, document: SoleurDocument, events: Sequence[Event], overview: Overview) -> SoleurDocument:
        context = document.context  # it changes when something is attached
        if any(isinstance(event, Attachment) for event in events):
            context = context_of(overview.attachments, partial(self.get_blob, overview.id))
        return document.extended(events, overview, context)

    def _settle(self, session_id: str, reading: sealed.ParsedFile[SoleurDocument]) -> None:
        """Store the context that another program put into the file as a blob, before we write the file."""
        if isinstance(reading, ParsedSoleurFile) and reading.context:
            put_blob(self._blobs(session_id), reading.context)
