"""Our store against the one in memory of Pydantic AI: the same calls give the same results and the same errors."""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID, uuid4

import pytest
from hypothesis import Phase, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pydantic_ai import Conversation, conversation_store
from pydantic_ai._uuid import uuid7
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord, InMemoryConversationStore
from pydantic_ai.messages import (
    BinaryImage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.usage import RequestUsage, RunUsage

from tests.bridges.pydantic_ai.stores import entries_shown, session_of, store_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from pydantic_ai.conversation_store import ConversationStore
    from pydantic_ai.messages import ModelMessage

TIME = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
NAMES = ("a", "b", "ü/ ..", "x" * 300, "e", "f")
PICKS = st.integers(0, 23)
"""Mostly one of the conversations that there are, or one of the entries that one of them has."""
WAYS = st.sampled_from(["at", "at", "entry", "entry", "other entry", "far", "both", "neither"])
SCOPES = st.sampled_from([None, None, "anna", "bert"])
LIMITS = st.sampled_from([None, 0, 1, 2, 3, 100, -1])
TEXTS = st.sampled_from(["hello", "", "über\nlines", "lone \ud800 half", "nul \x00", "large"]).map(
    lambda text: text * 15_000 if text == "large" else text
)

REQUESTS = st.lists(
    st.one_of(
        st.builds(UserPromptPart, TEXTS, timestamp=st.just(TIME)),
        st.builds(SystemPromptPart, TEXTS, timestamp=st.just(TIME)),
        st.builds(ToolReturnPart, st.just("tool"), TEXTS, st.just("call-1"), timestamp=st.just(TIME)),
        st.builds(
            lambda text: UserPromptPart(
                [text, BinaryImage(b"\xff\x00" * 40_000, media_type="image/png")], timestamp=TIME
            ),
            TEXTS,
        ),
    ),
    max_size=3,
).map(lambda parts: ModelRequest(parts=parts, timestamp=TIME))
RESPONSES = st.lists(
    st.one_of(
        st.builds(TextPart, TEXTS),
        st.builds(ThinkingPart, TEXTS),
        st.builds(
            ToolCallPart, st.just("tool"), st.sampled_from(['{"x": 1}', "{broken", {"y": [1, None]}]), st.just("call-1")
        ),
    ),
    max_size=3,
).map(
    lambda parts: ModelResponse(
        parts=parts, timestamp=TIME, model_name="m", usage=RequestUsage(input_tokens=3, output_tokens=2)
    )
)
MESSAGE: st.SearchStrategy[ModelMessage] = st.one_of(REQUESTS, RESPONSES)
MESSAGES = st.lists(MESSAGE, min_size=1, max_size=3) | st.lists(MESSAGE, max_size=0)
DEFERRED = st.sampled_from(
    [
        None,
        DeferredToolRequests(
            approvals=[ToolCallPart("tool", {"x": 1}, "call-1")], metadata={"call-1": {"why": ["it", {"is": "large"}]}}
        ),
    ]
)


class SameIds:
    """The ids that the framework makes, the same for each of the stores that one operation is tried on."""

    def __init__(self) -> None:
        self._made: list[UUID] = []
        self._next = 0

    def begin(self) -> None:
        self._made.clear()

    def again(self) -> None:
        self._next = 0

    def __call__(self) -> UUID:
        if self._next == len(self._made):
            self._made.append(uuid7())
        self._next += 1
        return self._made[self._next - 1]


class BothStores(RuleBasedStateMachine):
    """`self.held` are conversations as the caller has them: for each the one of memory, and ours."""

    url: ClassVar[str] = ""
    same_ids: ClassVar[SameIds] = SameIds()

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder: tempfile.TemporaryDirectory[str] | None = None if self.url else tempfile.TemporaryDirectory()
        url = self.url or f"journal:{self.folder.name if self.folder else ''}"
        world = uuid4().hex
        self.memory = InMemoryConversationStore()
        self.ours = [store_in(url, world) for _ in range(2)]
        self.held: list[tuple[Conversation, Conversation]] = []
        self.entry_ids: list[str] = []
        self.touched: set[str] = set()
        self.loose: set[str] = set()  # what no history reaches any more, though its conversation was not deleted

    def teardown(self) -> None:
        for conversation_id in list(self.memory._records):
            self._compare(conversation_id)
        for store in self.ours:
            store.close()
        self.loop.close()
        if self.folder is not None:
            self.folder.cleanup()

    def both(self, which: int, call: Callable[[ConversationStore, int], Awaitable[object]]) -> tuple[object, object]:
        """Call it on both; the results, which are equal, or the errors, which are too."""
        self.same_ids.begin()
        found = []
        for side, store in enumerate((self.memory, self.ours[which])):
            self.same_ids.again()
            found.append(self.loop.run_until_complete(_result(call(store, side))))
        assert _plain(found[1]) == _plain(found[0])
        return found[0], found[1]

    # What applications call

    @precondition(lambda self: self.memory._records)
    @rule(which=st.integers(0, 1), pick=PICKS, limit=LIMITS, scope=SCOPES)
    def load(self, *, which: int, pick: int, limit: int | None, scope: str | None) -> None:
        id = self._name(pick)
        self._hold(self.both(which, lambda store, _: store.load(id, limit=limit, scope=scope)))

    @rule(which=st.integers(0, 1), id=st.sampled_from(NAMES), messages=MESSAGES, scope=SCOPES, deferred=DEFERRED)
    def save_a_new_one(
        self,
        *,
        which: int,
        id: str,
        messages: list[ModelMessage],
        scope: str | None,
        deferred: DeferredToolRequests | None,
    ) -> None:
        one = Conversation(conversation_id=id, messages=messages, deferred_tool_requests=deferred)
        self.held.append((one, deepcopy(one)))
        self._save(which, len(self.held) - 1, scope)

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 1), at=st.integers(0, 99), messages=MESSAGES, scope=SCOPES, requests=st.integers(0, 3))
    def continue_one(
        self, *, which: int, at: int, messages: list[ModelMessage], scope: str | None, requests: int
    ) -> None:
        at %= len(self.held)
        for conversation in self.held[at]:
            conversation.messages = [*conversation.messages, *deepcopy(messages)]
            conversation.usage = conversation.usage + RunUsage(requests=requests, input_tokens=7)
        self._save(which, at, scope)

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 1), at=st.integers(0, 99), keep=st.integers(0, 5), messages=MESSAGES)
    def rewrite_one(self, *, which: int, at: int, keep: int, messages: list[ModelMessage]) -> None:
        at %= len(self.held)
        for conversation in self.held[at]:
            conversation.messages = [*conversation.messages[:keep], *deepcopy(messages)]
            conversation.new_message_index = None
        self._save(which, at, None)

    def _save(self, which: int, at: int, scope: str | None) -> None:
        id = self.held[at][0].conversation_id
        self.touched.add(id)
        found, _ = self.both(which, lambda store, side: store.save(self.held[at][side], scope=scope))
        if isinstance(found, list):
            self.entry_ids += [entry.id for entry in found]
        assert self.held[at][0].revision == self.held[at][1].revision

    @precondition(lambda self: self.memory._records)
    @rule(which=st.integers(0, 1), pick=PICKS, way=WAYS, number=PICKS, is_right=st.integers(0, 5))
    def branch(self, *, which: int, pick: int, way: str, number: int, is_right: int) -> None:
        id = self._name(pick)
        stored = self.memory._records.get(id)
        revision = stored.revision if stored is not None and is_right < 5 else "wrong"
        at, from_entry = self._point(id, way, number)
        self.touched.add(id)
        self._hold(
            self.both(
                which, lambda store, _: store.branch(id, at=at, from_entry=from_entry, expected_revision=revision)
            )
        )

    @precondition(lambda self: self.memory._records)
    @rule(
        which=st.integers(0, 1),
        pick=PICKS,
        new=st.sampled_from(NAMES),
        way=WAYS,
        number=PICKS,
        scope=SCOPES,
        source_scope=st.sampled_from([None, None, None, "anna"]),
    )
    def fork(
        self, *, which: int, pick: int, new: str, way: str, number: int, scope: str | None, source_scope: str | None
    ) -> None:
        id = self._name(pick)
        at, from_entry = self._point(id, way, number)
        self.touched.add(new)
        self._hold(
            self.both(
                which,
                lambda store, _: store.fork(
                    id, at=at, from_entry=from_entry, new_conversation_id=new, scope=scope, source_scope=source_scope
                ),
            )
        )

    @precondition(lambda self: self.memory._records)
    @rule(which=st.integers(0, 1), pick=PICKS, scope=SCOPES)
    def delete(self, *, which: int, pick: int, scope: str | None) -> None:
        assume(pick % 4 == 3)  # else there is never much
        id = self._name(pick)
        self.both(which, lambda store, _: store.delete(id, scope=scope))

    @rule(which=st.integers(0, 1), scope=SCOPES, limit=LIMITS)
    def list_conversations(self, *, which: int, scope: str | None, limit: int | None) -> None:
        self.both(which, lambda store, _: store.list_conversations(scope=scope, limit=limit))

    # What the framework calls

    @rule(
        which=st.integers(0, 1),
        pick=PICKS,
        parent=st.none() | PICKS,
        messages=MESSAGES,
        head=st.sampled_from(["last", "first", "parent", "none", "unknown"]),
        revision=st.sampled_from(["right", "right", "right", "wrong", "none"]),
        keeps_branches=st.booleans(),
        left=st.none() | PICKS,
        hours=st.integers(0, 3),
        scope=SCOPES,
    )
    def write_record(
        self,
        *,
        which: int,
        pick: int,
        parent: int | None,
        messages: list[ModelMessage],
        head: str,
        revision: str,
        hours: int,
        scope: str | None,
        keeps_branches: bool,
        left: int | None,
    ) -> None:
        """Entries after any other one, of any conversation; and a head that is one of them, or elsewhere."""
        id = self._name(pick)
        parent_id = self._entry(parent)
        assume(parent_id not in self.loose and (parent_id is None or parent_id in self.memory._entries))
        stored = self.memory._records.get(id)
        entries: list[ConversationEntry] = []
        for message in messages:
            before = entries[-1].id if entries else parent_id
            entries.append(ConversationEntry(id=f"own-{uuid4().hex}", parent_id=before, message=message))
        ids = [entry.id for entry in entries]
        branches = [*stored.branches, stored.head_id] if stored is not None and keeps_branches else []
        if (other := self._entry(left)) not in self.loose and other in self.memory._entries:
            branches.append(other)  # which may be of another conversation
        record = ConversationRecord(
            conversation_id=id,
            head_id={
                "last": ids[-1] if ids else parent_id,
                "first": ids[0] if ids else None,
                "parent": parent_id,
                "none": None,
                "unknown": "nowhere",
            }[head],
            scope=scope,
            branches=[tip for tip in branches if tip is not None],
            updated_at=TIME + timedelta(hours=hours),
            revision=f"revision-{uuid4().hex}",
        )
        right = stored.revision if stored is not None else None
        expected = {"right": right, "wrong": "wrong", "none": None}[revision]
        reached = self._reachable()
        self.touched.add(id)
        self.both(which, lambda store, _: store.write_record(record, new_entries=entries, expected_revision=expected))
        self.entry_ids += [entry.id for entry in entries]
        self.loose |= (reached | {entry.id for entry in entries}) - self._reachable()
        self.loose -= self._reachable()

    @precondition(lambda self: self.memory._records)
    @rule(which=st.integers(0, 1), pick=PICKS, is_right=st.booleans())
    def delete_record(self, *, which: int, pick: int, is_right: bool) -> None:
        stored = self.memory._records.get(id := self._name(pick))
        assume(pick % 4 == 3 or not is_right)
        revision = stored.revision if stored is not None and is_right else "wrong"
        self.both(which, lambda store, _: store.delete_record(id, expected_revision=revision))

    @rule(which=st.integers(0, 1), entry=PICKS, limit=LIMITS)
    def read_entry(self, *, which: int, entry: int, limit: int | None) -> None:
        entry_id = self._entry(entry)
        assume(entry_id not in self.loose)
        self.both(which, lambda store, _: store.read_entry(entry_id or "nowhere"))
        self.both(which, lambda store, _: store.read_history(entry_id, limit=limit))

    @initialize()
    def begin(self) -> None:
        self.both(0, lambda store, _: store.list_conversations())

    @invariant()
    def what_was_touched_is_the_same(self) -> None:
        for conversation_id in self.touched:
            self._compare(conversation_id)
        self.touched.clear()

    def _compare(self, conversation_id: str) -> None:
        for which in (0, 1):
            self.both(which, lambda store, _: store.read_record(conversation_id))
        found, _ = self.both(0, lambda store, _: store.load_entries(conversation_id))
        self.both(1, lambda store, _: store.load_entries(conversation_id))
        if isinstance(found, list):
            shown = entries_shown(session_of(self.ours[0], conversation_id))
            assert shown == [entry.id for entry in found], "the active branch of the session is not the history"

    def _hold(self, found: tuple[object, object]) -> None:
        one, other = found
        if isinstance(one, Conversation) and isinstance(other, Conversation):
            self.held.append((one, other))

    def _name(self, pick: int) -> str:
        names = list(self.memory._records)
        return names[pick % len(names)] if names and pick % 6 < 5 else NAMES[pick % len(NAMES)]

    def _entry(self, number: int | None) -> str | None:
        return None if number is None or not self.entry_ids else self.entry_ids[-1 - number % len(self.entry_ids)]

    def _point(self, id: str, way: str, number: int) -> tuple[int | None, str | None]:
        """Where to branch or fork: after so many messages, or after an entry of the conversation, or wrong."""
        record = self.memory._records.get(id)
        known = sorted(self._reachable([record])) if record is not None else []
        inside = known[number % len(known)] if known else "nowhere"
        match way:
            case "at":
                return number % (1 + len(self._line(record))), None
            case "entry":
                return None, inside
            case "other entry":
                return None, self._entry(number)
            case "far":
                return number - 20, None
            case "both":
                return 1, inside
        return None, None

    def _line(self, record: ConversationRecord | None) -> list[str]:
        found: list[str] = []
        entry_id = None if record is None else record.head_id
        while entry_id is not None:
            found.append(entry_id)
            entry_id = self.memory._entries[entry_id].parent_id
        return found

    def _reachable(self, records: Iterable[ConversationRecord] | None = None) -> set[str]:
        found: set[str] = set()
        for record in self.memory._records.values() if records is None else records:
            for tip in (record.head_id, *record.branches):
                entry_id = tip
                while entry_id is not None and entry_id not in found:
                    found.add(entry_id)
                    entry_id = self.memory._entries[entry_id].parent_id
        return found


async def _result(call: Awaitable[object]) -> object:
    try:
        return await call
    except Exception as error:  # noqa: BLE001 - every error is compared
        return error


def _plain(value: object) -> object:
    """What can be compared: errors by their type and text, and no times that the framework took itself."""
    if isinstance(value, KeyError):
        return KeyError  # ours has a text
    if isinstance(value, Exception):
        return type(value), str(value)
    if isinstance(value, ConversationRecord):
        return dataclasses.replace(
            value, updated_at=TIME if value.updated_at > TIME + timedelta(days=1) else value.updated_at
        )
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


@pytest.fixture(autouse=True)
def _same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_store, "uuid7", BothStores.same_ids)


class TestBothStores(BothStores.TestCase):  # type: ignore[misc, valid-type]  # made by Hypothesis
    settings = settings(stateful_step_count=30)


class OnPostgres(BothStores):
    pass


class TestOnPostgres(OnPostgres.TestCase):  # type: ignore[misc, valid-type]  # made by Hypothesis
    settings = settings(
        max_examples=max(3, settings().max_examples // 10),
        stateful_step_count=20,
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
    )

    @pytest.fixture(autouse=True)
    def _place(self, postgres_url: str) -> None:
        OnPostgres.url = postgres_url
