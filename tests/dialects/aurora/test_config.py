from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from segue.dialects.aurora.config import AuroraConfig, load_config

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def test_without_a_file_there_are_defaults_and_nothing_expires(config: Path) -> None:
    assert load_config(config) == (AuroraConfig(), [])
    assert AuroraConfig().session_expiry_days is None


@pytest.mark.parametrize(
    "said",
    [
        {"spawner": {"interactive": {"session_expiry_days": 30, "max_tokens": 5000}}},
        {"spawner.interactive.session_expiry_days": 30, "spawner.interactive.max_tokens": 5000},
        {"spawner.interactive": {"session_expiry_days": 30, "max_tokens": 5000}},
        {"spawner": {"interactive.session_expiry_days": 30, "interactive": {"max_tokens": 5000, "color": True}}},
    ],
)
def test_nested_objects_and_dotted_keys_say_the_same(config: Path, said: dict[str, object]) -> None:
    config.write_text(json.dumps({"other": [1, {"deep": None}], **said}), encoding="utf-8")
    assert load_config(config) == (AuroraConfig(session_expiry_days=30, max_tokens=5000), [])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "is not JSON"),
        (b"\xff\xfe{}", "is not JSON"),
        (b"[" * 100_000, "is not JSON (it is nested too deeply)"),
        (b"[1]", "is not a JSON object"),
        (b"", "is not JSON"),
        (b" " * (2 << 20), "is larger than 1024 KB"),
    ],
)
def test_a_file_that_cannot_be_read_costs_a_warning_and_nothing_else(config: Path, data: bytes, reason: str) -> None:
    config.write_bytes(data)
    settings, (warning,) = load_config(config)
    assert settings == AuroraConfig()
    assert reason in warning
    assert "the defaults are used" in warning


def test_a_pipe_in_its_place_is_not_waited_for(config: Path) -> None:
    os.mkfifo(config)
    settings, (warning,) = load_config(config)
    assert settings == AuroraConfig()
    assert "is not a regular file" in warning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("session_expiry_days", 0),
        ("session_expiry_days", -30),
        ("session_expiry_days", "30"),
        ("session_expiry_days", True),
        ("session_expiry_days", 10**9),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("trim_strategy", "summary"),
        ("auto_save_turns", "always"),
    ],
)
def test_a_value_that_cannot_be_meant_is_named_and_the_others_count(config: Path, name: str, value: object) -> None:
    good = {"session_expiry_days": 7, "max_tokens": 7000, "trim_strategy": "sliding", "auto_save_turns": 3}
    config.write_text(json.dumps({"spawner": {"interactive": {**good, name: value}}}), encoding="utf-8")
    settings, (warning,) = load_config(config)
    assert f"{config}: spawner.interactive.{name} must be " in warning
    assert f", not {value!r}; the default is used".replace("True", "true") in warning
    assert {one: getattr(settings, one) for one in good} == {**good, name: getattr(AuroraConfig(), name)}


def test_null_means_that_nothing_expires(config: Path) -> None:
    config.write_text('{"spawner.interactive.session_expiry_days": null}', encoding="utf-8")
    assert load_config(config) == (AuroraConfig(), [])
