"""What each integration declares is what its folder has."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue.integrations
from segue.cli import resume
from segue.integrations.aider import history as aider
from segue.integrations.claude import history as claude
from segue.integrations.claude import launcher as claude_launcher
from segue.integrations.claude import mcp as claude_mcp
from segue.integrations.codex import history as codex
from segue.integrations.codex import launcher as codex_launcher
from segue.integrations.codex import mcp as codex_mcp
from segue.integrations.crush import history as crush
from segue.integrations.gemini import history as gemini
from segue.integrations.gemini import launcher as gemini_launcher
from segue.integrations.gemini import mcp as gemini_mcp
from segue.integrations.goose import history as goose
from segue.integrations.kilo import history as kilo
from segue.integrations.kilo import launcher as kilo_launcher
from segue.integrations.kilo import mcp as kilo_mcp
from segue.integrations.llm import history as llm
from segue.integrations.opencode import history as opencode
from segue.integrations.opencode import launcher as opencode_launcher
from segue.integrations.opencode import mcp as opencode_mcp
from segue.integrations.pi import history as pi
from segue.integrations.pi import launcher as pi_launcher
from segue.integrations.qwen import history as qwen
from segue.integrations.qwen import launcher as qwen_launcher
from segue.integrations.registry import INTEGRATIONS, MODULES, launchable
from segue.integrations.zed import history as zed

if TYPE_CHECKING:
    from segue.integrations.shared.integration import (
        HistoryModule,
        LauncherModule,
        McpConfigModule,
        PreviewHistoryModule,
    )

# The type checker compares each module with its protocol.
HISTORIES: list[HistoryModule] = [aider, claude, codex, crush, gemini, goose, kilo, llm, opencode, pi, qwen, zed]
PREVIEWS: list[PreviewHistoryModule] = [claude, codex, gemini, kilo, opencode, pi, qwen]
LAUNCHERS: list[LauncherModule] = [
    claude_launcher,
    codex_launcher,
    gemini_launcher,
    kilo_launcher,
    opencode_launcher,
    pi_launcher,
    qwen_launcher,
]
MCP_CONFIGS: list[McpConfigModule] = [claude_mcp, codex_mcp, gemini_mcp, kilo_mcp, opencode_mcp]


def test_every_folder_of_an_integration_is_registered() -> None:
    root = Path(segue.integrations.__file__).parent
    folders = {path.parent.name for path in root.glob("*/history.py")} - {"shared"}
    assert folders == set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_what_an_integration_declares_is_what_its_folder_has(name: str) -> None:
    integration = INTEGRATIONS[name]
    assert integration.name == name
    declared = (integration.has_history, integration.can_launch, integration.has_mcp_config)
    assert declared == tuple(
        find_spec(f"{MODULES[name]}.{part}") is not None for part in ("history", "launcher", "mcp")
    )
    assert integration.can_preview == hasattr(integration.history, "preview")
    assert (integration.history in HISTORIES, integration.history in PREVIEWS) == (True, integration.can_preview)
    assert not integration.can_launch or integration.launcher in LAUNCHERS
    assert not integration.has_mcp_config or integration.mcp_config in MCP_CONFIGS


def test_the_help_names_every_tool_that_can_continue_a_conversation() -> None:
    offered = {option.name: getattr(option, "help", "") for option in resume.command.params}
    assert ", ".join(launchable()) in offered["tool"]


def test_listing_sessions_starts_no_launcher_and_knows_no_writer(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from segue.integrations.registry import integration_sources\n"
        "integration_sources(Path(sys.argv[1]), {})\n"
        "print([name for name in sys.modules if name.endswith(('.launcher', '.writer')) and 'integrations' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
