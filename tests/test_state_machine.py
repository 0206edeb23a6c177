"""The journal against the memory store: the same operations, with crashes and power cuts, give the same sessions."""

from __future__ import annotations

import re
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from segue.errors import SegueError
from segue.library import Library
from segue.model import Decision, Event, Head, Session, Turn, Unknown
from segue.testing.events import START
from segue.testing.harness_journal import JournalHarness
from segue.testing.harness_memory import MemoryHarness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from segue.model import JsonObject, Status
    from segue.session import LiveSession
    from segue.testing.harness import Harness

IDS = st.sampled_from(["a", "ab", "abc", "b"])
BRANCHES = st.sampled_from(["main", "x", "y", "nowhere"])
EVENT_IDS = st.sampled_from([f"own-{number}" for number in range(6)])


def unpaired(text: str) -> str:
    """Without surrogate pairs: JSON cannot tell them from the character that they encode."""
    return re.sub("([\ud800-\udbff])([\udc00-\udfff])", r"\1 \2", text)


TEXTS = st.one_of(
    st.sampled_from(["", "\n", "\u2028\u2029\x85", "\0", "\ud83d", "\udc80", "x" * 5000, '"}\n{"type":"turn"']),
    st.text(st.characters(), max_size=20).map(unpaired),
)
JSON: st.SearchStrategy[JsonObject] = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


class Side:
    """One store with a library over it, and the sessions that are open in it."""

    def __init__(self, harness: Harness, clock: Callable[[], datetime]) -> None:
        self.harness = harness
        self.clock = clock
        self.library = Library(harness.make(), clock=clock)
        self.open: dict[str, LiveSession] = {}

    def reopen(self) -> None:
        """Another store object on the same place, where there is a place."""
        if self.library.store.capabilities.shared:
            self.library.close()
            self.library = Library(self.harness.make(), clock=self.clock)


