"""Who is chosen, by flag, preset, configuration and what a session remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import segue
from segue.chat.agents.resolved import ChatSettings
from segue.chat.agents.resolver import AgentResolver
from segue.errors import NotFoundError, UsageError
from segue.presets import PresetSources, project_folders
from tests.support.surface import make_surface

if TYPE_CHECKING:
    from pathlib import Path

    from segue.session import LiveSession

KEYS = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "PATH": ""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    presets = {
        "opus-reviewer": "model: opus",
        "backed": "backend: OpenAI\nmodel: gpt-x",
        "house": "backend: anthropic",
        "plain": "description: no model",
    }
    for name, front in presets.items():
        (tmp_path / f"{name}.md").write_text(f"---\n{front}\n---\nYou are {name}.\n", encoding="utf-8")
    return tmp_path


def resolver(folder: Path, *, keys: bool = True, settings: ChatSettings | None = None) -> AgentResolver:
    surface = make_surface(folder, environ=KEYS if keys else {"PATH": ""})
    return AgentResolver(surface, sources=PresetSources(folders=(folder,)), settings=settings)


def session(*, preset: str = "", **overrides: object) -> LiveSession:
    live = segue.open("memory:").create()
    if preset:
        live.use_preset(preset)
    live.set_overrides(overrides)
    return live


@pytest.mark.parametrize(
    ("agent", "model", "name", "why"),
    [
        ("offline", "", "offline", "flag"),
        ("opus-reviewer", "", "anthropic/claude-opus", "preset"),
        ("backed", "", "openai/gpt-x", "preset"),
        ("house", "", "anthropic/claude", "preset"),
        ("plain", "", "anthropic/claude", "found"),
        ("openai/one", "two", "openai/two", "flag"),
        ("openai/one@http://localhost:1/v1", "two", "openai/two@http://localhost:1/v1", "flag"),
        ("sonnet", "other", "anthropic/other", "flag"),
        ("", "gpt-x", "openai/gpt-x", "flag"),
        ("opus-reviewer", "gpt-x", "openai/gpt-x", "flag"),
        ("opus-reviewer", "other", "anthropic/other", "preset"),
    ],
)
def test_a_name_and_a_model_say_who_answers_and_why(folder: Path, agent: str, model: str, name: str, why: str) -> None:
    resolved = resolver(folder).choose(agent, model=model)
    assert resolved.agent.name.startswith(name)
    assert resolved.why == why


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (ChatSettings(agent="offline"), "offline"),
        (ChatSettings(agent="openai", model="mine"), "openai/mine"),
        (ChatSettings(model="gpt-x"), "openai/gpt-x"),
        (
            ChatSettings(agent="openai/mine", openai_base_url="http://localhost:1/v1"),
            "openai/mine@http://localhost:1/v1",
        ),
    ],
)
def test_the_configuration_says_it_where_the_call_does_not(folder: Path, settings: ChatSettings, name: str) -> None:
    assert resolver(folder, settings=settings).choose().agent.name == name


def test_what_was_said_by_name_is_remembered_and_a_preset_is_not_repeated(folder: Path) -> None:
    here = resolver(folder)
    assert here.choose("offline").named == {"agent": "offline"}
    assert here.choose("plain").named == {}
    assert here.choose("plain", model="gpt-x").named == {"model": "gpt-x"}


def test_another_agent_keeps_the_prompt_of_the_session(folder: Path) -> None:
    resolved = resolver(folder).recall(session(preset="plain"), "offline")
    assert resolved.preset is not None
    assert (resolved.preset.name, resolved.agent.name) == ("plain", "offline")


def test_a_session_is_answered_as_it_was(folder: Path) -> None:
    here = resolver(folder, settings=ChatSettings(agent="openai"))
    assert here.recall(session(agent="openai", model="two")).agent.name == "openai/two"
    assert here.recall(session(preset="opus-reviewer", agent="offline")).agent.name == "offline"


@pytest.mark.parametrize("none", [[], None])
def test_a_session_without_tools_has_none_although_its_preset_has(folder: Path, none: object) -> None:
    (folder / "armed.md").write_text("---\ntools: [run_shell]\n---\nYou are armed.\n", encoding="utf-8")
    here = resolver(folder)
    assert here.recall(session(preset="armed")).tools == ("run_shell",)
    assert here.recall(session(preset="armed", tools=none)).tools == ()


def test_a_session_of_another_tool_finds_its_preset_by_the_name_of_its_agent(folder: Path) -> None:
    with segue.open("memory:").create(agent="plain") as live:
        resolved = resolver(folder).recall(live)
    assert resolved.preset is not None


def test_nobody_is_named_twice_and_presets_come_first(folder: Path) -> None:
    assert resolver(folder).names() == (
        *("backed", "house", "opus-reviewer", "plain"),
        *("offline", "anthropic", "openai", "google"),
    )


def test_an_unknown_name_lists_presets_and_agents(folder: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        resolver(folder).choose("plian")
    assert "did you mean plain?" in caught.value.hint
    assert "the presets backed, house, opus-reviewer, plain; the agents offline" in caught.value.hint


def test_a_recorded_command_needs_a_yes(tmp_path: Path) -> None:
    about = session(agent="command:cat")
    here = {"PATH": "/usr/bin:/bin"}
    with pytest.raises(UsageError, match="which was not set here"):
        AgentResolver(make_surface(tmp_path, environ=here)).recall(about)
    trusting = AgentResolver(
        make_surface(tmp_path, environ=here, confirm=lambda shown: "agent  the command cat" in shown)
    )
    assert trusting.recall(about).agent.name == "cat"


def test_without_a_repository_only_the_folder_at_hand_is_looked_at(tmp_path: Path) -> None:
    names = (".segue/agents", ".claude/agents", "agents")
    assert project_folders("segue", tmp_path) == tuple(tmp_path / name for name in names)
