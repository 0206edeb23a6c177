from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS
from segue.integrations.shared.mcp_config import ConfiguredServers, find_mcp_servers

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-very-secret"  # noqa: S105 - what must not come out
SERVER = {"command": "npx", "args": [SECRET], "env": {"TOKEN": SECRET}, "url": f"https://{SECRET}@example.org"}


class Machine:
    def __init__(self, path: Path) -> None:
        self.root, self.home = path / "workspace", path / "home"
        self.environ: dict[str, str] = {}
        self.root.mkdir()
        self.home.mkdir()

    def write(self, path: Path, content: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")

    def ask(self, tool: str) -> ConfiguredServers:
        return find_mcp_servers(INTEGRATIONS.get(tool), self.root, self.home, self.environ)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


TOOLS = ["claude", "codex", "gemini", "opencode", "segue"]


@pytest.mark.parametrize("tool", TOOLS)
def test_where_nothing_is_configured_there_is_nothing(machine: Machine, tool: str) -> None:
    assert machine.ask(tool) == ((), ())


@pytest.mark.parametrize("tool", TOOLS)
def test_the_servers_of_the_workspace_are_there_for_every_tool(machine: Machine, tool: str) -> None:
    machine.write(machine.root / ".workspace" / "mcp.json", {"mcpServers": {"notes": SERVER}})
    assert machine.ask(tool).names == ("notes",)


def test_claude_has_those_of_the_user_of_the_project_and_of_the_user_for_the_project(machine: Machine) -> None:
    projects = {
        str(machine.root): {
            "mcpServers": {"local": SERVER},
            "disabledMcpjsonServers": ["unwanted"],
            "disabledMcpServers": ["tired"],
        },
        "/elsewhere": {"mcpServers": {"foreign": SERVER}},
    }
    own = {"mcpServers": {"user": SERVER, "tired": SERVER}, "projects": projects}
    machine.write(machine.home / ".claude.json", own)
    machine.write(machine.root / ".mcp.json", {"mcpServers": {"shared": SERVER, "unwanted": SERVER}})
    assert machine.ask("claude").names == ("local", "shared", "user")


def test_gemini_has_those_of_the_user_and_of_the_project_with_comments_in_the_files(machine: Machine) -> None:
    machine.write(machine.home / ".gemini" / "settings.json", {"mcpServers": {"user": SERVER, "old": SERVER}})
    machine.write(
        machine.root / ".gemini" / "settings.json",
        '{ // "mcpServers": {"no": {}}\n "mcpServers": {"project": {"url": "https://a/*b*/"}, /* , */ },\n'
        ' "mcp": {"excluded": ["old",]}, }',
    )
    assert machine.ask("gemini") == (("project", "user"), ())


def test_opencode_has_those_of_both_versions_and_the_project_may_switch_one_off(machine: Machine) -> None:
    machine.write(machine.home / ".config" / "opencode" / "opencode.jsonc", {"mcp": {"user": SERVER, "off": SERVER}})
    machine.write(machine.root / "opencode.json", {"mcp": {"off": {"enabled": False}, "servers": {"type": "local"}}})
    machine.write(machine.root / ".opencode" / "opencode.json", {"mcp": {"servers": {"new": SERVER}}})
    assert machine.ask("opencode").names == ("new", "servers", "user")


def test_codex_has_those_of_a_project_only_if_it_trusts_it(machine: Machine) -> None:
    machine.write(machine.home / ".codex" / "config.toml", "[mcp_servers.user]\n[mcp_servers.off]\nenabled = false\n")
    machine.write(machine.root / ".codex" / "config.toml", "[mcp_servers.project]\n")
    assert machine.ask("codex").names == ("user",)
    trusted = f'[mcp_servers.user]\n[projects."{machine.root}"]\ntrust_level = "trusted"\n'
    machine.write(machine.home / ".codex" / "config.toml", trusted)
    assert machine.ask("codex").names == ("project", "user")


@pytest.mark.parametrize(
    ("tool", "variable", "name", "content"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json", {"mcpServers": {"moved": {}}}),
        ("codex", "CODEX_HOME", "config.toml", "[mcp_servers.moved]\n"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json", {"mcpServers": {"moved": {}}}),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json", {"mcp": {"moved": {}}}),
    ],
)
def test_a_tool_may_keep_its_files_elsewhere(
    machine: Machine, tool: str, variable: str, name: str, content: object
) -> None:
    elsewhere = machine.home / "elsewhere"
    machine.write(elsewhere / name, content)
    assert machine.ask(tool).names == ()
    machine.environ[variable] = str(elsewhere)
    assert machine.ask(tool).names == ("moved",)


def test_opencode_may_be_given_a_file(machine: Machine, tmp_path: Path) -> None:
    machine.write(tmp_path / "mine.json", {"mcp": {"given": {}}})
    machine.environ["OPENCODE_CONFIG"] = str(tmp_path / "mine.json")
    assert machine.ask("opencode").names == ("given",)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f'{{\n"mcpServers": {{\n"a": {SECRET}', "{} line 3: it is not JSON"),
        (f'{{ // one\n/* two\nthree */ "{SECRET}": }}', "{} line 3: it is not JSON"),
        ("[" * 100_000, "{}: it contains more than can be read"),
        (f'{{"{SECRET}": {"9" * 5000}}}', "{}: it contains more than can be read"),
    ],
)
def test_a_file_that_cannot_be_read_costs_itself_and_is_told_with_its_place(
    machine: Machine, content: str, told: str
) -> None:
    path = machine.root / ".mcp.json"
    machine.write(path, content)
    machine.write(machine.home / ".claude.json", {"mcpServers": {"user": SERVER}})
    names, problems = machine.ask("claude")
    assert names == ("user",)
    assert [str(problem) for problem in problems] == [told.format(path)]


