"""Processes that use a store in Postgres at our command, and die or stop in the middle of it.

Run as `python -m tests.support.postgres_workers`; see `tests.support.processes`.
"""

from __future__ import annotations

import os
import random
import select
import signal
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue import clock
from segue.errors import SegueError
from segue.stores.journal import JournalStore
from segue.stores.postgres.store import PostgresStore
from segue.transfer.convert import Converted, copy
from segue.transfer.convert_many import copy_all
from tests.support.journals import turn
from tests.support.postgres_breaks import Breaks, die
from tests.support.postgres_bugs import BUGS
from tests.support.postgres_operations import WRITING, Notify
from tests.support.postgres_operations import operate as operate_on
from tests.support.processes import Answer, fork, read_rest, serve

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from segue.store import Writer


def kill_at_statement(url: str, operation: str, session_id: str, *, step: int, moment: str, place: str) -> Answer:
    """Fork a process that makes one operation and dies at a statement of it; it ends with 0 if there are fewer."""

    def work(notify: Notify) -> None:
        store = PostgresStore(url)
        if operation in WRITING:
            with store.open(session_id, timeout_seconds=0) as writer:
                Breaks(die).arm(step, moment)
                WRITING[operation](writer)
                notify("done")
        elif operation == "convert":
            Breaks(die).arm(step, moment)
            copy(JournalStore(place), session_id, store)
            notify("done")
        elif operation == "convert all":
            Breaks(die).arm(step, moment)
            for copied in copy_all(JournalStore(place), store, [session_id, f"{session_id}-too"]):
                assert isinstance(copied, Converted), copied
            notify("done")
        else:
            Breaks(die).arm(step, moment)
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


_held: dict[str, Writer] = {}
"""The writer that this process has between two commands."""


def set_clock(hours: int) -> Answer:
    """From now on the clock of this process is so many hours off, for whoever asks it."""
    real = time.time

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(hours=hours)

    setattr(time, "time", lambda: real() + hours * 3600)  # noqa: B010 - a clock is set, not a value
    setattr(clock, "datetime", Clock)  # noqa: B010
    return {}


def open_writer(url: str, session_id: str, timeout: float = 60) -> Answer:
    return _answer(lambda: _held.update(writer=PostgresStore(url).open(session_id, timeout_seconds=timeout)))


def append(ids: list[str]) -> Answer:
    moment = clock.utc_now()
    events = [replace(turn(number, id=id), timestamp=moment) for number, id in enumerate(ids, start=1)]
    return _answer(lambda: _held["writer"].append(*events, ids_are_new=True))


def close_writer() -> Answer:
    return _answer(lambda: _held.pop("writer").close())


def _answer(call: Callable[[], object]) -> Answer:
    """The error of a call, with its fields; nothing if there was none."""
    try:
        call()
    except SegueError as error:
        who = {name: getattr(error, name, None) for name in ("pid", "host")}
        return {"error": type(error).__name__, "text": str(error), **who}
    return {}


def plant(bug: str) -> Answer:
    """Break the code of this process, and of all it forks."""
    BUGS[bug](setattr)
    return {}


COMMANDS: dict[str, Callable[..., Answer]] = {
    "kill_at_statement": kill_at_statement,
    "kill_while_writing": kill_while_writing,
    "set_clock": set_clock,
    "open_writer": open_writer,
    "append": append,
    "close_writer": close_writer,
    "plant": plant,
}

if __name__ == "__main__":
    serve(COMMANDS)
