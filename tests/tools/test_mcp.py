"""The tools of a real MCP server, started and asked through the official library."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.errors import UsageError
from segue.tools import ToolResult
from segue.tools.mcp import McpServer, McpServers, parse_server
from segue.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.tools.executor import ToolExecutor
    from tests.support.tool_project import ToolProject

PROGRAM = Path(__file__).with_name("mcp_server.py")
NOTES = McpServer(command=sys.executable, args=(str(PROGRAM),), env={"GREETING": "hello"})
ALL = ["mcp__notes__add", "mcp__notes__count_all", "mcp__notes__end", "mcp__notes__environment", "mcp__notes__hang"]


@pytest.fixture
def servers(project: ToolProject) -> Iterator[McpServers]:
    found = McpServers({"notes": NOTES, "broken": McpServer(command="/nonexistent")}, cwd=str(project.root))
    yield found
    found.close()


def bench_of(project: ToolProject, servers: McpServers, *, timeout_seconds: float = 20.0) -> ToolExecutor:
    tools = [found for found in servers.find_tools(["mcp__notes"]) if isinstance(found, Tool)]
    return project.executor(*tools, timeout_seconds=timeout_seconds, confirm="changes")


def names(servers: McpServers, *wanted: str) -> list[str]:
    return sorted(found if isinstance(found, str) else found.spec.name for found in servers.find_tools(wanted))


def test_a_preset_names_all_tools_of_a_server_or_some(servers: McpServers) -> None:
    assert names(servers, "mcp__notes") == ALL
    assert names(servers, "mcp__notes__add", "read_file") == ["mcp__notes__add"]
    assert names(servers, "mcp__notes__*n*") == [name for name in ALL if "n" in name.removeprefix("mcp__notes__")]


def test_what_cannot_be_had_is_told_and_costs_only_itself(servers: McpServers) -> None:
    found = names(servers, "mcp__notes__add", "mcp__broken", "mcp__other__x")
    assert found[0] == "mcp__notes__add"
    assert found[1].startswith("the MCP server broken is not available: ")
    assert found[2] == "the preset asks for the MCP server other, which is not in your configuration"


def test_a_tool_is_offered_with_its_schema(servers: McpServers) -> None:
    (add,) = servers.find_tools(["mcp__notes__add"])
    assert isinstance(add, Tool)
    assert add.spec.description == "Add a note."
    assert add.spec.parameters["required"] == ["text"]
    assert add.may_change


def test_a_call_needs_a_yes_or_the_scope(project: ToolProject, servers: McpServers) -> None:
    executor = bench_of(project, servers)
    refused = project.do("mcp__notes__add", executor, text="one")
    assert refused.content == "refused: out of scope: mcp_tools does not list mcp__notes__add"
    project.approver.widens = "once"
    assert project.do("mcp__notes__add", executor, text="one") == ToolResult(content="noted: one")
    project.allow(mcp_tools=["mcp__notes__*"])
    project.approver.asked.clear()
    assert project.do("mcp__notes__count_all", executor).content == "1"
    assert project.approver.asked == []
    assert project.do("mcp__notes__add", executor, text="two").status == "done"
    assert project.approver.asked == ["confirm mcp__notes__add"]
    assert (project.root / "notes.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("field", ["mcp__notes__add", {"allow": ["*"]}, [1, None]])
def test_a_scope_that_names_tools_in_another_way_allows_none(
    project: ToolProject, servers: McpServers, field: object
) -> None:
    project.allow(mcp_tools=field)
    assert project.do("mcp__notes__add", bench_of(project, servers), text="one").status == "refused"


def test_what_the_server_refuses_is_told(project: ToolProject, servers: McpServers) -> None:
    project.allow(mcp_tools=["*"])
    result = project.do("mcp__notes__add", bench_of(project, servers), wrong="x")
    assert result.status == "failed"
    assert "text" in result.content


def test_a_server_gets_what_the_configuration_gives_it_and_no_key(
    project: ToolProject, servers: McpServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    project.allow(mcp_tools=["*"])
    found = project.do("mcp__notes__environment", bench_of(project, servers)).content.split()
    assert "GREETING" in found
    assert "OPENAI_API_KEY" not in found


def test_a_server_that_does_not_answer_is_given_up(project: ToolProject, servers: McpServers) -> None:
    os.mkfifo(project.root / "held")
    project.allow(mcp_tools=["*"])
    result = project.do("mcp__notes__hang", bench_of(project, servers, timeout_seconds=0.5))
    assert result == ToolResult(status="failed", content="no answer within 0.5 seconds")
    os.close(os.open(project.root / "held", os.O_RDWR))


def test_a_server_that_dies_is_told_and_ends_nothing_else(project: ToolProject, servers: McpServers) -> None:
    project.allow(mcp_tools=["*"])
    executor = bench_of(project, servers)
    assert project.do("mcp__notes__end", executor).status == "failed"
    assert project.do("mcp__notes__add", executor, text="one").status == "failed"


@pytest.mark.parametrize(
    ("name", "table", "why"),
    [
        ("notes", {}, "either a command or a url"),
        ("notes", {"command": "x", "url": "http://y"}, "either a command or a url"),
        ("notes", {"command": ["x"]}, "Expected `str`, got `array`"),
        ("notes", {"comand": "x"}, "unknown field `comand`"),
        ("notes", "x", "Expected `object`"),
        ("no__tes", {"command": "x"}, "letters, digits and dashes"),
        ("no tes", {"command": "x"}, "letters, digits and dashes"),
    ],
)
def test_a_server_that_is_configured_wrongly_is_named_with_the_reason(name: str, table: object, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_server(name, table)
    assert why in str(caught.value)
    assert caught.value.hint
