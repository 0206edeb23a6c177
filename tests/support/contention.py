"""What each of many processes does at the same time; it gives back what happened to it."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

from segue.errors import SessionExistsError, SessionLockedError
from segue.stores.journal import JournalStore
from segue.stores.postgres import PostgresStore
from tests.support.journals import metadata, turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.store import Store

Outcome = dict[str, object]


def _open(root: str) -> Store:
    """The folder of journals, or the store in Postgres that a URL names."""
    return PostgresStore(root) if root.startswith("postgresql:") else JournalStore(root)


def write_in_turns(root: str, worker: int, *, sessions: list[str], rounds: int, timeout: float, seed: int) -> Outcome:
    """Open, append, close, again and again; a refusal is noted and the round is over."""
    chance = random.Random(f"{seed} {worker}")
    store = _open(root)
    acknowledged: list[tuple[str, list[str]]] = []
    refusals: list[tuple[int | None, str | None, str]] = []
    for number in range(rounds):
        session_id = chance.choice(sessions)
        size = chance.choice([1, 3])
        ids = [f"{worker}.{number}.{at}of{size}" for at in range(1, size + 1)]
        try:
            with store.open(session_id, timeout_seconds=timeout) as writer:
                writer.append(*(turn(number, "x" * chance.randrange(3000), id=id) for id in ids), ids_are_new=True)
                acknowledged.append((session_id, ids))
        except SessionLockedError as error:
            refusals.append((error.pid, error.host, str(error.since or "")))
    return {"pid": os.getpid(), "acknowledged": acknowledged, "refusals": refusals}


def create_the_same(root: str, worker: int, *, sessions: list[str]) -> Outcome:
    store = _open(root)
    won: list[str] = []
    for session_id in sessions:
        try:
            with store.create(session_id, [metadata(session_id), turn(1, id=f"by-{worker}")]):
                won.append(session_id)
        except SessionExistsError:
            pass
    return {"won": won}


RIVALS: dict[str, Callable[..., Outcome]] = {"write_in_turns": write_in_turns, "create_the_same": create_the_same}
