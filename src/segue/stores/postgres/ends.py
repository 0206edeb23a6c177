"""The ends of sessions: what a writer must know to append, and a reader to show everything but the turns.

What this process has seen of a session is remembered, in memory alone, so that the next question asks for what is new.
It counts only while the row has the same key, and the checkpoint and the event with the known number still have the
same bytes: these contain an id that is made for one event, and a server that lost events (a standby that did not have
them yet) has others in their place. Events before that one never change; if one is damaged meanwhile, every reader of
the events finds it, as with a writer that stays open. The overview is remembered as bytes: the dicts in an overview
that was given to a caller may be changed by it.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from segue.errors import Damage, DamagedError, SessionNotFoundError
from segue.formats.journal import decode_overview, encode_overview
from segue.model import apply
from segue.stores.postgres.lease import Holder
from segue.stores.postgres.reading import Records, Sizes, read_end

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.model import Overview
    from segue.stores.postgres.tables import Tables

_MOST_SESSIONS = 256
_MOST_NEW = 200
"""If more events are new than these, the latest checkpoint is nearer."""
_BAD_CHECKPOINT = Damage("checkpoint", "its checkpoint does not match its events")


class SessionEnd(NamedTuple):
    overview: Overview
    holder: Holder
    key: int
    sizes: Sizes


class KnownEnd(NamedTuple):
    key: int
    seq: int
    hashes: tuple[bytes | None, bytes]
    """Of the body of the checkpoint, None if there is none, and of that of the event `seq`."""
    overview: bytes
    sizes: Sizes


def hash_of(body: bytes) -> bytes:
    return sha256(body).digest()


class Ends:
    def __init__(self, tables: Tables, damages: Callable[[str], Sequence[Damage]]) -> None:
        self._tables = tables
        self._damages = damages
        self._known: dict[str, KnownEnd] = {}

    def read(self, session_id: str) -> SessionEnd:
        """The end of a session. Raises DamagedError if it cannot be trusted."""
        known = self._known.get(session_id)
        found = self._read_since(session_id, known) if known is not None else None
        return found if found is not None else self._read(session_id)

    def known(self, session_id: str, *now: object) -> KnownEnd | None:
        """What is known of a session that is now as it was, without a question to the server."""
        known = self._known.get(session_id)
        return known if known is not None and known[:3] == now else None

    def remember(self, session_id: str, known: KnownEnd) -> None:
        if len(self._known) >= _MOST_SESSIONS and session_id not in self._known:
            self._known.clear()
        self._known[session_id] = known

    def _read_since(self, session_id: str, known: KnownEnd) -> SessionEnd | None:
        """The end by what is known and what is new; None if the session may be another one, or is damaged."""
        rows = self._ask(session_id, self._tables.statements.end_since, after=known.seq, most=_MOST_NEW + 1)
        (key, seq, *holder, checkpoint), found = rows[0][:9], [row[9:] for row in rows]
        if found[0][0] is None or (key, found[0][0], (checkpoint, hash_of(found[0][2]))) != known[:3]:
            return None
        if (overview := decode_overview(known.overview)) is None:
            return None
        if new := found[1:]:
            records = Records(session_id, after=known.seq)
            events = records.feed(new)
            records.finish(seq)
            if records.damages:  # or there are too many, of which not all were asked for
                return None
            overview = apply(overview, *events)
            before = known.sizes
            size = before.events + sum(len(body) for *_, body in new)
            sizes = Sizes(before.checkpoint, size, before.event_count + len(new))
            known = KnownEnd(key, seq, (checkpoint, hash_of(new[-1][2])), encode_overview(overview), sizes)
            self.remember(session_id, known)
        return SessionEnd(overview, Holder(*holder), key, known.sizes)

    def _read(self, session_id: str) -> SessionEnd:
        rows = self._ask(session_id, self._tables.statements.end)
        key, seq, *holder = rows[0][:8]
        found = [row[8:] for row in rows if row[8] is not None]
        overview, damages, sizes = read_end(session_id, seq, found)
        if overview is None:
            raise DamagedError(session_id, damages or self._damages(session_id) or [_BAD_CHECKPOINT])
        checkpoint = next((hash_of(body) for _, id, body in found if id is None), None)
        for last in [body for number, id, body in found if number == seq and id is not None]:
            data = encode_overview(overview)
            self.remember(session_id, KnownEnd(key, seq, (checkpoint, hash_of(last)), data, sizes))
        return SessionEnd(overview, Holder(*holder), key, sizes)

    def _ask(self, session_id: str, statement: str, **values: object) -> list[tuple[Any, ...]]:
        place = self._tables.place_of(session_id)
        rows = self._tables.ask(f"read session {session_id}", statement, space=place.space, id=session_id, **values)
        if not rows:
            raise SessionNotFoundError(session_id, self._tables.url)
        return rows