def test_broken_toml_bytes_folders_and_pipes_are_told(machine: Machine) -> None:
    codex = machine.home / ".codex" / "config.toml"
    machine.write(codex, f'[mcp_servers.a]\ntoken = "{SECRET}\n')
    assert [str(one) for one in machine.ask("codex").problems] == [f"{codex} line 2: it is not TOML"]
    shared = machine.root / ".mcp.json"
    shared.write_bytes(b'{\n"\xff": 1}')
    assert [str(one) for one in machine.ask("claude").problems] == [f"{shared} line 2: it is not UTF-8"]
    shared.unlink()
    shared.mkdir()
    assert [one.place for one in machine.ask("claude").problems] == [str(shared)]
    shared.rmdir()
    os.mkfifo(shared)
    assert [one.reason for one in machine.ask("claude").problems] == ["it is not a regular file"]


@pytest.mark.parametrize("content", [[], {"mcpServers": []}, {"mcpServers": {"a": None}}, "null", '"mcpServers"', {}])
def test_other_shapes_are_taken_as_they_come(machine: Machine, content: object) -> None:
    machine.write(machine.root / ".mcp.json", content)
    machine.write(machine.home / ".claude.json", {"projects": []})
    names, problems = machine.ask("claude")
    assert names == (("a",) if isinstance(content, dict) and content.get("mcpServers") else ())
    assert problems == ()


@pytest.mark.parametrize("tool", TOOLS)
def test_no_secret_comes_out(machine: Machine, tool: str) -> None:
    for name in (".mcp.json", ".gemini/settings.json", "opencode.json", ".workspace/mcp.json"):
        machine.write(machine.root / name, {"mcpServers": {"a": SERVER}, "mcp": {"a": SERVER}, "key": SECRET})
    machine.write(machine.home / ".claude.json", f'{{"oauth": "{SECRET}", ')
    machine.write(machine.home / ".codex" / "config.toml", f'[mcp_servers.a.env]\nTOKEN = "{SECRET}"\nx = {SECRET}')
    assert SECRET not in repr(machine.ask(tool))


def test_a_file_may_be_a_link(machine: Machine, tmp_path: Path) -> None:
    machine.write(tmp_path / "dotfiles" / "claude.json", {"mcpServers": {"linked": SERVER}})
    (machine.home / ".claude.json").symlink_to(tmp_path / "dotfiles" / "claude.json")
    assert machine.ask("claude").names == ("linked",)
