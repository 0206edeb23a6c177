"""The settings of conversations in `~/.aurora/config.json`, under `spawner.interactive`.

An unreadable file or an invalid value causes a warning, and the default is used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from segue.chat.conversation import MAX_TOKENS
from segue.durable.small_file import CONFIG_BYTES, UnusableFileError, read_small_file
from segue.errors import SegueError
from segue.formats.config import find_problems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECTION = "spawner.interactive."
_LONGEST_DAYS = 36_500
_LARGEST = 1 << 53


class AuroraConfig(Struct, frozen=True, kw_only=True):
    """The settings that `aur spawn` reads."""

    session_expiry_days: Annotated[
        Annotated[int, Meta(ge=1, le=_LONGEST_DAYS)] | None,
        Meta(description=f"a number of days from 1 to {_LONGEST_DAYS:,}, or null"),
    ] = None
    """None: sessions are never cleaned automatically."""
    max_tokens: Annotated[int, Meta(ge=1, le=_LARGEST, description="a number of tokens")] = MAX_TOKENS
    trim_strategy: Annotated[Literal["sliding"], Meta(description='"sliding"')] = "sliding"
    """How a long conversation is cut: its first two and last ten turns are kept."""
    auto_save_turns: Annotated[int, Meta(ge=1, le=_LARGEST, description="a number of turns")] = 1
    """Accepted for compatibility: every turn is saved before the next prompt."""


def load_config(path: Path) -> tuple[AuroraConfig, list[str]]:
    """The settings, and warnings about the file."""
    try:
        data = read_small_file(str(path), size_bytes=CONFIG_BYTES)
    except FileNotFoundError:
        return AuroraConfig(), []
    except UnusableFileError as error:
        return AuroraConfig(), [f"{path}: {error}; the defaults are used"]
    except SegueError as error:
        return AuroraConfig(), [f"{error}; the defaults are used"]
    try:
        found = json.loads(data)
        values = dict(_flatten("", found))
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return AuroraConfig(), [f"{path} is not JSON ({reason}); the defaults are used"]
    if not isinstance(found, dict):
        return AuroraConfig(), [f"{path} is not a JSON object; the defaults are used"]
    known = {name: values[SECTION + name] for name in AuroraConfig.__struct_fields__ if SECTION + name in values}
    problems = list(find_problems(known, AuroraConfig, SECTION))
    invalid = {problem.key.removeprefix(SECTION) for problem in problems}
    config = msgspec.convert({name: value for name, value in known.items() if name not in invalid}, AuroraConfig)
    return config, [f"{path}: {problem.reason}; the default is used" for problem in problems]


def _flatten(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    """Every value with its dotted path: nested objects and dotted keys are equivalent."""
    if not isinstance(value, dict):
        yield prefix.removesuffix("."), value
        return
    for name, inner in value.items():
        yield from _flatten(f"{prefix}{name}.", inner)
