"""Bugs of the store in Postgres that somebody could make, for planting: the proofs must catch each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from segue.store import Durability
from segue.stores.postgres import statements
from segue.stores.postgres.statements import Statements
from segue.stores.postgres.typed import TypedStatement, typed
from segue.stores.postgres.writer import PostgresWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.model import Event

Put = Callable[[object, str, object], None]
"""As `setattr`."""


def forget_fence(put: Put) -> None:
    """An append checks neither the fence nor the token: only the seq."""
    _replace(put, {"fence = $3 AND owner_token = $12 AND ": "$3 > 0 AND $12 IS NOT NULL AND "})


def forget_fence_alone(put: Put) -> None:
    """An append checks the token, but not the fence."""
    _replace(put, {"fence = $3 AND ": "$3 > 0 AND "})


def forget_token(put: Put) -> None:
    """An append checks the fence, but not the token: a server that lost a commit can give one fence twice."""
    _replace(put, {"owner_token = $12 AND ": "$12 IS NOT NULL AND "})


def _replace(put: Put, changes: dict[str, str]) -> None:
    text = statements._TURN
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)

    def append_turn(self: Statements, *, checkpoint: bool) -> TypedStatement:
        assert not checkpoint
        return typed(self._text(text.replace("{kept}", "")), *statements._TURN_TYPES)

    put(Statements, "append_turn", append_turn)


def ask_without_advancing(put: Put) -> None:
    """After a lost answer the ids are looked up, but the statement may still be on its way."""

    def resolve(self: PostgresWriter, events: Sequence[Event]) -> Durability | None:
        return Durability.SYNCED if self._is_recorded(events) else None

    put(PostgresWriter, "_resolve", resolve)


def repeat_without_asking(put: Put) -> None:
    """A lost answer is taken for a lost statement."""

    def resolve(self: PostgresWriter, _events: Sequence[Event]) -> None:
        self._advance_fence()

    put(PostgresWriter, "_resolve", resolve)


def renew_by_key_alone(put: Put) -> None:
    """The heartbeat renews the lease of whoever has the session now."""
    renew = Statements("schema").renew
    text = renew.replace("AND owner_token = ANY(%(tokens)s) ", "")
    assert text != renew
    put(Statements, "renew", property(lambda self: text.replace('"schema"', self._schema)))


def renew_what_was_released(put: Put) -> None:
    """A renewal that arrives after the release takes the session again."""
    text = Statements("schema").renew.replace("AND lease_until IS NOT NULL", "")
    put(Statements, "renew", property(lambda self: text.replace('"schema"', self._schema)))


def wait_for_locked_rows(put: Put) -> None:
    """The renewal of all leases waits for one row."""
    text = Statements("schema").renew.replace("SKIP LOCKED", "")
    put(Statements, "renew", property(lambda self: text.replace('"schema"', self._schema)))


def acknowledge_before_the_answer(put: Put) -> None:
    """A receipt is given at once, and the statement sent before the next one, or at the end."""
    send, close = PostgresWriter._send, PostgresWriter.close
    waiting: list[Callable[[], object]] = []

    def flush() -> None:
        while waiting:
            waiting.pop(0)()

    def send_later(self: PostgresWriter, *arguments: object) -> Durability:
        flush()
        waiting.append(lambda: send(self, *arguments))  # type: ignore[arg-type]
        return Durability.SYNCED

    def flush_and_close(self: PostgresWriter) -> None:
        flush()
        close(self)

    put(PostgresWriter, "_send", send_later)
    put(PostgresWriter, "close", flush_and_close)


BUGS: dict[str, Callable[[Put], None]] = {
    bug.__name__: bug
    for bug in (
        forget_fence,
        forget_fence_alone,
        forget_token,
        ask_without_advancing,
        repeat_without_asking,
        renew_by_key_alone,
        renew_what_was_released,
        wait_for_locked_rows,
        acknowledge_before_the_answer,
    )
}
