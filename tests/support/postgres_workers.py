"""Processes that use a store in Postgres at our command, and die or stop in the middle of it.

Run as `python -m tests.support.postgres_workers`; see `tests.support.processes`.
"""

from __future__ import annotations

import itertools
import os
import random
import select
import signal
from typing import TYPE_CHECKING

from psycopg.waiting import Ready, Wait

from segue.stores.journal import JournalStore
from segue.stores.postgres.driver import TimedConnection
from segue.stores.postgres.store import PostgresStore
from segue.transfer.convert import copy
from tests.support.journals import turn
from tests.support.postgres_operations import WRITING, Notify
from tests.support.postgres_operations import operate as operate_on
from tests.support.processes import Answer, fork, read_rest, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Steps = Generator[Wait, Ready, object]

MOMENTS = ("before", "sent", "answered")
"""A statement is not sent yet; it is sent, and the server may be at it; its answer has arrived, and nobody read it."""


def die_at(step: int, moment: str) -> None:
    """Let this process die by kill -9 at the n-th statement from now on."""
    numbers = itertools.count(1)
    wait = TimedConnection.wait

    def counted(self: TimedConnection, gen: Steps, interval: float = 0.1, timeout: float | None = None) -> object:
        if moment == "before" and next(numbers) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return wait(self, watched(gen, self.pgconn.socket), interval, timeout)

    def watched(gen: Steps, descriptor: int) -> Steps:
        """The generator of the driver asks to wait for reading when everything is sent."""
        try:
            state = next(gen)
            while True:
                if state == Wait.R and moment != "before" and next(numbers) == step:
                    if moment == "answered":
                        select.select([descriptor], [], [])
                    os.kill(os.getpid(), signal.SIGKILL)
                state = gen.send((yield state))
        except StopIteration as ended:
            return ended.value

    setattr(TimedConnection, "wait", counted)  # noqa: B010 - a seam for the proof, not a value


def kill_at_statement(url: str, operation: str, session_id: str, *, step: int, moment: str, place: str) -> Answer:
    """Fork a process that makes one operation and dies at a statement of it; it ends with 0 if there are fewer."""

    def work(notify: Notify) -> None:
        store = PostgresStore(url)
        if operation in WRITING:
            with store.open(session_id, timeout_seconds=0) as writer:
                die_at(step, moment)
                WRITING[operation](writer)
                notify("done")
        elif operation == "convert":
            die_at(step, moment)
            copy(JournalStore(place), session_id, store)
            notify("done")
        else:
            die_at(step, moment)
            operate_on(store, operation, session_id, notify)

    child, pipe = fork(work)
    heard = read_rest(pipe)
    _, status = os.waitpid(child, 0)
    return {"acknowledged": heard.decode().splitlines(), "signal": os.waitstatus_to_exitcode(status)}


def kill_while_writing(url: str, session_id: str, seed: int) -> Answer:
    """Fork a writer that appends without end, and kill it at some moment: what it acknowledged until then."""
    chance = random.Random(seed)
    child, pipe = fork(lambda notify: append_forever(url, session_id, seed, notify))
    heard = b""
    for _ in range(chance.randrange(4)):
        heard += os.read(pipe, 4096)
    select.select([], [], [], chance.random() * chance.choice([0.001, 0.005, 0.02]))
    os.kill(child, signal.SIGKILL)
    heard += read_rest(pipe)
    _, status = os.waitpid(child, 0)
    return {"acknowledged": heard.decode().splitlines(), "signal": os.waitstatus_to_exitcode(status)}


def append_forever(url: str, session_id: str, seed: int, notify: Notify) -> None:
    chance = random.Random(seed)
    with PostgresStore(url).open(session_id, timeout_seconds=0) as writer:
        for number in range(1 << 30):
            size = chance.choice([1, 1, 3])
            ids = [f"{seed}.{number}.{at}of{size}" for at in range(1, size + 1)]
            writer.append(*(turn(number, "x" * chance.randrange(9000), id=id) for id in ids), ids_are_new=True)
            notify(" ".join(ids))


def plant(bug: str) -> Answer:
    """Break the code of this process, and of all it forks."""
    from tests.support.postgres_bugs import BUGS

    for place, name, value in BUGS[bug]():
        setattr(place, name, value)
    return {}


COMMANDS: dict[str, Callable[..., Answer]] = {
    "kill_at_statement": kill_at_statement,
    "kill_while_writing": kill_while_writing,
    "plant": plant,
}

if __name__ == "__main__":
    serve(COMMANDS)
