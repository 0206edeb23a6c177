"""Every integration by its name. It is imported when it is asked for; adding one takes a folder and a line here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from segue.integrations.shared.integration import Integration

if TYPE_CHECKING:
    from pathlib import Path

    from segue.index import Source

MODULES = {
    "claude": "segue.integrations.claude",
    "codex": "segue.integrations.codex",
    "gemini": "segue.integrations.gemini",
    "opencode": "segue.integrations.opencode",
    "pi": "segue.integrations.pi",
    "kilo": "segue.integrations.kilo",
    "qwen": "segue.integrations.qwen",
    "copilot": "segue.integrations.copilot",
    "llm": "segue.integrations.llm",
    "aider": "segue.integrations.aider",
    "goose": "segue.integrations.goose",
    "crush": "segue.integrations.crush",
    "zed": "segue.integrations.zed",
    "cline": "segue.integrations.cline",
    "roo": "segue.integrations.roo",
    "continue": "segue.integrations.continue_cli",
    "kimi": "segue.integrations.kimi",
    "droid": "segue.integrations.droid",
    "cursor": "segue.integrations.cursor",
    "vscode": "segue.integrations.vscode",
}
"""In the order in which they are preferred and shown."""


class _Registry(Mapping[str, Integration]):
    def __getitem__(self, name: str) -> Integration:
        found: Integration = import_module(MODULES[name]).INTEGRATION
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


INTEGRATIONS: Mapping[str, Integration] = _Registry()


def with_history() -> dict[str, Integration]:
    """Those whose sessions can be listed, read and imported."""
    return {name: one for name, one in INTEGRATIONS.items() if one.has_history}


def launchable() -> dict[str, Integration]:
    """Those to which a conversation can be handed over."""
    return {name: one for name, one in INTEGRATIONS.items() if one.can_launch}


def find_installed(environ: Mapping[str, str]) -> tuple[Integration, ...]:
    """Those to which a conversation can be handed over, and which are on the PATH. Starts nothing."""
    return tuple(one for one in launchable().values() if one.find(environ) is not None)


def integration_sources(home: Path, environ: Mapping[str, str]) -> list[Source]:
    """The sources of the index for all integrations that have sessions on this machine."""
    from segue.integrations.shared.index_source import IntegrationSource, PreviewSource

    found = [one for one in with_history().values() if _has_sessions(one, home, environ)]
    return [(PreviewSource if one.can_preview else IntegrationSource)(one, home, environ) for one in found]


def _has_sessions(integration: Integration, home: Path, environ: Mapping[str, str]) -> bool:
    try:
        return next(integration.sessions(home, environ), None) is not None
    except Exception:  # noqa: BLE001 - an unreadable folder affects only this integration
        return True  # the scan reports why it cannot be read