class TwoStores(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._now = START
        self.journal = Side(JournalHarness(Path(self._folder.name)), self.now)
        self.memory = Side(MemoryHarness(), self.now)

    def now(self) -> datetime:
        return self._now

    def teardown(self) -> None:
        for side in (self.journal, self.memory):
            for session in side.open.values():
                session.release()
        self._folder.cleanup()

    def both(self, do: Callable[[Side], object]) -> object:
        """The same on both sides: an equal answer, or an error of the same kind."""
        self._now += timedelta(seconds=1)
        answers = []
        for side in (self.journal, self.memory):
            try:
                answer = do(side)
            except SegueError as error:
                answer = type(error)
            answers.append(answer)
        found, expected = answers
        assert _seqs(found) == _seqs(expected)
        return found

    def write(self, id: str, do: Callable[[LiveSession], object]) -> None:
        if id in self.journal.open:
            self.both(lambda side: do(side.open[id]))

    # ── Coming and going ─────────────────────────────────────────────────────────────────────────────────────────────

    @initialize(id=IDS, title=TEXTS)
    def begin(self, id: str, title: str) -> None:
        self.create(id, "agent", title, [])

    @rule(id=IDS, agent=TEXTS, title=TEXTS, tags=st.lists(TEXTS, max_size=2))
    def create(self, id: str, agent: str, title: str, tags: list[str]) -> None:
        self.both(lambda side: _hold(side, id, lambda: side.library.create(id=id, agent=agent, title=title, tags=tags)))

    @rule(id=IDS)
    def open_exactly(self, id: str) -> None:
        if id in set(self.memory.library.store.ids()):
            self.both(lambda side: _hold(side, id, lambda: side.library.open(id, timeout_seconds=0)))

    @rule(id=IDS, force=st.booleans())
    def resume(self, id: str, force: bool) -> None:  # noqa: FBT001 - drawn
        if id in set(self.memory.library.store.ids()):
            self.both(lambda side: _hold(side, id, lambda: side.library.resume(id, force=force, timeout_seconds=0)))

    @rule(id=IDS)
    def close(self, id: str) -> None:
        self.both(lambda side: side.open.pop(id).close() if id in side.open else None)

    @rule(id=IDS)
    def release(self, id: str) -> None:
        self.both(lambda side: side.open.pop(id).release() if id in side.open else None)

    @rule(id=IDS)
    def delete(self, id: str) -> None:
        self.both(lambda side: side.library.delete(id))

    @rule()
    def reopen(self) -> None:
        self.journal.reopen()

    @rule(power=st.booleans())
    def crash(self, power: bool) -> None:  # noqa: FBT001 - drawn
        """Memory has nothing to come back to, so there the writers merely let go."""
        (self.journal.harness.power_cut if power else self.journal.harness.kill)()
        self.journal.open.clear()
        self.journal.reopen()
        for session in self.memory.open.values():
            session.release()
        self.memory.open.clear()

    @rule(id=IDS, text=TEXTS)
    def tear(self, id: str, text: str) -> None:
        if id in set(self.memory.library.store.ids()) - set(self.memory.open):
            self.journal.harness.tear(id, _turn("torn", text, self._now))

    # ── Recording ────────────────────────────────────────────────────────────────────────────────────────────────────

    @rule(
        id=IDS,
        said=st.tuples(st.sampled_from(["user", "assistant", "tool", "robot"]), TEXTS),
        tokens=st.none() | st.integers(-1, 2**63 - 1),
        native=st.none() | JSON,
        own=st.none() | EVENT_IDS,
    )
    def add(
        self, id: str, said: tuple[str, str], tokens: int | None, native: JsonObject | None, own: str | None
    ) -> None:
        self.write(id, lambda session: session.add(*said, tokens=tokens, native=native, id=own))

    @rule(id=IDS, events=st.lists(st.tuples(EVENT_IDS, st.sampled_from("tdu"), st.sampled_from(["", "x"])), max_size=4))
    def record(self, id: str, events: list[tuple[str, str, str]]) -> None:
        """Ids meet again here, sometimes with other content; times are fixed, so that a retry is a retry."""
        made = [_event(own, kind, text) for own, kind, text in events]
        self.write(id, lambda session: session.record(*made))

    @rule(id=IDS, at=st.none() | st.integers(-1, 6), name=st.none() | BRANCHES, switch=st.booleans())
    def fork(self, id: str, at: int | None, name: str | None, switch: bool) -> None:  # noqa: FBT001 - drawn
        self.write(id, lambda session: session.fork(at=at, name=name, switch=switch))

    @rule(id=IDS, branch=BRANCHES)
    def switch(self, id: str, branch: str) -> None:
        self.write(id, lambda session: session.switch(branch))

    @rule(id=IDS, text=TEXTS)
    def rename(self, id: str, text: str) -> None:
        self.write(id, lambda session: session.rename(text))

    @rule(id=IDS, add=st.lists(TEXTS, max_size=2), remove=st.lists(TEXTS, max_size=2))
    def tag(self, id: str, add: list[str], remove: list[str]) -> None:
        self.write(id, lambda session: session.tag(*add, remove=remove))

    @rule(id=IDS, text=TEXTS)
    def summarize(self, id: str, text: str) -> None:
        self.write(id, lambda session: session.summarize(text))

    @rule(id=IDS, text=TEXTS, source=TEXTS)
    def decide(self, id: str, text: str, source: str) -> None:
        self.write(id, lambda session: session.decide(text, tags=[source], source=source))

    @rule(id=IDS, text=TEXTS, task=st.none() | TEXTS)
    def learn(self, id: str, text: str, task: str | None) -> None:
        self.write(id, lambda session: session.learn(text, task_id=task))

    @rule(id=IDS, text=TEXTS)
    def note_pattern(self, id: str, text: str) -> None:
        self.write(id, lambda session: session.note_pattern(text, text))

    @rule(id=IDS, path=TEXTS, data=st.binary(max_size=50))
    def attach(self, id: str, path: str, data: bytes) -> None:
        self.write(id, lambda session: session.attach(path, data))

    @rule(id=IDS, values=JSON)
    def set_scope(self, id: str, values: JsonObject) -> None:
        self.write(id, lambda session: session.set_scope(values))

    @rule(id=IDS, name=TEXTS, hash=TEXTS)
    def use_preset(self, id: str, name: str, hash: str) -> None:
        self.write(id, lambda session: session.use_preset(name, hash=hash))

    @rule(id=IDS, values=JSON)
    def override(self, id: str, values: JsonObject) -> None:
        self.write(id, lambda session: session.set_overrides(values))

    @rule(id=IDS, task=TEXTS)
    def finish_task(self, id: str, task: str) -> None:
        self.write(id, lambda session: session.finish_task(task))

    @rule(id=IDS, word=st.sampled_from(["pause", "complete", "resume", "override"]))
    def change_status(self, id: str, word: str) -> None:
        def change(session: LiveSession) -> Status:
            if word == "override":
                session.resume(force=True)
            else:
                getattr(session, word)()
            return session.status

        self.write(id, change)

    # ── Comparing ────────────────────────────────────────────────────────────────────────────────────────────────────

    @rule(id=IDS, count=st.integers(-1, 8), branch=st.none() | BRANCHES)
    def tail(self, id: str, count: int, branch: str | None) -> None:
        self.both(lambda side: _plain(side.library.store.tail(id, count, branch=branch)))

    @rule(id=IDS, after=st.integers(0, 12))
    def read(self, id: str, after: int) -> None:
        self.both(lambda side: _plain(side.library.store.read(id, after=after)))

    @rule(prefix=st.sampled_from(["a", "ab", "abc", "abcd", "b"]))
    def resolve(self, prefix: str) -> None:
        self.both(lambda side: side.library.resolve(prefix))

    @invariant()
    def both_hold_the_same(self) -> None:
        ours, theirs = self.journal.library, self.memory.library
        assert _undated(ours.list()) == _undated(theirs.list())
        assert sorted(ours.store.ids()) == sorted(theirs.store.ids())
        assert sorted(self.journal.open) == sorted(self.memory.open)
        for id in list(theirs.store.ids()):
            session = _without_ids(ours.store.load(id))
            assert session == _without_ids(theirs.store.load(id))
            assert _undated([ours.store.head(id)]) == _undated([theirs.store.head(id)])
            is_open = id in self.memory.open
            assert [library.store.owner(id) is not None for library in (ours, theirs)] == [is_open, is_open]
            assert _plain(ours.store.tail(id, 3)) == list(session.turns[-3:])
            assert ours.store.examine(id).damages == ()
            for attachment in session.attachments:
                assert ours.store.get_blob(id, attachment.hash) == theirs.store.get_blob(id, attachment.hash)
        for id, live in self.memory.open.items():
            assert self.journal.open[id].status == live.status
            assert self.journal.open[id].branch == live.branch


def _hold(side: Side, id: str, get: Callable[[], LiveSession]) -> str:
    session = get()
    side.open[id] = session
    return session.status


def _turn(own: str, text: str, when: datetime) -> Turn:
    return Turn(role="user", content=text, timestamp=when, tokens=None, id=own)


def _event(own: str, kind: str, text: str) -> Event:
    match kind:
        case "t":
            return _turn(own, text, START)
        case "d":
            return Decision(content=text, timestamp=START, id=own)
    return Unknown(type="weather", data={"sky": text}, id=own)


def _seqs(answer: object) -> object:
    """What two receipts must agree on: the stores promise different things."""
    return getattr(answer, "seqs", answer)


def _undated(heads: Iterable[Head]) -> dict[str, Head]:
    """By id, and without the last activity: files have times of their own."""
    return {head.id: replace(head, updated_at=START) for head in heads}


def _plain(events: Iterable[Event]) -> list[Event]:
    """The ids that a live session makes up are random; those of our own are not."""
    return [event if event.id.startswith("own-") else replace(event, id="made-up") for event in events]


def _without_ids(session: Session) -> Session:
    own = {name: tuple(_plain(turns)) for name, turns in session.own_turns.items()}
    kept = ("decisions", "learnings", "patterns", "attachments", "tasks_done")
    lists = {name: tuple(_plain(getattr(session, name))) for name in kept}
    preset = _plain([session.preset])[0] if session.preset is not None else None
    return replace(session, own_turns=own, preset=preset, **lists)


TestTwoStores = TwoStores.TestCase
