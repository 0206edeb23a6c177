"""The writer of a session in Postgres. An append is one statement: compare, insert, update the head, commit."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.closing import Closing
from segue.errors import (
    DiskFullError,
    SessionNotFoundError,
    StorageError,
    TakenOverError,
    WriterStoppedError,
)
from segue.formats.journal import encode_checkpoint, encode_event, encode_overview, fingerprint
from segue.model import Turn, accept, apply_turns, check_event, total_usage
from segue.model.acceptance import copy_for_overview
from segue.store import Durability, Receipt
from segue.stores.postgres.columns import event_columns, listed_columns
from segue.stores.postgres.ends import KnownEnd, hash_of
from segue.stores.postgres.failures import DuplicateError, LostAnswerError
from segue.stores.postgres.lease import Holder
from segue.stores.postgres.reading import Sizes, read_event
from segue.stores.postgres.text_columns import from_column, to_column
from segue.stores.postgres.typed import float8, int4, int8, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from segue.errors import SegueError
    from segue.model import Event, Overview, Usage
    from segue.stores.postgres.connections import Connections
    from segue.stores.postgres.statements import Statements
    from segue.stores.postgres.typed import TypedStatement

CHECKPOINT_EVERY_BYTES = 32_768
CHECKPOINT_EVERY_EVENTS = 100
CHECKPOINT_SHARE = 4
"""A large checkpoint is due only after this many times its size was appended since the last one."""
_ATTEMPTS = 3
"""How often an append whose answer was lost, and which was not recorded, is made again."""


def _due_after(size: int) -> int:
    """After how many bytes the next checkpoint is due, if the last one has this size."""
    return max(CHECKPOINT_EVERY_BYTES, CHECKPOINT_SHARE * size)


class PostgresWriter(Closing):
    """See store.Writer."""

    def __init__(
        self,
        *,
        connections: Connections,
        statements: Statements,
        place: str,
        space: int,
        key: int,
        fence: int,
        token: UUID,
        lease_seconds: float,
        overview: Overview,
        usage: Usage,
        sizes: Sizes,
        checkpoint_hash: bytes | None,
        unindexed: int,
        on_close: Callable[[PostgresWriter], None],
    ) -> None:
        self.key = key
        self.space = space
        self.token = token
        self.unindexed = unindexed
        """How many events were recorded whose words are not in the table of words."""
        self._connections = connections
        self._statements = statements
        self._place = place
        self._fence = fence
        self._recorded_seq = overview.seq
        """The number of the last event when the fence was advanced last."""
        self.values = {"space": space, "key": key, "token": token, "lease": lease_seconds}
        self._space, self._key, self._lease = int4(space), int8(key), float8(lease_seconds)
        self._token = token.bytes
        self._overview = overview
        self._uncounted: list[Turn] = []  # recorded, and not in the overview yet: counted on demand
        self._turn_count = overview.turn_count
        self._updated_at = overview.updated_at
        self._usage = usage
        self._since_checkpoint = sizes.events
        self._checkpoint_size = sizes.checkpoint
        self._checkpoint_due = _due_after(sizes.checkpoint)
        self._events_since = sizes.event_count
        self._checkpoint_hash = checkpoint_hash
        self._last_body = b""  # of the last event that was recorded here
        self._has_failed = False  # in any way: then nothing that is known here is remembered
        self._on_close = on_close
        self.pid = os.getpid()
        self._mutex = threading.RLock()
        self._stopped: SegueError | None = None
        self._is_open = True

    @property
    def overview(self) -> Overview:
        with self._mutex:
            return self._counted()

    @property
    def branch(self) -> str:
        return self._overview.branch

    def append(self, *events: Event, ids_are_new: bool = False) -> Receipt:
        with self._mutex:
            self._check()
            self._has_failed, had_failed = True, self._has_failed
            try:
                receipt = self._append(events, ids_are_new=ids_are_new)
            except DiskFullError:
                raise
            except (StorageError, TakenOverError, SessionNotFoundError) as error:
                self._stopped = error
                raise
            except BaseException as error:
                if not isinstance(error, Exception):  # a Ctrl-C may have come between the commit and our record of it
                    self._stopped = WriterStoppedError("the last append was interrupted", hint="open the session again")
                raise
            self._has_failed = had_failed
            return receipt

    def _append(self, events: tuple[Event, ...], *, ids_are_new: bool) -> Receipt:
        try:
            if ids_are_new and len(events) == 1 and isinstance(turn := events[0], Turn) and not turn.extra:
                return self._append_turn(turn)
            return self._append_all(events, ids_are_new=ids_are_new)
        except DuplicateError:  # a retry with ids that were believed to be new
            return self._append_all(events, ids_are_new=False)

    def _append_turn(self, turn: Turn) -> Receipt:
        """The fast path for one new turn, which is nearly every append of a conversation."""
        check_event(turn, self._overview)
        turn = replace(turn, seq=self._seq + 1)
        body = encode_event(turn)
        count = self._turn_count + (turn.branch == self._overview.branch)
        updated_at = max(self._updated_at, turn.timestamp)
        is_due = self._is_checkpoint_due(len(body), 1)
        overview = apply_turns(self._counted(), [turn]) if is_due else None
        checkpoint = None if overview is None else encode_checkpoint(overview)
        statement = self._statements.append_turn(checkpoint=is_due)
        values = [
            int8(turn.seq),
            int8(count),
            *times(updated_at),
            self._lease,
            to_column(turn.id).encode(),
            to_column(turn.branch).encode(),
            body,
            self._token,
        ]
        if checkpoint is not None:
            values.append(checkpoint)
        achieved = self._send((turn,), statement, lambda: [self._space, self._key, int8(self._fence), *values])
        self._last_body = body
        self._note_size(len(body), 1, checkpoint)
        if overview is None:
            self._uncounted.append(turn)
        else:
            self._overview = overview
        self._turn_count, self._updated_at = count, updated_at
        return Receipt(seqs=(turn.seq,), durability=achieved)

    def _append_all(self, events: tuple[Event, ...], *, ids_are_new: bool) -> Receipt:
        recorded = {} if ids_are_new else self._recall(events)
        new, seqs, overview = accept(events, self._counted(), recorded, fingerprint, copy=copy_for_overview)
        if not new:
            return Receipt(seqs=seqs, durability=self._confirm())
        usage = self._usage + total_usage(event for event in new if isinstance(event, Turn))
        last = len(new) - 1
        bodies = [encode_event(event, continues=at < last) for at, event in enumerate(new)]
        size = sum(map(len, bodies))
        values = {
            **self.values,
            "expected": self._overview.seq,
            "seq": overview.seq,
            **listed_columns(overview, usage),
            **event_columns(new, bodies),
        }
        is_due = self._is_checkpoint_due(size, len(new))
        values["checkpoint"] = checkpoint = encode_checkpoint(overview) if is_due else None
        achieved = self._send(new, self._statements.append(checkpoint=is_due), lambda: values | {"fence": self._fence})
        self._last_body = bodies[-1]
        self._note_size(size, len(new), checkpoint)
        self._overview, self._usage = overview, usage
        self._turn_count, self._updated_at = overview.turn_count, overview.updated_at
        return Receipt(seqs=seqs, durability=achieved)

    def _send(
        self,
        events: Sequence[Event],
        statement: str | TypedStatement,
        values: Callable[[], Mapping[str, object] | Sequence[bytes]],
    ) -> Durability:
        """Make the append. If its answer is lost, ask whether it was recorded, and make it again if it was not."""
        for _ in range(_ATTEMPTS):
            try:
                rows, achieved = self._connections.commit(self._doing, statement, values(), retry=False)
            except LostAnswerError as lost:
                try:
                    found = self._resolve(events)
                except WriterStoppedError:
                    raise
                except StorageError:  # the server cannot be asked either: the outcome stays unknown
                    raise lost from None
            else:
                found = achieved if rows else self._resolve(events)
            if found is not None:
                return found
        raise StorageError(
            f"cannot {self._doing}: the connection to {self._place} broke {_ATTEMPTS} times, and nothing was recorded",
            hint="check the network and the server, then open the session again",
            path=self._place,
        )

    def _note_size(self, size: int, count: int, checkpoint: bytes | None) -> None:
        """Remember how much was appended since the last checkpoint."""
        self.unindexed += count
        if checkpoint is None:
            self._since_checkpoint += size
            self._events_since += count
        else:
            self._since_checkpoint = self._events_since = 0
            self._checkpoint_size, self._checkpoint_hash = len(checkpoint), hash_of(checkpoint)
            self._checkpoint_due = _due_after(len(checkpoint))

    def _resolve(self, events: Sequence[Event]) -> Durability | None:
        """What the append survives if it was recorded; None if it was not, and now cannot be any more.

        The statement may still be running on the server, or be on its way. Advancing the fence waits for it, and lets
        it fail unless it was committed before. So does another writer that took over; then the session is lost, but
        not what was recorded before. A repeated statement of ours may have advanced the fence late: then the append
        found no row, and is made again.
        """
        expected, achieved = self._seq, self._advance_fence()
        if events and self._is_recorded(events):
            return self._visible_durability() if achieved is None else achieved
        if achieved is None:
            raise self._loss()
        if self._recorded_seq != expected:
            raise self._unexpected(expected - self._recorded_seq)
        return None

    def _unexpected(self, lost: int) -> SegueError:
        """The error for a session that is not as this writer left it: events are missing, or there are more."""
        if lost > 0:
            which = "the last event" if lost == 1 else f"the last {lost} events"
            return WriterStoppedError(
                f"{self._place} has lost {which} of session {self._overview.id}",
                hint="a standby that did not have them yet may have become the primary; open the session again",
            )
        return WriterStoppedError(
            f"another program changed session {self._overview.id} in {self._place}", hint="open the session again"
        )

    def _visible_durability(self) -> Durability:
        """What everything that can be read survives: it is visible before a standby has it, but not before the disk."""
        return min(Durability.SYNCED, Durability(int(self._ask(self._statements.achieved, {})[0][0])))

    def _confirm(self) -> Durability:
        """What everything that is recorded survives.

        To read that an event is there says nothing about its place on the disk or on the standby: it may be visible and
        on neither. A commit after it is proof, since the server syncs and sends all commits in order.
        """
        if (achieved := self._advance_fence()) is None:
            raise self._loss()
        return achieved

    def _advance_fence(self) -> Durability | None:
        """What everything committed until now survives; None if this writer does not have the session any more."""
        rows, achieved = self._connections.commit(self._doing, self._statements.advance_fence, self.values, retry=True)
        if not rows:
            return None
        self._fence, self._recorded_seq = rows[0][:2]
        return achieved

    def _is_recorded(self, events: Sequence[Event]) -> bool:
        ids = {to_column(event.id): event for event in events}
        found = self._ask(self._statements.recorded, self.values | {"ids": list(ids)})
        return len(found) == len(ids) and all(ids[id].seq == seq for seq, id, _ in found)

    def _loss(self) -> SegueError:
        """Why this writer does not have the session any more."""
        rows = self._ask(self._statements.find_by_key, self.values)
        if not rows:
            return SessionNotFoundError(self._overview.id, self._place)
        holder = Holder(*rows[0][4:])
        if holder.token != self.token:
            return TakenOverError(self._overview.id, pid=holder.pid, host=holder.host, since=holder.since)
        return WriterStoppedError(
            f"session {self._overview.id} was deleted and restored meanwhile", hint="open the session again"
        )

    def _recall(self, events: Sequence[Event]) -> dict[str, tuple[int, int]]:
        """The seq and the content of those events that are recorded already."""
        ids = [to_column(event.id) for event in events if isinstance(event.id, str)]
        if not ids:
            return {}
        known: dict[str, tuple[int, int]] = {}
        for row in self._ask(self._statements.recorded, self.values | {"ids": ids}):
            event = read_event(row)
            # A damaged event has no content that anything could be equal to.
            known[from_column(row[1])] = (row[0], -1 if isinstance(event, tuple) else fingerprint(event))
        return known

    def _ask(self, statement: str, values: dict[str, object]) -> list[tuple]:  # type: ignore[type-arg]
        return self._connections.execute(self._doing, statement, values, retry=True)

    @property
    def _doing(self) -> str:
        return f"append to session {self._overview.id}"

    @property
    def _seq(self) -> int:
        return self._overview.seq + len(self._uncounted)

    def _is_checkpoint_due(self, size: int, count: int) -> bool:
        bytes_since = self._since_checkpoint + size
        return bytes_since >= self._checkpoint_due or (
            self._events_since + count >= CHECKPOINT_EVERY_EVENTS and self._checkpoint_due == CHECKPOINT_EVERY_BYTES
        )

    def _counted(self) -> Overview:
        if self._uncounted:
            self._overview = apply_turns(self._overview, self._uncounted)
            self._uncounted = []
        return self._overview

    def put_blob(self, data: bytes) -> str:
        name = f"sha256:{hashlib.sha256(data).hexdigest()}"
        with self._mutex:
            self._check()
            values = self.values | {"name": name, "data": bytes(data)}
            for _ in range(_ATTEMPTS):
                if self._ask(self._statements.put_blob, values | {"fence": self._fence}):
                    return name
                self._resolve(())
        raise StorageError(f"cannot put a blob into session {self._overview.id}", hint="try again", path=self._place)

    @property
    def known_end(self) -> KnownEnd | None:
        """What to remember of the end that this writer leaves; None if it recorded nothing."""
        if not self._last_body or self._has_failed:
            return None
        overview = self._counted()
        sizes = Sizes(self._checkpoint_size, self._since_checkpoint, self._events_since)
        hashes = self._checkpoint_hash, hash_of(self._last_body)
        return KnownEnd(self.key, overview.seq, hashes, encode_overview(overview), sizes)

    @property
    def is_stopped(self) -> bool:
        """Whether an error has ended it, so that it accepts nothing more."""
        return self._stopped is not None

    def close(self) -> None:
        with self._mutex:
            if self._is_open and self.pid == os.getpid():
                self._is_open = False
                self._on_close(self)
            self._is_open = False

    def _check(self) -> None:
        if self._stopped is not None:
            if isinstance(self._stopped, TakenOverError):
                raise self._stopped
            raise WriterStoppedError(
                f"cannot write to the session any more: {self._stopped}", hint="open the session again"
            )
        if not self._is_open or self.pid != os.getpid():
            reason = "the writer is closed" if not self._is_open else "it belongs to the process that opened it"
            raise WriterStoppedError(f"cannot write to the session any more: {reason}", hint="open the session again")
