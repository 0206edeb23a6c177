"""Every kind of item is a turn that shows what it says, and calls have their results."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from segue.bridges.openai_agents import SegueSession
from segue.bridges.openai_agents.reading import read_item
from segue.integrations.format.pairs import pair_calls

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "data:image/png;base64,QUJD"


@pytest.mark.parametrize(
    ("item", "role", "text", "parts"),
    [
        ({"role": "developer", "content": "Be brief."}, "system", "Be brief.", []),
        ({"role": "user", "content": [{"type": "input_text", "text": "a"}]}, "user", "a", []),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": IMAGE}]},
            "user",
            "",
            [{"type": "image", "media_type": "image/png", "data": "QUJD"}],
        ),
        (
            {"role": "user", "content": [{"type": "input_file", "filename": "a.pdf", "file_data": "x"}]},
            "user",
            "",
            [{"type": "file", "path": "a.pdf"}],
        ),
        (
            {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            "assistant",
            "No.",
            [],
        ),
        ({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}, "assistant", "", []),
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{broken"},
            "assistant",
            "",
            [{"type": "tool_call", "id": "c", "name": "f", "arguments": "{broken"}],
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "out"}]},
            "tool",
            "out",
            [{"type": "tool_result", "id": "c", "content": "out"}],
        ),
        (
            {
                "type": "computer_call_output",
                "call_id": "c",
                "output": {"type": "computer_screenshot", "image_url": IMAGE},
            },
            "tool",
            "",
            [
                {
                    "type": "tool_result",
                    "id": "c",
                    "content": "",
                    "images": [{"type": "image", "media_type": "image/png", "data": "QUJD"}],
                }
            ],
        ),
        (
            {"type": "mcp_call", "id": "m", "server_label": "s", "name": "f", "arguments": "{}", "output": "done"},
            "assistant",
            "",
            [
                {"type": "tool_call", "id": "m", "name": "s.f", "arguments": {}},
                {"type": "tool_result", "id": "m", "content": "done"},
            ],
        ),
        (
            {"type": "mcp_call", "id": "m", "server_label": "s", "name": "f", "arguments": "{}", "error": "no"},
            "assistant",
            "",
            [
                {"type": "tool_call", "id": "m", "name": "s.f", "arguments": {}},
                {"type": "tool_result", "id": "m", "content": "no", "is_error": True},
            ],
        ),
        (
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
            "assistant",
            "",
            [
                {"type": "tool_call", "id": "w", "name": "web_search", "arguments": {"type": "search", "query": "q"}},
                {"type": "tool_result", "id": "w", "content": "completed"},
            ],
        ),
        (
            {"type": "mcp_approval_response", "approval_request_id": "a", "approve": False},
            "tool",
            "not approved",
            [{"type": "tool_result", "id": "a", "content": "not approved"}],
        ),
        (
            {"type": "compaction", "encrypted_content": "x"},
            "system",
            "[earlier turns were compacted]",
            [{"type": "notice"}],
        ),
        ({"__enc__": 1, "payload": "x"}, "system", "[an encrypted item]", [{"type": "notice"}]),
        ({"type": "of_tomorrow"}, "system", "[of_tomorrow]", [{"type": "notice"}]),
        ({}, "system", "[an item]", [{"type": "notice"}]),
        ({"role": 7, "type": ["x"], "content": {"a": 1}}, "user", '{"a": 1}', []),
    ],
)
def test_an_item_is_read(item: dict[str, object], role: str, text: str, parts: list[dict[str, object]]) -> None:
    assert read_item(item) == (role, text, parts)


def test_every_item_comes_back_and_calls_are_paired(tmp_path: Path) -> None:
    items: list[Any] = [
        {"type": f"{kind}_call", "call_id": f"{kind}-1", "action": {"commands": ["ls"]}}
        for kind in ("shell", "local_shell", "apply_patch", "computer", "custom_tool", "tool_search")
    ]
    items += [{"type": f"{item['type']}_output", "call_id": item["call_id"], "output": "ok"} for item in items]
    items.append({"$same": ["content"], "role": "user", "content": {"$same": [], "value": "x" * 5_000}})

    async def main() -> None:
        session = SegueSession("t", f"journal:{tmp_path}")
        await session.add_items(items)
        assert await session.get_items() == items
        turns = session._sessions.store.load(session.segue_id).turns
        pairs = pair_calls(turns)
        assert len(pairs) == 6
        assert all(pair.result is not None and not pair.is_orphan for pair in pairs.values())

    asyncio.run(main())


def test_a_caller_may_change_what_it_was_given(tmp_path: Path) -> None:
    async def main() -> None:
        session = SegueSession("t", f"journal:{tmp_path}")
        await session.add_items([{"role": "user", "content": [{"type": "input_text", "text": "as it was"}]}])
        for _ in range(2):
            (item,) = await session.get_items()
            found: Any = item
            assert found["content"][0]["text"] == "as it was"
            found["content"][0]["text"] = "changed"
            found["role"] = "system"

    asyncio.run(main())


def test_a_session_that_was_deleted_and_made_again_is_read_again(tmp_path: Path) -> None:
    async def main() -> None:
        session = SegueSession("t", f"journal:{tmp_path}")
        await session.add_items([{"role": "user", "content": "old"}] * 3)
        assert len(await session.get_items()) == 3
        await session.delete_session()
        assert await session.get_items() == []
        await session.add_items([{"role": "user", "content": "new"}] * 4)
        assert [item.get("content") for item in await session.get_items()] == ["new"] * 4

    asyncio.run(main())


def test_what_other_processes_recorded_is_read_although_the_session_is_known(tmp_path: Path) -> None:
    async def main() -> None:
        url = f"journal:{tmp_path}"
        session = SegueSession("t", url)
        await session.add_items([{"role": "user", "content": "one"}])
        await session.get_items()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", OTHER, url), env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        )
        assert await process.wait() == 0
        assert [item.get("content") for item in await session.get_items()] == ["two"]
        assert [item.get("content") for item in await session.get_items(1)] == ["two"]

    asyncio.run(main())


OTHER = """
import asyncio, sys
from segue.bridges.openai_agents import SegueSession

async def main():
    session = SegueSession("t", sys.argv[1])
    await session.pop_item()
    await session.add_items([{"role": "user", "content": "two"}])

asyncio.run(main())
"""
