"""Differential save: what is kept of the settings of a session, and what comes of it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.presets import SETTINGS, Preset, apply_overrides, diff_settings, preset_settings

if TYPE_CHECKING:
    from segue.model import JsonObject

EXECUTOR = Preset(
    name="executor",
    model="opus",
    backend="Claude",
    tools=("read_file", "run_shell"),
    temperature=0.5,
    max_tokens=1000,
    num_messages=20,
    system_prompt="Do it.",
)
TEXTS = st.none() | st.text(min_size=1, max_size=3)
COUNTS = st.none() | st.integers(1, 3)
WHOLE = st.fixed_dictionaries(
    {
        "model": TEXTS,
        "backend": TEXTS,
        "tools": st.none() | st.lists(st.text(min_size=1, max_size=2), max_size=2),
        "temperature": st.none() | st.sampled_from([0.0, 0.5, 1.0]),
        "max_tokens": COUNTS,
        "num_messages": COUNTS,
        "system_message": TEXTS,
    }
)
PRESETS = st.builds(
    Preset,
    name=st.just("p"),
    model=st.text(max_size=3),
    backend=st.text(max_size=3),
    tools=st.lists(st.text(min_size=1, max_size=2), max_size=2).map(tuple),
    temperature=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    max_tokens=COUNTS,
    num_messages=COUNTS,
    system_prompt=st.text(max_size=3),
)


def test_a_preset_says_something_about_every_setting() -> None:
    assert tuple(preset_settings(EXECUTOR)) == SETTINGS
    assert None not in preset_settings(EXECUTOR).values()


def test_settings_that_match_the_preset_are_not_kept() -> None:
    assert diff_settings(EXECUTOR, preset_settings(EXECUTOR)) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", "sonnet"),
        ("backend", "OpenAI"),
        ("tools", ["read_file"]),
        ("tools", []),
        ("temperature", 0.8),
        ("temperature", None),
        ("max_tokens", 5),
        ("num_messages", None),
        ("system_message", "Speak like a pirate."),
    ],
)
def test_only_what_differs_is_kept_and_it_disappears_when_it_matches_again(name: str, value: object) -> None:
    changed = {**preset_settings(EXECUTOR), name: value}
    kept = diff_settings(EXECUTOR, changed)
    assert kept == {name: value}
    assert apply_overrides(EXECUTOR, kept) == changed
    assert diff_settings(EXECUTOR, {**apply_overrides(EXECUTOR, kept), name: preset_settings(EXECUTOR)[name]}) == {}


def test_settings_that_no_preset_knows_of_are_kept() -> None:
    assert diff_settings(EXECUTOR, {"tool": "claude", "tools": ("read_file", "run_shell")}) == {"tool": "claude"}


@given(PRESETS, WHOLE)
def test_what_is_kept_gives_the_same_settings_again(preset: Preset, settings: JsonObject) -> None:
    kept = diff_settings(preset, settings)
    assert apply_overrides(preset, kept) == settings
    assert diff_settings(preset, apply_overrides(preset, kept)) == kept
