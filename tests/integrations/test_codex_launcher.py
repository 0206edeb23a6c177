"""The rollout that is written for Codex, and the model provider in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS, HandoverContext, LaunchOptions
from segue.integrations.codex import provider
from segue.integrations.codex.provider import find_provider
from segue.integrations.format.values import child
from tests.support.integration_machine import EARLIER, turn

if TYPE_CHECKING:
    from segue.model import JsonObject


def rollout(tmp_path: Path, context: HandoverContext, *arguments: str) -> list[JsonObject]:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    options = LaunchOptions(
        cwd=tmp_path, environ={"PATH": str(tmp_path), "HOME": str(tmp_path)}, arguments=arguments, headless=False
    )
    (written,) = INTEGRATIONS["codex"].launch(context, options).written
    return [json.loads(line) for line in Path(written).read_bytes().splitlines()]


def test_every_item_is_there_for_the_model_and_for_the_screen(tmp_path: Path) -> None:
    lines = rollout(tmp_path, EARLIER)
    assert [line["ordinal"] for line in lines] == list(range(len(lines)))
    header, *rest = (child(line, "payload") for line in lines)
    assert (header["history_mode"], header["model_provider"], header["source"]) == ("paginated", "openai", "cli")
    items = [payload.get("item") for payload in rest]
    shown = [item["type"] if isinstance(item, dict) else "" for item in items]
    assert list(zip((payload["type"] for payload in rest), shown, strict=True)) == [
        ("task_started", ""),
        ("message", ""),
        ("item_completed", "UserMessage"),
        ("message", ""),
        ("item_completed", "AgentMessage"),
        ("function_call", ""),
        ("function_call", ""),
        ("item_completed", "McpToolCall"),
        ("function_call_output", ""),
        ("item_completed", "McpToolCall"),
        ("function_call_output", ""),
        ("message", ""),
        ("item_completed", "AgentMessage"),
        ("task_complete", ""),
    ]
    assert [item["status"] for item in items if isinstance(item, dict) and "status" in item] == ["completed", "failed"]
    assert rest[-1]["last_agent_message"] == "The token expires \ufffd too early."


def test_every_message_of_the_user_starts_a_turn_that_can_be_rewound(tmp_path: Path) -> None:
    said = [turn(role, f"{role} {number}") for number in range(3) for role in ("user", "assistant")]
    events = [child(line, "payload") for line in rollout(tmp_path, HandoverContext(turns=tuple(said)))]
    starts = [payload["turn_id"] for payload in events if payload.get("type") == "task_started"]
    ends = [payload["turn_id"] for payload in events if payload.get("type") == "task_complete"]
    assert starts == ends
    assert len(set(starts)) == 3
    marks = [line["segue"] for line in rollout(tmp_path, HandoverContext(turns=tuple(said)))]
    assert [mark for mark in marks if mark is not True] == [found.id for found in said]


@pytest.mark.parametrize(
    ("settings", "arguments", "name"),
    [
        ("", (), "openai"),
        ('model_provider = "azure"', (), "azure"),
        ('model_provider = "azure"', ("-c", "model_provider=local"), "local"),
        ('model_provider = "azure"', ("-c", 'model_provider="local"'), "local"),
        ('model_provider = "azure"', ("--config=model_provider='local'", "-c", "model=x"), "local"),
        ('model_provider = "azure"', ("-cmodel_provider=a", "--config", "model_provider=b"), "b"),
        ('model_provider = "azure"', ("-c", "model_providers.x.name=y"), "azure"),
        ('profile = "work"\n[profiles.work]\nmodel_provider = "azure"', (), "azure"),
        ('[profiles.work]\nmodel_provider = "azure"', ("--profile", "work"), "azure"),
        ('[profiles.work]\nmodel_provider = "azure"', ("-pwork",), "azure"),
        ('[profiles.work]\nmodel_provider = "azure"', ("--profile=other",), "openai"),
        ('model_provider = "azure"', ("--profile", "file"), "of-the-file"),
        ('model_provider = "azure"', ("--profile", "file", "-c", "model_provider=local"), "local"),
        ('model_provider = "azure"', ("--profile", "../../etc/x"), "azure"),
        ('oss_provider = "lmstudio"', ("--oss",), "lmstudio"),
        ("", ("--oss", "--local-provider=ollama"), "ollama"),
        ("model_provider = 7", (), "openai"),
        ("this is not TOML", (), "openai"),
        ("", ("-c",), "openai"),
        ("", ("-c", "model_provider=" + "[" * 5000), "[" * 5000),
    ],
)
def test_the_provider_is_the_one_that_codex_will_use(
    settings: str, arguments: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("_MANAGED", "_SYSTEM"):
        monkeypatch.setattr(provider, place, tmp_path / "nothing.toml")
    (tmp_path / "config.toml").write_text(settings)
    (tmp_path / "file.config.toml").write_text('model_provider = "of-the-file"')
    assert find_provider(tmp_path, arguments) == name
    (tmp_path / "nothing.toml").write_text('model_provider = "managed"')
    assert find_provider(tmp_path, arguments) == "managed"
