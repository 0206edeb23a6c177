"""What a preset takes over from the presets it builds on: whatever it does not say itself."""

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
_NOTHING: tuple[object, ...] = (None, "", ())


def inherit(found: Mapping[str, Preset]) -> tuple[dict[str, Preset], list[tuple[Preset, str]]]:
    """Every preset with what its parents say, and what is wrong with whose parents.

    A preset wins over its parents and a later parent over an earlier one, as if they were applied in this order.
    """
    whole: dict[str, Preset] = {}
    flaws: list[tuple[Preset, str]] = []
    for name, preset in found.items():
        ancestors = list(_ancestors(preset, found))
        missing = [parent for parent in preset.parents if parent not in found]
        flaws += [(preset, f"there is no preset {parent!r} to build on") for parent in missing]
        if preset in ancestors:
            flaws.append((preset, f"it builds on itself, through {', '.join(preset.parents)}"))
        whole[name] = _filled(preset, ancestors)
    return whole, flaws


def _ancestors(preset: Preset, found: Mapping[str, Preset]) -> Iterator[Preset]:
    """The nearest in rank first, each once: what it has said, it need not say again."""
    seen: set[str] = set()
    ahead = [*preset.parents]
    while ahead:
        name = ahead.pop()  # the last parent is the first to be asked
        if name in found and name not in seen:
            seen.add(name)
            yield found[name]
            ahead += found[name].parents


def _filled(preset: Preset, ancestors: Sequence[Preset]) -> Preset:
    if not ancestors:
        return preset
    ranked = (preset, *ancestors)
    said = {
        name: next((value for one in ranked if (value := getattr(one, name)) not in _NOTHING), getattr(preset, name))
        for name in INHERITED
    }
    extra = {key: value for one in reversed(ranked) for key, value in one.extra.items()}
    return replace(preset, **said, extra=extra)
