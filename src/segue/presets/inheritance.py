"""What a preset inherits from its parents: all settings that it does not set itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from segue.presets.preset import Preset

INHERITED = (
    "model",
    "backend",
    "temperature",
    "max_tokens",
    "num_messages",
    "tools",
    "scope_profile",
    "confirm_tool_calls",
    "system_prompt",
)
_UNSET: tuple[object, ...] = (None, "", ())


def inherit(found: Mapping[str, Preset]) -> tuple[dict[str, Preset], list[tuple[Preset, str]]]:
    """Every preset with its inherited settings, and the presets whose parents are invalid, with the reason.

    A preset overrides its parents, and a later parent overrides an earlier one.
    """
    resolved: dict[str, Preset] = {}
    flaws: list[tuple[Preset, str]] = []
    for name, preset in found.items():
        ancestors = list(_ancestors(preset, found))
        missing = [parent for parent in preset.parents if parent not in found]
        flaws += [(preset, f"its parent {parent!r} does not exist") for parent in missing]
        if preset in ancestors:
            flaws.append((preset, f"it is its own ancestor, through {', '.join(preset.parents)}"))
        resolved[name] = _fill(preset, ancestors)
    return resolved, flaws


def _ancestors(preset: Preset, found: Mapping[str, Preset]) -> Iterator[Preset]:
    """All ancestors, each once, in the order in which their settings apply."""
    seen: set[str] = set()
    pending = [*preset.parents]
    while pending:
        name = pending.pop()  # the last parent overrides the others
        if name in found and name not in seen:
            seen.add(name)
            yield found[name]
            pending += found[name].parents


def _fill(preset: Preset, ancestors: Sequence[Preset]) -> Preset:
    if not ancestors:
        return preset
    ranked = (preset, *ancestors)
    inherited = {
        name: next((value for one in ranked if (value := getattr(one, name)) not in _UNSET), getattr(preset, name))
        for name in INHERITED
    }
    extra = {key: value for one in reversed(ranked) for key, value in one.extra.items()}
    return replace(preset, **inherited, extra=extra)
