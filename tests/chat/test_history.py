"""A long conversation: what is held of it, and what a question costs there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.chat.context.tokens import Estimate
from segue.chat.context.window import HELD_FIRST, HELD_LAST, RecentTurns, fit
from segue.library import Library
from segue.store import Durability
from segue.stores.journal import JournalStore
from segue.testing.failing import WatchedKernel
from tests.support.scripted_agent import ScriptedAgent, talk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.session import LiveSession

BUDGET = 1000


class MeasuringKernel(WatchedKernel):
    """Adds up what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes_read = 0

    def pass_on(self, name: str, call: Callable[..., object], *args: object) -> object:
        found = call(*args)
        if name == "pread" and isinstance(found, bytes):
            self.bytes_read += len(found)
        return found


def fill(session: LiveSession, count: int, size: int = 40) -> None:
    for number in range(count):
        session.add("user" if number % 2 == 0 else "assistant", f"{number} ".ljust(size, "x"))


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(JournalStore(str(tmp_path), durability=Durability.WRITTEN))


@pytest.mark.parametrize("count", [0, 1, 5, 60, 64, 65, 80, 81, 200, 700])
def test_the_window_is_that_of_the_whole_conversation(library: Library, count: int) -> None:
    with library.create(id="talk") as session:
        fill(session, count)
        whole = fit(session.turns, budget=BUDGET, counter=Estimate())
        assert RecentTurns(session, budget=BUDGET, counter=Estimate()).window(reserved=0) == whole


def test_it_stays_that_of_the_whole_while_the_conversation_grows_and_branches(library: Library) -> None:
    with library.create(id="talk") as session:
        history = RecentTurns(session, budget=BUDGET, counter=Estimate())
        for step in range(60):
            fill(session, (1, 3, 7, 90)[step % 4] if step > 40 else 2)
            match step:
                case 30 | 50:
                    session.fork(at=step // 2)
                case 35:
                    session.fork(at=0)
                case 40 | 55:
                    session.switch("main")
            assert history.window(reserved=0) == fit(session.turns, budget=BUDGET, counter=Estimate())
            assert history.newest == next(iter(session.tail(1)), None)


@pytest.mark.parametrize("count", [63, 64, 65, 79, 80, 81, 82])
@pytest.mark.parametrize("size", [4, 400])
def test_it_stays_that_of_the_whole_wherever_it_was_opened(library: Library, count: int, size: int) -> None:
    with library.create(id="talk") as session:
        fill(session, count, size)
        history = RecentTurns(session, budget=BUDGET, counter=Estimate())
        for _ in range(30):
            assert history.window(reserved=0) == fit(session.turns, budget=BUDGET, counter=Estimate())
            fill(session, 1, size)


def test_of_a_long_conversation_only_its_beginning_and_its_end_are_held(library: Library) -> None:
    with library.create(id="talk") as session:
        history = RecentTurns(session, budget=BUDGET, counter=Estimate())
        for _ in range(20):
            fill(session, 30)
            history.window(reserved=0)
        assert (len(history._first), len(history._last)) == (HELD_FIRST, HELD_LAST)
        assert history._unseen == 600 - HELD_FIRST - HELD_LAST


def test_a_question_in_a_long_session_reads_no_more_than_one_in_a_short_session(tmp_path: Path) -> None:
    read: dict[int, tuple[int, int]] = {}
    for count in (200, 4000):
        kernel = MeasuringKernel()
        root = tmp_path / str(count)
        store = JournalStore(str(root), durability=Durability.WRITTEN, kernel=kernel)
        with Library(store).create(id="talk") as session:
            fill(session, count)
        kernel.bytes_read = 0
        with Library(store).resume("talk") as session:
            conversation = talk(session, ScriptedAgent(), max_tokens=BUDGET)
            list(conversation.ask("one"))
            first = kernel.bytes_read
            list(conversation.ask("two"))
            read[count] = first, kernel.bytes_read - first
    assert (tmp_path / "4000" / "talk.jsonl").stat().st_size > 400_000
    assert read[4000][0] <= read[200][0] * 2 < 200_000
    assert read[4000][1] <= 40_000


def test_the_first_turns_of_a_branch_are_those_of_its_path(library: Library) -> None:
    with library.create(id="talk") as session:
        fill(session, 30)
        session.fork(at=3, name="short")
        fill(session, 5)
        session.fork(at=1, name="shorter")
        fill(session, 2)
        session.fork(at=0, name="empty")
        fill(session, 2)
        for name in ("main", "short", "shorter", "empty"):
            session.switch(name)
            for count in (0, 1, 2, 4, 8, 100):
                assert session.first(count) == session.turns[:count]


def test_reading_from_the_beginning_stops_where_the_reader_does(tmp_path: Path) -> None:
    kernel = MeasuringKernel()
    store = JournalStore(str(tmp_path), durability=Durability.WRITTEN, kernel=kernel)
    with Library(store).create(id="talk") as session:
        fill(session, 2000)
    kernel.bytes_read = 0
    events = store.read("talk")
    assert [next(events).seq for _ in range(3)] == [1, 2, 3]
    assert kernel.bytes_read < 20_000
    assert [event.seq for event in events] == list(range(4, 2003))
