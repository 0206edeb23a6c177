"""The history of an agent in a session of Segue: items unchanged, one append per call, nothing destroyed."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from agents import SessionSettings
from agents.memory.session import Session, _session_accepts_wrapper

import segue
from segue.bridges.openai_agents import SegueSession
from segue.errors import DamagedError, SessionLockedError, UsageError
from segue.model import BranchCreated
from segue.session import LiveSession

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

    from segue.bridges.openai_agents.history import Choice, Cost
    from segue.model import Event, JsonObject, Turn
    from segue.store import Receipt, Store

ITEMS = cast(
    "list[TResponseInputItem]",
    [
        {"role": "user", "content": "What is the weather in Oslo?"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I look it up."}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}', "id": "fc_1"},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "status": "completed",
            "content": [{"type": "output_text", "text": "It rains.", "annotations": [], "logprobs": []}],
        },
    ],
)


def user(text: str) -> TResponseInputItem:
    return {"role": "user", "content": text}


def answer(text: str) -> TResponseInputItem:
    return {"role": "assistant", "content": text}


def texts(items: list[Any]) -> list[str]:
    return [item["content"] for item in items]


@pytest.fixture(params=["journal", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"journal:{tmp_path}/agents" if request.param == "journal" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def session(tmp_path: Path) -> SegueSession:
    return SegueSession("user-123", f"journal:{tmp_path}/agents")


def stored(session: SegueSession) -> tuple[Store, str]:
    library = segue.open(session._sessions.store.url)
    return library.store, session.segue_id


def test_items_are_read_back_unchanged(url: str) -> None:
    async def main() -> None:
        session = SegueSession("user/123", url)
        assert await session.get_items() == []
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS
        assert await SegueSession("user/123", url).get_items() == ITEMS
        assert await SegueSession("user/124", url).get_items() == []

    asyncio.run(main())


def test_it_is_a_session_for_the_sdk(session: SegueSession) -> None:
    assert isinstance(session, Session)
    assert _session_accepts_wrapper(session)


def test_turns_have_roles_texts_calls_and_results(session: SegueSession) -> None:
    asyncio.run(session.add_items(ITEMS))
    store, id = stored(session)
    turns = store.load(id).turns
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "What is the weather in Oslo?"),
        ("assistant", ""),
        ("assistant", ""),
        ("tool", "rain"),
        ("assistant", "It rains."),
    ]
    assert [part for turn in turns for part in turn.parts] == [
        {"type": "reasoning", "text": "I look it up."},
        {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}},
        {"type": "tool_result", "id": "c1", "content": "rain"},
    ]
    assert [turn.native["item"] for turn in turns if turn.native] == ITEMS


def test_several_items_are_one_append(session: SegueSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(session.add_items([user("first")]))
    calls: list[int] = []
    record = LiveSession.record

    def counting(live: LiveSession, *events: Event, ids_are_new: bool = False) -> Receipt:
        calls.append(len(events))
        return record(live, *events, ids_are_new=ids_are_new)

    monkeypatch.setattr(LiveSession, "record", counting)
    asyncio.run(session.add_items(ITEMS))
    assert calls == [len(ITEMS)]


def test_an_item_that_is_not_json_adds_none_of_them(session: SegueSession) -> None:
    broken = cast("list[TResponseInputItem]", [user("good"), {"role": "user", "content": object()}])
    with pytest.raises(UsageError, match="must be JSON"):
        asyncio.run(session.add_items(broken))
    assert asyncio.run(session.get_items()) == []


def test_the_limit_gives_the_newest_items_in_order(session: SegueSession) -> None:
    async def main() -> None:
        await session.add_items([user(str(number)) for number in range(10)])
        assert texts(await session.get_items(3)) == ["7", "8", "9"]
        assert texts(await session.get_items(limit=0)) == []
        assert len(await session.get_items(99)) == 10
        assert texts(await session.get_items(3, offset=3)) == ["4", "5", "6"]
        assert texts(await session.get_items(offset=8)) == ["0", "1"]
        session.session_settings = SessionSettings(limit=2)
        assert texts(await session.get_items()) == ["8", "9"]

    asyncio.run(main())


def test_a_limit_by_turns_keeps_calls_with_their_results(tmp_path: Path) -> None:
    async def main() -> None:
        session = SegueSession("t", f"journal:{tmp_path}", turn_limit=2)
        for _ in range(40):
            await session.add_items(ITEMS)
        assert await session.get_items() == [*ITEMS, *ITEMS]
        assert await session.get_items(turns=9) == ITEMS * 9
        assert await session.get_items(turns=99) == ITEMS * 40
        assert await session.get_items(turns=0) == []
        assert await session.get_items(4) == ITEMS[-4:]

    asyncio.run(main())


def test_reading_the_newest_items_asks_the_store_for_no_more(
    session: SegueSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(session.add_items([user(str(number)) for number in range(500)]))
    store = session._sessions.store
    asked: list[int] = []
    tail = store.tail

    def counting(session_id: str, count: int, *, branch: str | None = None) -> tuple[Turn, ...]:
        asked.append(count)
        return tail(session_id, count, branch=branch)

    monkeypatch.setattr(store, "tail", counting)
    assert len(asyncio.run(session.get_items(5))) == 5
    asyncio.run(session.add_items([user("more")]))
    asyncio.run(SegueSession("user-123", store.url).add_items([user("from another object")]))
    assert max(asked) == 5


def test_pop_gives_the_last_item_and_destroys_nothing(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        assert await session.pop_item() is None
        await session.add_items([user("one"), answer("two"), user("three")])
        assert await session.pop_item() == user("three")
        assert await session.pop_item() == answer("two")
        await session.add_items([answer("other")])
        assert texts(await session.get_items()) == ["one", "other"]
        assert [await session.pop_item() for _ in range(3)] == [answer("other"), user("one"), None]
        store, id = stored(session)
        assert [turn.content for turn in store.load(id).path("main")] == ["one", "two", "three"]

    asyncio.run(main())


def test_clear_begins_an_empty_version_and_the_old_one_can_be_switched_to(session: SegueSession) -> None:
    async def main() -> None:
        await session.add_items([user("one")])
        await session.clear_session()
        assert await session.get_items() == []
        await session.add_items([user("two")])
        library = segue.open(session._sessions.store.url)
        with library.open(session.segue_id) as live:
            live.switch("main")
        again = SegueSession("user-123", session._sessions.store.url)
        assert texts(await again.get_items()) == ["one"]
        await again.add_items([answer("three")])
        assert texts(await again.get_items()) == ["one", "three"]

    asyncio.run(main())


def test_pops_in_a_row_all_begin_on_the_branch_with_the_turns(session: SegueSession) -> None:
    async def main() -> None:
        await session.add_items([user(str(number)) for number in range(9)])
        for _ in range(8):
            await session.pop_item()

    asyncio.run(main())
    store, id = stored(session)
    created = [event for event in store.read(id) if isinstance(event, BranchCreated)]
    assert {event.parent for event in created} == {"main"}
    assert [event.at for event in created] == [8, 7, 6, 5, 4, 3, 2, 1]


def test_a_long_item_is_stored_once_and_a_large_one_as_a_blob(session: SegueSession) -> None:
    text = "word " * 10_000
    image = "data:image/png;base64," + "QUJD" * 40_000
    items = cast(
        "list[TResponseInputItem]",
        [
            {"role": "user", "content": text},
            {"role": "user", "content": [{"type": "input_image", "detail": "auto", "image_url": image}]},
            {"type": "compaction", "id": "cmp", "encrypted_content": "x" * 200_000},
            {"role": "user", "content": "has", "records": [1]},
        ],
    )
    asyncio.run(session.add_items(items))
    assert asyncio.run(session.get_items()) == items
    store, id = stored(session)
    size = Path(store.path_of(id)).stat().st_size
    assert size < len(text) + 5_000


def test_turns_of_other_tools_are_items_for_the_sdk(session: SegueSession) -> None:
    asyncio.run(session.add_items([user("one")]))
    library = segue.open(session._sessions.store.url)
    with library.open(session.segue_id) as live:
        live.add("user", "from the terminal")
        call: JsonObject = {"type": "tool_call", "id": "7", "name": "ls", "arguments": {"path": "."}}
        live.add("assistant", "I look.", parts=[call], native={"type": "assistant"})
        live.add("tool", "a.txt", parts=[{"type": "tool_result", "id": "7", "content": "a.txt"}])

    async def main() -> None:
        await session.add_items([user("last")])
        assert await session.get_items() == [
            user("one"),
            user("from the terminal"),
            answer("I look."),
            {"type": "function_call", "call_id": "7", "name": "ls", "arguments": '{"path": "."}'},
            {"type": "function_call_output", "call_id": "7", "output": "a.txt"},
            user("last"),
        ]
        assert [turn["turn"] for turn in await session.get_conversation_turns()] == [1, 2, 3]
        for left in (5, 4, 3):
            await session.pop_item()
            assert len(await session.get_items()) == left

    asyncio.run(main())


def test_sessions_are_listed(url: str) -> None:
    async def main() -> None:
        for name in ("a/b", "ü", "x" * 10_000):
            await SegueSession(name, url).add_items([user("hello")])
        found = await SegueSession.list_sessions(url)
        assert [one["session_id"] for one in found] == ["x" * 10_000, "ü", "a/b"]
        assert [one["message_count"] for one in found] == [1, 1, 1]
        assert await SegueSession.list_sessions(url, limit=1, offset=1) == found[1:2]
        assert await SegueSession("ü", url).delete_session()
        assert not await SegueSession("ü", url).delete_session()
        assert len(await SegueSession.list_sessions(url)) == 2

    asyncio.run(main())


def test_copies_and_pickles_are_the_same_session(session: SegueSession) -> None:
    async def main() -> None:
        await session.add_items([user("one"), user("two")])
        await session.create_branch_from_turn(2, "other")
        for other in (copy.copy(session), copy.deepcopy(session), pickle.loads(pickle.dumps(session))):  # noqa: S301 - our own
            await other.add_items([answer("more")])
            assert isinstance(other, SegueSession)
        assert texts(await session.get_items()) == ["one", "more", "more", "more"]

    asyncio.run(main())
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(SegueSession("t", "memory:"))


def test_an_object_serves_several_event_loops_and_tasks(session: SegueSession) -> None:
    async def add(name: str) -> None:
        await asyncio.gather(*(session.add_items([user(f"{name}-{number}")]) for number in range(10)))

    asyncio.run(add("first"))
    threads = [threading.Thread(target=lambda at=at: asyncio.run(add(f"thread-{at}"))) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asyncio.run(session.get_items())) == 40


def test_a_cancelled_call_is_over_when_it_raises(session: SegueSession, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, proceed = threading.Event(), threading.Event()
    add = session._history.add

    def slow(items: list[object], choice: Choice, cost: Cost | None) -> None:
        begun.set()
        assert proceed.wait(10)
        add(items, choice, cost)

    monkeypatch.setattr(session._history, "add", slow)

    async def main() -> None:
        task = asyncio.create_task(session.add_items([user("one")]))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        proceed.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert session._sessions.store.load(session.segue_id).turns[0].content == "one"

    asyncio.run(main())


def test_a_session_in_use_elsewhere_is_an_error_in_time(tmp_path: Path) -> None:
    url = f"journal:{tmp_path}"
    session = SegueSession("t", url, wait_seconds=0.1)
    asyncio.run(session.add_items([user("one")]))
    with segue.open(url).open(session.segue_id), pytest.raises(SessionLockedError):
        asyncio.run(session.add_items([user("two")]))
    assert len(asyncio.run(session.get_items())) == 1


def test_a_damaged_session_is_an_error_and_is_not_written_to(session: SegueSession) -> None:
    asyncio.run(session.add_items([user("one"), user("two")]))
    store, id = stored(session)
    path = Path(store.path_of(id))
    broken = path.read_bytes().replace(b'"two"', b'"tvo"')
    path.write_bytes(broken)
    with pytest.raises(DamagedError):
        asyncio.run(session.get_items())
    with pytest.raises(DamagedError):
        asyncio.run(session.add_items([user("three")]))
    assert path.read_bytes() == broken


def test_a_closed_session_is_refused(session: SegueSession) -> None:
    session.close()
    for call in (session.get_items(), session.add_items([]), session.pop_item()):
        with pytest.raises(RuntimeError, match="SegueSession is closed"):
            asyncio.run(cast("Any", call))


@pytest.mark.long
def test_an_item_of_100_megabytes(url: str) -> None:
    item = user("x" * 100_000_000)
    session = SegueSession("t", url)
    asyncio.run(session.add_items([item]))
    assert asyncio.run(session.get_items()) == [item]
