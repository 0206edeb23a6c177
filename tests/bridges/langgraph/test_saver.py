"""The contract of a checkpointer, by LangGraph's own conformance suite and beyond it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.types import INTERRUPT, _DeltaSnapshot

from segue.bridges.langgraph import SegueSaver
from segue.bridges.langgraph.draft import WINDOW
from segue.bridges.langgraph.thread import POINTERS
from segue.bridges.langgraph.values import INLINE_BYTES
from segue.errors import DamagedError, SessionExistsError, SessionLockedError
from segue.model import Record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from langchain_core.runnables import RunnableConfig

    from segue.model import Event


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"journal:{tmp_path}/agents"


@pytest.fixture
def saver(url: str) -> Iterator[SegueSaver]:
    with SegueSaver(url, wait_seconds=0.2) as saver:
        yield saver


def place(thread: str = "t", ns: str = "", checkpoint: str | None = None) -> RunnableConfig:
    given = {"thread_id": thread, "checkpoint_ns": ns}
    return {"configurable": given if checkpoint is None else {**given, "checkpoint_id": checkpoint}}


class Steps:
    """Puts one checkpoint after the other, with the versions that a graph would give."""

    def __init__(self, saver: SegueSaver | InMemorySaver, config: RunnableConfig | None = None) -> None:
        self.saver = saver
        self.config = config or place()
        self.values: dict[str, Any] = {}
        self.versions: dict[str, str] = {}

    def put(self, metadata: dict[str, Any] | None = None, **changes: Any) -> RunnableConfig:  # noqa: ANN401
        new = {name: self.saver.get_next_version(self.versions.get(name), None) for name in changes}
        self.values |= changes
        self.versions |= new
        checkpoint = {**empty_checkpoint(), "channel_values": {**self.values}, "channel_versions": {**self.versions}}
        self.config = self.saver.put(self.config, checkpoint, metadata or {"source": "loop"}, {**new})  # type: ignore[arg-type]
        return self.config


def records(saver: SegueSaver, thread: str = "t") -> list[Record]:
    return [event for event in saver._sessions.read(thread) if isinstance(event, Record)]


def values(saver: SegueSaver, config: RunnableConfig) -> dict[str, Any]:
    found = saver.get_tuple(config)
    assert found is not None
    return found.checkpoint["channel_values"]


def report_of(url: str) -> Any:  # noqa: ANN401
    @checkpointer_test(name="segue")
    async def saver() -> AsyncIterator[SegueSaver]:
        with SegueSaver(url) as saver:
            yield saver

    return asyncio.run(validate(saver))


def test_all_of_the_protocol_conforms(url: str) -> None:
    report = report_of(url)
    assert [failure for result in report.results.values() for failure in result.failures or ()] == []
    assert report.passed_all()


def test_all_of_the_protocol_conforms_on_postgres(postgres_url: str) -> None:
    assert report_of(postgres_url).passed_all()


def test_a_value_that_did_not_change_is_not_written_again(saver: SegueSaver) -> None:
    steps = Steps(saver)
    steps.put(plan="x" * 2000, count=0)
    for number in range(20):
        steps.put(count=number)
    assert values(saver, place()) == {"plan": "x" * 2000, "count": 19}
    assert sum("x" * 2000 in str(record.data) for record in records(saver)) == 1


def test_a_list_of_messages_is_written_in_pieces(saver: SegueSaver, url: str) -> None:
    steps = Steps(saver)
    messages: list[Any] = []
    for number in range(300):
        messages = [*messages, HumanMessage(f"message {number}", id=str(number))]
        steps.put(messages=messages)
    path = saver._sessions.store.path_of(saver._sessions.id_of("t"))
    with open(path, "rb") as file:
        assert len(file.read()) < 300 * 6000
    for one in (saver, SegueSaver(url)):
        assert values(one, place())["messages"] == messages
    assert [len(values(saver, found.config)["messages"]) for found in saver.list(place(), limit=3)] == [300, 299, 298]


def test_a_message_that_the_program_changes_in_place_is_written(saver: SegueSaver) -> None:
    steps = Steps(saver)
    messages = [HumanMessage("one", id="1"), AIMessage("two", id="2", additional_kwargs={"seen": []})]
    steps.put(count=0)
    steps.put(messages=messages[:1])
    steps.put(messages=messages)
    messages[1].additional_kwargs["seen"].append("by ann")
    steps.put(messages=messages)
    assert values(saver, place())["messages"][1].additional_kwargs == {"seen": ["by ann"]}


def test_large_values_are_blobs_and_json_stays_readable(saver: SegueSaver) -> None:
    steps = Steps(saver)
    large, plain = b"\x00" * (INLINE_BYTES + 1), {"city": "Bern", "days": [1, 2.5, None, True]}
    config = steps.put(large=large, plain=plain, text="é\ud800", some={1, 2})
    saver.put_writes(config, [("large", large)], "task")
    assert values(saver, place()) == {"large": large, "plain": plain, "text": "é\ud800", "some": {1, 2}}
    checkpoint, _, writes = records(saver)
    assert len(checkpoint.blobs) == len(writes.blobs) == 1
    assert str(plain) in str(checkpoint.data)


@pytest.mark.long
def test_a_value_of_100_mb(saver: SegueSaver) -> None:
    large = bytes(100 << 20)
    Steps(saver).put(large=large)
    assert values(saver, place())["large"] == large


@pytest.mark.parametrize("is_cold", [False, True])
def test_the_end_of_a_long_thread_is_found_without_reading_it_all(
    saver: SegueSaver, url: str, monkeypatch: pytest.MonkeyPatch, *, is_cold: bool
) -> None:
    steps = Steps(saver)
    steps.put(plan={"city": "Bern"}, old=b"bytes")
    for number in range(3 * WINDOW):
        steps.put(count=number)
    saver.put_writes(steps.config, [("count", 1)], "task")
    if is_cold:
        saver = SegueSaver(url)
        steps.saver = saver
    read: list[Event] = []
    store = saver._sessions.store
    real = store.read

    def counted(session_id: str, *, after: int = 0) -> Iterator[Event]:
        for event in real(session_id, after=after):
            read.append(event)
            yield event

    monkeypatch.setattr(store, "read", counted)
    found = saver.get_tuple(place())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"plan": {"city": "Bern"}, "old": b"bytes", "count": 3 * WINDOW - 1}
    assert found.pending_writes == [("task", "count", 1)]
    steps.put(count=-1)
    assert saver.get_tuple(place("t", "agent:1")) is None
    assert len(read) <= (2 * WINDOW if is_cold else 0)


def test_what_another_process_recorded_is_seen(saver: SegueSaver, url: str) -> None:
    other = SegueSaver(url)
    steps = Steps(saver)
    steps.put(count=1)
    assert values(other, place()) == {"count": 1}
    steps.put(count=2)
    saver.put_writes(steps.config, [("count", 3)], "task")
    found = other.get_tuple(place())
    assert found is not None
    assert (found.checkpoint["channel_values"], found.pending_writes) == ({"count": 2}, [("task", "count", 3)])
    late = SegueSaver(url)
    assert values(late, place()) == {"count": 2}
    saver.delete_thread("t")
    assert other.get_tuple(place()) is None
    steps = Steps(saver)
    for number in range(9):
        steps.put(count=number)
    for one in (other, late):
        assert values(one, place()) == {"count": 8}
        assert len(list(one.list(place()))) == 9


def test_every_namespace_of_many_subgraphs_is_found(saver: SegueSaver, url: str) -> None:
    parent = Steps(saver).put(count=0)
    for number in range(3 * POINTERS):
        Steps(saver, place("t", f"agent:{number}")).put(count=number)
    overview = saver._sessions.overview("t")
    assert overview is not None
    assert len(overview.records) <= POINTERS
    for number in range(3 * POINTERS):
        assert values(SegueSaver(url), place("t", f"agent:{number}")) == {"count": number}
    new = place("t", "agent:new")
    new["configurable"]["checkpoint_map"] = {"": parent["configurable"]["checkpoint_id"]}
    assert SegueSaver(url).get_tuple(new) is None
    assert values(SegueSaver(url), place()) == {"count": 0}


def test_pending_writes_are_ordered_and_the_first_of_a_number_counts(saver: SegueSaver, url: str) -> None:
    memory = InMemorySaver()
    for one in (memory, saver):
        config = Steps(one, place()).put(count=0)
        one.put_writes(config, [("a", 1), ("b", 2)], "task-9", "~__pregel_pull, a")
        one.put_writes(config, [("a", 7)], "task-9", "~__pregel_pull, a")
        one.put_writes(config, [("a", 3)], "task-1", "~__pregel_pull, b")
        one.put_writes(config, [(INTERRUPT, "first")], "task-1")
        one.put_writes(config, [(INTERRUPT, "second")], "task-1")
    expected = memory.get_tuple(place())
    assert expected is not None
    for one in (saver, SegueSaver(url)):
        found = one.get_tuple(place())
        assert found is not None
        assert found.pending_writes == expected.pending_writes


@pytest.mark.parametrize("is_cold", [False, True])
def test_writes_that_come_before_their_checkpoint_are_found(saver: SegueSaver, url: str, *, is_cold: bool) -> None:
    for thread, checkpoint in (("first", empty_checkpoint()), ("t", empty_checkpoint())):
        if thread == "t":
            Steps(saver).put(count=0)
            checkpoint = empty_checkpoint()  # noqa: PLW2901 - after the one before it
        saver.put_writes(place(thread, "", checkpoint["id"]), [("count", 1)], "task")
        (SegueSaver(url) if is_cold else saver).put(place(thread), checkpoint, {}, {})
        found = SegueSaver(url).get_tuple(place(thread))
        assert found is not None
        assert found.pending_writes == [("task", "count", 1)]


@pytest.mark.parametrize("is_cold", [False, True])
@pytest.mark.parametrize("strategy", ["prune", "delete_for_runs", "copy_thread"])
def test_a_delta_channel_keeps_the_ancestors_that_it_needs(
    saver: SegueSaver, url: str, strategy: str, *, is_cold: bool
) -> None:
    steps = Steps(saver)
    config = steps.put({"run_id": "old"}, log=_DeltaSnapshot(["a"]))
    del steps.values["log"]
    for letter in "bcd":
        saver.put_writes(steps.config, [("log", [letter])], "task")
        steps.versions["log"] = saver.get_next_version(steps.versions["log"], None)
        config = steps.put({"run_id": "new" if letter == "d" else "old"})
    if is_cold:
        saver = SegueSaver(url)
    match strategy:
        case "prune":
            saver.prune(["t"])
            assert [found.config for found in saver.list(place())] == [config]
        case "delete_for_runs":
            saver.delete_for_runs(["old"])
            assert [found.config for found in saver.list(None)] == [config]
        case _:
            saver.copy_thread("t", "copy")
            config["configurable"]["thread_id"] = "copy"
    history = saver.get_delta_channel_history(config=config, channels=["log"])
    assert history == {"log": {"seed": _DeltaSnapshot(["a"]), "writes": [("task", "log", [one]) for one in "bcd"]}}


def test_nothing_is_destroyed(saver: SegueSaver) -> None:
    steps = Steps(saver)
    for number in range(3):
        steps.put(count=number)
    before = records(saver)
    saver.prune(["t"], strategy="delete")
    assert saver.get_tuple(place()) is None
    assert records(saver)[: len(before)] == before
    steps.put(count=3)
    assert values(saver, place()) == {"count": 3}
    saver.delete_thread("t")
    assert [entry.head.title for entry in saver._sessions.library.trashed()] == ["t"]


def test_a_copy_is_not_written_over_another_thread(saver: SegueSaver) -> None:
    Steps(saver).put(count=1)
    Steps(saver, place("other")).put(count=2)
    with pytest.raises(SessionExistsError):
        saver.copy_thread("t", "other")
    assert values(saver, place("other")) == {"count": 2}


def test_threads_of_any_name_and_many_of_them(saver: SegueSaver) -> None:
    names = [str(UUID(int=number)) for number in range(40)] + ["x" * 10_000, "", "a/b", "\ud800"]
    for name in names:
        Steps(saver, place(name)).put({"source": "loop"}, name=name)
    assert [found.config["configurable"]["thread_id"] for found in saver.list(None)] == names[::-1]
    assert [found.checkpoint["channel_values"] for found in saver.list(None, limit=1)] == [{"name": names[-1]}]


@pytest.mark.long
def test_a_thousand_threads_are_listed(saver: SegueSaver) -> None:
    for number in range(1000):
        Steps(saver, place(str(number))).put(number=number)
    assert len(list(saver.list(None))) == 1000


def test_a_number_may_be_the_name_of_a_thread(saver: SegueSaver) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": 7, "checkpoint_ns": ""}}
    put = Steps(saver, config).put(count=1)
    assert put["configurable"]["thread_id"] == 7
    assert values(saver, config) == {"count": 1}


class Unknown:
    """What no serializer knows."""

    __slots__ = ()


def test_what_cannot_be_stored_leaves_no_trace(saver: SegueSaver) -> None:
    with pytest.raises(TypeError):
        Steps(saver).put(value=Unknown())
    with pytest.raises(TypeError):
        saver.put_writes(place("t", "", "1"), [("value", Unknown())], "task")
    assert list(saver._sessions.all()) == []


def test_a_session_in_use_elsewhere_is_an_error_in_time(saver: SegueSaver, url: str) -> None:
    steps = Steps(saver)
    steps.put(count=1)
    with SegueSaver(url)._sessions.writing("t"):
        assert values(saver, place()) == {"count": 1}
        other = SegueSaver(url, wait_seconds=0.1)
        with pytest.raises(SessionLockedError):
            Steps(other, steps.config).put(count=2)


def test_a_damaged_session_is_an_error_and_a_record_that_is_not_ours_too(saver: SegueSaver, url: str) -> None:
    Steps(saver).put(count=1)
    with saver._sessions.writing("t") as session:
        session.record(
            Record(kind="langgraph.checkpoint", data={"id": 1}, timestamp=session.overview.created_at, id="x")
        )
    for one in (saver, SegueSaver(url)):
        with pytest.raises(DamagedError, match="cannot be read"):
            list(one.list(place()))
    Steps(saver, place("flipped")).put(count=1)
    path = saver._sessions.store.path_of(saver._sessions.id_of("flipped"))
    with open(path, "r+b") as file:
        file.seek(-20, 2)
        file.write(b"?")
    with pytest.raises(DamagedError):
        SegueSaver(url).get_tuple(place("flipped"))


def test_no_object_of_an_unnamed_type_is_made(saver: SegueSaver, caplog: pytest.LogCaptureFixture) -> None:
    import decimal
    import fractions

    Steps(saver).put(price=decimal.Decimal("1.5"))
    assert values(saver, place()) == {"price": decimal.Decimal("1.5")}
    assert saver.serde._allowed_msgpack_modules is None  # type: ignore[attr-defined]
    allowing = saver.with_allowlist([(fractions.__name__, "Fraction")])
    assert allowing is not saver
    assert values(allowing, place()) == {"price": decimal.Decimal("1.5")}  # type: ignore[arg-type]
    assert not caplog.records


def test_an_encrypted_state_is_nowhere_readable(url: str, tmp_path: Path) -> None:
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"1234567890123456")
    saver = SegueSaver(url, serde=serde)
    config = Steps(saver).put(messages=[HumanMessage("the secret plan")], note="the secret plan")
    saver.put_writes(config, [("note", "the secret plan")], "task")
    assert values(SegueSaver(url, serde=serde), place())["note"] == "the secret plan"
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert stored
    assert b"secret" not in stored


def test_the_asynchronous_methods_give_the_same(saver: SegueSaver) -> None:
    async def compare() -> None:
        assert [found async for found in saver.alist(place())] == list(saver.list(place()))
        assert await saver.aget_tuple(place()) == saver.get_tuple(place())

    steps = Steps(saver)
    for number in range(100):
        steps.put(count=number)
    asyncio.run(compare())
