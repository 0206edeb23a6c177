"""Branches of a session: under the names of the SDK, over restarts, and together with the commands of Segue."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import segue
from segue.bridges import new_record
from segue.bridges.openai_agents import SegueSession
from segue.bridges.openai_agents.branches import Branches

if TYPE_CHECKING:
    from pathlib import Path

    from agents.items import TResponseInputItem

    from segue.model import JsonObject

CONVERSATION: list[TResponseInputItem] = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "1"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": "2"},
]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"journal:{tmp_path}/agents"


async def texts(session: SegueSession, **options: Any) -> list[Any]:  # noqa: ANN401
    return [item.get("content") for item in await session.get_items(**options)]


async def names(session: SegueSession) -> dict[str, tuple[int, int, bool]]:
    return {
        one["branch_id"]: (one["message_count"], one["user_turns"], one["is_current"])
        for one in await session.list_branches()
    }


def test_a_branch_has_what_was_before_a_message_of_the_user(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        await session.add_items(CONVERSATION)
        assert await session.create_branch_from_turn(2, "another way!") == "another way!"
        await session.add_items([{"role": "user", "content": "zwei"}])
        assert await texts(session) == ["one", "1", "zwei"]
        assert await texts(session, branch_id="main") == ["one", "1", "two", "2"]
        assert await texts(session, branch_id="no such branch") == []
        assert await names(session) == {"main": (4, 2, False), "another way!": (3, 2, True)}
        with pytest.raises(ValueError, match="already been used"):
            await session.create_branch_from_turn(1, "another way!")
        with pytest.raises(ValueError, match="does not contain a user message"):
            await session.create_branch_from_turn(9)

    asyncio.run(main())


def test_a_new_object_begins_on_the_branch_that_was_switched_to_and_others_stay(url: str) -> None:
    async def main() -> None:
        session, other = SegueSession("t", url), SegueSession("t", url)
        await session.add_items(CONVERSATION)
        assert len(await other.get_items()) == 4
        await session.create_branch_from_content("TWO", "b")
        await other.add_items([{"role": "user", "content": "in main"}])
        assert await texts(SegueSession("t", url)) == ["one", "1"]
        assert await texts(session, branch_id="main") == ["one", "1", "two", "2", "in main"]
        await session.switch_to_branch("main")
        assert (await texts(SegueSession("t", url)))[-1] == "in main"

    asyncio.run(main())


def test_a_version_that_a_pop_began_is_found_again_after_a_switch(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        await session.add_items(CONVERSATION)
        await session.pop_item()
        await session.create_branch_from_turn(2, "b")
        await session.switch_to_branch("main")
        assert await texts(session) == ["one", "1", "two"]
        other = SegueSession("t", url)
        await session.switch_to_branch("b")
        await other.switch_to_branch("main")
        await session.add_items([{"role": "user", "content": "in b"}])
        await session.pop_item()
        assert await texts(session) == ["one", "1"]
        assert await texts(other) == ["one", "1", "two"]

    asyncio.run(main())


def test_a_deleted_branch_is_hidden_and_its_turns_stay(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        await session.add_items(CONVERSATION)
        await session.create_branch_from_turn(2, "b")
        await session.add_items([{"role": "user", "content": "in b"}])
        with pytest.raises(ValueError, match="Cannot delete current branch"):
            await session.delete_branch("b")
        await session.delete_branch("b", force=True)
        assert await names(session) == {"main": (4, 2, True)}
        with pytest.raises(ValueError, match="does not exist"):
            await session.switch_to_branch("b")
        with pytest.raises(ValueError, match="already been used"):
            await session.create_branch_from_turn(1, "b")
        whole = segue.open(url).load(session.segue_id)
        assert [turn.content for turn in whole.path("b")] == ["one", "1", "in b"]

    asyncio.run(main())


def test_a_branch_of_the_command_line_is_one_for_the_sdk(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        await session.add_items(CONVERSATION)
        with segue.open(url).open(session.segue_id) as live:
            live.fork(at=1, name="from-the-terminal")
        again = SegueSession("t", url)
        await again.add_items([{"role": "assistant", "content": "eins"}])
        assert await texts(again) == ["one", "eins"]
        assert await names(again) == {"main": (4, 2, False), "from-the-terminal": (2, 1, True)}

    asyncio.run(main())


@pytest.mark.parametrize("name", ["main.2", "a/b", "ü", "x" * 5_000, "main 2", "-", "con.1.2", "\x00"])
def test_every_text_is_the_name_of_a_branch(url: str, name: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        await session.add_items(CONVERSATION)
        await session.pop_item()
        await session.create_branch_from_turn(2, name)
        await session.add_items([{"role": "user", "content": "here"}])
        await session.pop_item()
        await session.add_items([{"role": "user", "content": "there"}])
        assert await texts(session) == ["one", "1", "there"]
        assert set(await names(session)) == {"main", name}
        await session.switch_to_branch("main")
        assert await texts(SegueSession("t", url), branch_id=name) == ["one", "1", "there"]

    asyncio.run(main())


def test_a_record_that_another_program_wrote_is_not_believed(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        await session.add_items(CONVERSATION)
        wrong: list[JsonObject] = [
            {"latest": 7},
            {"latest": {"main": "gone"}},
            {"deleted": ["main"], "generation": "x"},
        ]
        for data in wrong:
            with segue.open(url).open(session.segue_id) as live:
                live.record(new_record("other", data, name="branches"))
            assert await texts(SegueSession("t", url)) == ["one", "1", "two", "2"]

    asyncio.run(main())


def test_a_clear_puts_every_object_on_the_first_branch(url: str) -> None:
    async def main() -> None:
        session, other = SegueSession("t", url), SegueSession("t", url)
        await session.add_items(CONVERSATION)
        await other.create_branch_from_turn(2, "b")
        await session.clear_session()
        await other.add_items([{"role": "user", "content": "again"}])
        assert await texts(session) == ["again"]
        assert await names(session) == {"main": (1, 1, True)}
        overview = segue.open(url).store.overview(session.segue_id)
        assert Branches(overview).state.generation == 1

    asyncio.run(main())


def test_the_version_that_the_user_went_back_to_is_the_latest_from_then_on(url: str) -> None:
    async def main() -> None:
        session = SegueSession("t", url)
        await session.add_items(CONVERSATION)
        await session.clear_session()
        with segue.open(url).open(session.segue_id) as live:
            live.switch("main")
        again = SegueSession("t", url)
        await again.add_items([{"role": "user", "content": "after the way back"}])
        with segue.open(url).open(session.segue_id) as live:
            live.fork(at=0, name="elsewhere")
        await again.add_items([{"role": "assistant", "content": "here"}])
        assert await texts(again) == ["one", "1", "two", "2", "after the way back", "here"]

    asyncio.run(main())
