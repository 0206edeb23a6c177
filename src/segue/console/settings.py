"""The configuration file, and all else that a conversation finds on this machine."""

from __future__ import annotations

import os
import re
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.kernel import storage_error
from segue.durable.small_file import CONFIG_BYTES, UnusableFileError, read_small_file
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import UnionType

    from segue.chat.agents.resolver import AgentResolver, ChatSettings
    from segue.model import Overview
    from segue.permissions import Protected
    from segue.presets import Preset
    from segue.tools.executor import Approver
    from segue.tools.mcp import McpServer

_KEYS: dict[str, tuple[type | UnionType, str]] = {
    "agent": (str, "a text"),
    "model": (str, "a text"),
    "max_tokens": (int, "a number of tokens"),
    "idle_minutes": (int | float, "a number of minutes, or 0 for never"),
    "openai.base_url": (str, "a text"),
    "stores": (list, 'a list of stores, as in ["cortext:~/notes"]'),
    "mcp": (dict, "tables of servers, as in [mcp.notes]"),
}

_LEAST = {"max_tokens": 1}
_LISTS = ("stores", "mcp")


def config_path() -> Path:
    from platformdirs import user_config_path

    return user_config_path("segue") / "config.toml"


def history_path() -> Path:
    """Where what was typed is kept, for the arrow keys."""
    from platformdirs import user_state_path

    return user_state_path("segue") / "history.jsonl"


def read_settings(path: Path) -> ChatSettings:
    """What the file says of conversations."""
    from segue.chat.agents.resolver import ChatSettings

    values = {name.replace(".", "_"): value for name, value in _read(path).items() if name not in _LISTS}
    return ChatSettings(**values)  # type: ignore[arg-type]  # checked


def read_stores(path: Path) -> list[str]:
    """The stores that it names, to be looked into beside the usual one."""
    from segue.registry import SCHEMES

    stores = _read(path).get("stores", [])
    assert isinstance(stores, list)  # noqa: S101 - checked
    for url in stores:
        if not isinstance(url, str) or url.partition(":")[0] not in SCHEMES:
            known = ", ".join(f"{scheme}:" for scheme in SCHEMES)
            raise UsageError(f"{path}: {url!r:.60} in stores does not name a store", hint=f"begin with one of {known}")
    return stores


def read_servers(path: Path) -> dict[str, McpServer]:
    """The MCP servers that it names."""
    tables = _read(path).get("mcp", {})
    assert isinstance(tables, dict)  # noqa: S101 - checked
    if not tables:
        return {}
    from segue.tools.mcp import server_of

    try:
        return {name: server_of(name, table) for name, table in tables.items()}
    except UsageError as error:
        raise UsageError(f"{path}: {error}", hint=error.hint) from None


def _read(path: Path) -> dict[str, object]:
    """What the file says; a file that is not there says nothing, and one that is wrong says where."""
    import tomllib

    try:
        text = read_small_file(str(path), size_bytes=CONFIG_BYTES).decode()
    except FileNotFoundError:
        return {}
    except UnusableFileError as error:
        raise _wrong(path, 1, str(error)) from None
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
    return values


def open_agents(
    *,
    confirm: Callable[[str], bool],
    notify: Callable[[str], None],
    approver: Approver | None = None,
    brings: Callable[[Overview], Preset | None] = lambda _about: None,
) -> AgentResolver:
    """Whoever can answer here: the presets of the project, of the user and of Segue, the agents of this machine.

    The `person` is asked about tools; without one, whatever would need a yes is not done.
    """
    from platformdirs import user_state_path

    from segue.chat.agents.resolver import AgentResolver, preset_folders
    from segue.chat.drafts import Drafts
    from segue.console.paths import trust_folder
    from segue.tools.approval import NoApprover
    from segue.tools.toolbox import Toolbox
    from segue.trust import Trust

    toolbox = Toolbox(
        cwd=here(),
        root=project_root(here()),
        home=Path.home(),
        state=user_state_path("segue") / "scope",
        profiles=[config_path().parent / "scopes"],
        protected=protected_places(),
        environ=os.environ,
        servers=read_servers(config_path()),
        approver=approver or NoApprover(),
        notify=notify,
    )
    return AgentResolver(
        environ=os.environ,
        folders=[*own_presets(), *preset_folders(here())],
        trusted=own_presets(),
        settings=read_settings(config_path()),
        confirm=confirm,
        trust=Trust(trust_folder()),
        notify=notify,
        titles=True,
        brings=brings,
        drafts=Drafts(user_state_path("segue") / "drafts"),
        toolbox=toolbox,
    )


def own_presets() -> tuple[Path, ...]:
    """The folders of the presets that no project can replace: the user's own, then those that come with Segue."""
    from segue.presets import SHIPPED

    return config_path().parent / "agents", Path.home() / ".claude" / "agents", SHIPPED


def protected_places() -> Protected:
    """What no scope opens to an agent: the folders of Segue, and those of the stores that are configured."""
    from platformdirs import user_cache_path, user_config_path, user_state_path

    from segue.permissions import Protected

    found = Protected(secret=tuple(str(path("segue")) for path in (user_state_path, user_config_path, user_cache_path)))
    for url in (os.environ.get("SEGUE_STORE", ""), "gptel:~/.gptel/sessions", *read_stores(config_path())):
        found = found.beside(url, "", root="")
    return found


def project_root(cwd: Path) -> Path:
    """The repository that one is in, or else the folder."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


def here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise storage_error(error, "the folder you are in", "find") from None


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
    if isinstance(value, int | float) and not _LEAST.get(name, 0) <= value < inf:
        raise _wrong(path, line, f"{name} must be {words}, not {value}")


def _wrong(path: Path, line: int, reason: str, *, hint: str = "correct it, or remove the line") -> UsageError:
    return UsageError(f"{path} line {line}: {reason}", hint=hint)
