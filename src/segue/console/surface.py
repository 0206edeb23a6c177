"""Builds the `Surface` of a command, and the agents and tools that Segue's own commands find on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.kernel import storage_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.chat.agents.resolver import AgentResolver
    from segue.model import Overview
    from segue.permissions import ProtectedPaths
    from segue.presets import Preset, PresetSources
    from segue.surface import Surface, Terminal
    from segue.tools.approval import Approver


def here() -> Path:
    """The current folder."""
    try:
        return Path.cwd()
    except OSError as error:
        raise storage_error(error, "the folder you are in", "find") from None


def open_surface(
    *, history: Path | None = None, terminal: Terminal | None = None, notify: Callable[[str], None] | None = None
) -> Surface:
    """This machine and its user. `history` is the file with typed lines, where that is not Segue's own.

    Without a `terminal`, the standard streams are it.
    """
    from platformdirs import user_cache_path, user_config_path, user_state_path

    from segue.console import output
    from segue.surface import Paths, Surface
    from segue.tools.approval import trust_prompt

    paths = Paths(
        config=user_config_path("segue"),
        state=user_state_path("segue"),
        cache=user_cache_path("segue"),
        history=history or user_state_path("segue") / "history.jsonl",
    )
    terminal = terminal or output.conversation(paths.history)
    return Surface(
        terminal=terminal,
        cwd=here(),
        home=Path.home(),
        environ=os.environ,
        paths=paths,
        notify=notify or terminal.note,
        confirm=trust_prompt(terminal),
    )


def open_agents(
    surface: Surface,
    *,
    approver: Approver | None = None,
    needs_model: bool = False,
    preset_for: Callable[[Overview], Preset | None] = lambda _about: None,
) -> AgentResolver:
    """The agents of this machine, with the presets of the user, of Segue and of the project.

    Without an `approver`, every tool call that needs approval is denied.
    """
    from segue.chat.agents.resolver import AgentResolver
    from segue.console.settings import read_servers, read_settings
    from segue.tools.approval import NoApprover
    from segue.tools.toolbox import Toolbox
    from segue.user_folders import config_path

    toolbox = Toolbox(
        surface,
        root=project_root(surface.cwd),
        protected=protected_places(),
        servers=read_servers(config_path()),
        approver=approver or NoApprover(),
    )
    return AgentResolver(
        surface,
        sources=segue_presets(surface.cwd),
        settings=read_settings(config_path()),
        toolbox=toolbox,
        titles=True,
        needs_model=needs_model,
        preset_for=preset_for,
    )


def segue_presets(cwd: Path) -> PresetSources:
    """The presets of the user, of Segue, and of the project that a folder is in."""
    from segue.presets import preset_sources
    from segue.user_folders import config_path

    return preset_sources("segue", user=config_path().parent / "agents", home=Path.home(), cwd=cwd)


def protected_places() -> ProtectedPaths:
    """What no scope opens to an agent: the folders of Segue, and those of the configured stores."""
    from platformdirs import user_cache_path, user_config_path, user_state_path

    from segue.console.settings import read_stores
    from segue.permissions import ProtectedPaths
    from segue.user_folders import config_path, configured_store

    found = ProtectedPaths(
        secret=tuple(str(path("segue")) for path in (user_state_path, user_config_path, user_cache_path))
    )
    used = (os.environ.get("SEGUE_STORE", ""), configured_store(), "gptel:~/.gptel/sessions")
    for url in (*used, *read_stores(config_path())):
        found = found.with_store(url, "", root="")
    return found


def project_root(cwd: Path) -> Path:
    """The root of the repository that a folder is in, or else the folder."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)
