"""The configuration file, and all else that a conversation finds on this machine."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from segue.chat.company import Company, Settings, preset_folders
from segue.durable.kernel import explain
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_KEYS: dict[str, tuple[type, str]] = {
    "agent": (str, "a text"),
    "model": (str, "a text"),
    "max_tokens": (int, "a number of tokens"),
    "openai.base_url": (str, "a text"),
}


def config_path() -> Path:
    from platformdirs import user_config_path

    return user_config_path("segue") / "config.toml"


def history_path() -> Path:
    """Where what was typed is kept, for the arrow keys."""
    from platformdirs import user_state_path

    return user_state_path("segue") / "history.jsonl"


def read_settings(path: Path) -> Settings:
    """What the file says; a file that is not there says nothing, and one that is wrong says where."""
    try:
        text = path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except OSError as error:
        raise explain(error, str(path), "read") from None
    except UnicodeDecodeError as error:
        raise _wrong(path, error.object.count(b"\n", 0, error.start) + 1, "it is not UTF-8") from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).partition(" (at ")
        number = re.match(r"line (\d+)", place)
        line = int(number[1]) if number else text.count("\n") + 1
        raise _wrong(path, line, f"it is not TOML: {reason[:1].lower()}{reason[1:]}") from None
    values = {
        name: value
        for key, one in found.items()
        for name, value in (_flat(key, one) if _is_table(key) else ((key, one),))
    }
    for name, value in values.items():
        _check(path, text, name, value)
    return Settings(**{name.replace(".", "_"): value for name, value in values.items()})  # type: ignore[arg-type]  # checked


def open_company(*, confirm: Callable[[str], bool], tell: Callable[[str], None]) -> Company:
    """Whoever can answer here: the presets of the project and of the user, the agents of this machine."""
    own = (config_path().parent / "agents", Path.home() / ".claude" / "agents")
    return Company(
        environ=os.environ,
        folders=[*preset_folders(here()), *own],
        trusted=own,
        settings=read_settings(config_path()),
        confirm=confirm,
        tell=tell,
        titles=True,
    )


def here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise explain(error, "the folder you are in", "find") from None


def _is_table(key: str) -> bool:
    return any(name.startswith(f"{key}.") for name in _KEYS)


def _flat(key: str, table: object) -> list[tuple[str, object]]:
    return [(f"{key}.{name}", value) for name, value in table.items()] if isinstance(table, dict) else [(key, table)]


def _check(path: Path, text: str, name: str, value: object) -> None:
    key = re.escape(name.rpartition(".")[2])
    lines = text.split("\n")
    line = next((number for number, one in enumerate(lines, 1) if re.match(rf"\s*\[?[\"']?{key}\b", one)), 1)
    if name not in _KEYS:
        raise _wrong(path, line, f"there is no setting {name!r}", hint=f"there are {', '.join(_KEYS)}")
    kind, words = _KEYS[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _wrong(path, line, f"{name} must be {words}")
    if name == "max_tokens" and isinstance(value, int) and value < 1:
        raise _wrong(path, line, f"{name} must be {words}, not {value}")


def _wrong(path: Path, line: int, reason: str, *, hint: str = "correct it, or remove the line") -> UsageError:
    return UsageError(f"{path} line {line}: {reason}", hint=hint)
