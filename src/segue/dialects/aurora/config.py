"""What `~/.aurora/config.json` says about conversations, under `spawner.interactive`; defaults where it says nothing.

A file that cannot be read, and a value that cannot be meant, cost a warning and nothing else.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.chat.conversation import MAX_TOKENS
from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import SegueError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECTION = "spawner.interactive."
STRATEGIES = ("sliding",)
"""How a long conversation is cut: its first two and last ten turns stay."""

_LIMIT_BYTES = 1 << 20
_LONGEST_DAYS = 36_500


class AuroraConfig(Struct, frozen=True, kw_only=True):
    session_expiry_days: int | None = None
    """None: nothing is ever cleaned by itself."""
    max_tokens: int = MAX_TOKENS
    trim_strategy: str = STRATEGIES[0]
    auto_save_turns: int = 1
    """A promise that is always kept, since every turn is saved before the next prompt."""


def load_config(path: Path) -> tuple[AuroraConfig, list[str]]:
    """The settings, and what is wrong with the file."""
    try:
        data = read_small_file(str(path), size_bytes=_LIMIT_BYTES)
    except FileNotFoundError:
        return AuroraConfig(), []
    except UnusableFileError as error:
        return AuroraConfig(), [f"{path}: {error}; defaults are used"]
    except SegueError as error:
        return AuroraConfig(), [f"{error}; defaults are used"]
    try:
        found = json.loads(data)
        values = dict(_flat("", found))
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return AuroraConfig(), [f"{path} is not JSON ({reason}); defaults are used"]
    if not isinstance(found, dict):
        return AuroraConfig(), [f"{path} holds no JSON object; defaults are used"]
    return _settings(path, values)


def _flat(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    """Every value with its path: nested objects and dotted keys say the same."""
    if not isinstance(value, dict):
        yield prefix.removesuffix("."), value
        return
    for name, inner in value.items():
        yield from _flat(f"{prefix}{name}.", inner)


def _settings(path: Path, values: dict[str, object]) -> tuple[AuroraConfig, list[str]]:
    known: dict[str, object] = {}
    warnings: list[str] = []
    for name, wanted in (
        ("session_expiry_days", f"a number of days from 1 to {_LONGEST_DAYS:,}, or null"),
        ("max_tokens", "a number of tokens"),
        ("trim_strategy", f'"{STRATEGIES[0]}"'),
        ("auto_save_turns", "a number of turns"),
    ):
        if SECTION + name not in values:
            continue
        value = values[SECTION + name]
        if _is_meant(name, value):
            known[name] = value
        else:
            shown = json.dumps(value, ensure_ascii=False)
            warnings.append(f"{path}: {SECTION}{name} is {shown:.60}, and not {wanted}; the default is used")
    return AuroraConfig(**known), warnings  # type: ignore[arg-type]  # each was looked at above


def _is_meant(name: str, value: object) -> bool:
    match name:
        case "trim_strategy":
            return value in STRATEGIES
        case "session_expiry_days" if value is None:
            return True
        case "session_expiry_days":
            return _is_number(value, _LONGEST_DAYS)
        case _:
            return _is_number(value)


def _is_number(value: object, most: int = 1 << 53) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most
