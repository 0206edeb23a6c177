"""The tools of a real MCP server, started and asked through the official library."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.errors import UsageError
from segue.tools import ToolResult
from segue.tools.mcp import McpServer, McpServers, server_of
from segue.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.tools.executor import ToolExecutor
    from tests.support.tool_project import Workshop

PROGRAM = Path(__file__).with_name("mcp_server.py")
NOTES = McpServer(command=sys.executable, args=(str(PROGRAM),), env={"GREETING": "hello"})
ALL = ["mcp__notes__add", "mcp__notes__count_all", "mcp__notes__end", "mcp__notes__environment", "mcp__notes__hang"]


@pytest.fixture
def servers(workshop: Workshop) -> Iterator[McpServers]:
    found = McpServers({"notes": NOTES, "broken": McpServer(command="/nonexistent")}, cwd=str(workshop.project))
    yield found
    found.close()


def bench_of(workshop: Workshop, servers: McpServers, *, timeout_seconds: float = 20.0) -> ToolExecutor:
    abilities = [found for found in servers.abilities(["mcp__notes"]) if isinstance(found, Tool)]
    return workshop.executor(*abilities, timeout_seconds=timeout_seconds, confirm="changes")


def names(servers: McpServers, *wanted: str) -> list[str]:
    return sorted(found if isinstance(found, str) else found.offer.name for found in servers.abilities(wanted))


def test_a_preset_names_all_tools_of_a_server_or_some(servers: McpServers) -> None:
    assert names(servers, "mcp__notes") == ALL
    assert names(servers, "mcp__notes__add", "read_file") == ["mcp__notes__add"]
    assert names(servers, "mcp__notes__*n*") == [name for name in ALL if "n" in name.removeprefix("mcp__notes__")]


def test_what_cannot_be_had_is_told_and_costs_only_itself(servers: McpServers) -> None:
    found = names(servers, "mcp__notes__add", "mcp__broken", "mcp__other__x")
    assert found[0] == "mcp__notes__add"
    assert found[1].startswith("the MCP server broken is not there: ")
    assert found[2] == "the preset asks for the MCP server other, which your configuration does not name"


def test_a_tool_is_offered_with_its_schema(servers: McpServers) -> None:
    (add,) = servers.abilities(["mcp__notes__add"])
    assert isinstance(add, Tool)
    assert add.offer.description == "Add a note."
    assert add.offer.parameters["required"] == ["text"]
    assert add.changes


def test_a_call_needs_a_yes_or_the_scope(workshop: Workshop, servers: McpServers) -> None:
    executor = bench_of(workshop, servers)
    refused = workshop.do("mcp__notes__add", executor, text="one")
    assert refused.content == "refused: it is out of scope: mcp_tools does not name mcp__notes__add"
    workshop.somebody.widens = "once"
    assert workshop.do("mcp__notes__add", executor, text="one") == ToolResult(content="noted: one")
    workshop.allow(mcp_tools=["mcp__notes__*"])
    workshop.somebody.asked.clear()
    assert workshop.do("mcp__notes__count_all", executor).content == "1"
    assert workshop.somebody.asked == []
    assert workshop.do("mcp__notes__add", executor, text="two").status == "done"
    assert workshop.somebody.asked == ["confirm mcp__notes__add"]
    assert (workshop.project / "notes.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("field", ["mcp__notes__add", {"allow": ["*"]}, [1, None]])
def test_a_scope_that_names_tools_in_another_way_allows_none(
    workshop: Workshop, servers: McpServers, field: object
) -> None:
    workshop.allow(mcp_tools=field)
    assert workshop.do("mcp__notes__add", bench_of(workshop, servers), text="one").status == "refused"


def test_what_the_server_refuses_is_told(workshop: Workshop, servers: McpServers) -> None:
    workshop.allow(mcp_tools=["*"])
    outcome = workshop.do("mcp__notes__add", bench_of(workshop, servers), wrong="x")
    assert outcome.status == "failed"
    assert "text" in outcome.content


def test_a_server_gets_what_the_configuration_gives_it_and_no_key(
    workshop: Workshop, servers: McpServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    workshop.allow(mcp_tools=["*"])
    found = workshop.do("mcp__notes__environment", bench_of(workshop, servers)).content.split()
    assert "GREETING" in found
    assert "OPENAI_API_KEY" not in found


def test_a_server_that_does_not_answer_is_given_up(workshop: Workshop, servers: McpServers) -> None:
    os.mkfifo(workshop.project / "held")
    workshop.allow(mcp_tools=["*"])
    outcome = workshop.do("mcp__notes__hang", bench_of(workshop, servers, timeout_seconds=0.5))
    assert outcome == ToolResult(status="failed", content="no answer within 0.5 seconds")
    os.close(os.open(workshop.project / "held", os.O_RDWR))


def test_a_server_that_dies_is_told_and_ends_nothing_else(workshop: Workshop, servers: McpServers) -> None:
    workshop.allow(mcp_tools=["*"])
    executor = bench_of(workshop, servers)
    assert workshop.do("mcp__notes__end", executor).status == "failed"
    assert workshop.do("mcp__notes__add", executor, text="one").status == "failed"


@pytest.mark.parametrize(
    ("name", "table", "why"),
    [
        ("notes", {}, "a command or a url, and one of them only"),
        ("notes", {"command": "x", "url": "http://y"}, "a command or a url, and one of them only"),
        ("notes", {"command": ["x"]}, "Expected `str`, got `array`"),
        ("notes", {"comand": "x"}, "unknown field `comand`"),
        ("notes", "x", "Expected `object`"),
        ("no__tes", {"command": "x"}, "letters, digits and dashes"),
        ("no tes", {"command": "x"}, "letters, digits and dashes"),
    ],
)
def test_a_server_that_is_configured_wrongly_is_named_with_the_reason(name: str, table: object, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        server_of(name, table)
    assert why in str(caught.value)
    assert caught.value.hint
