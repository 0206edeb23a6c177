"""What each integration declares is what its folder has."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue.integrations
from segue.cli import resume
from segue.integrations.registry import INTEGRATIONS, MODULES, launchable
from segue.integrations.shared.integration import (
    HistoryModule,
    LauncherModule,
    McpConfigModule,
    PreviewHistoryModule,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def parameters(function: Callable[..., object]) -> list[tuple[str, object]]:
    """The parameters of a function with their types, as they are written."""
    found = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.annotation) for parameter in found if parameter.name != "self"]


def check_module(module: object, protocol: type) -> None:
    for name, declared in vars(protocol).items():
        if inspect.isfunction(declared) and not name.startswith("_"):
            assert parameters(getattr(module, name)) == parameters(declared), f"{module}: {name}"


def test_every_folder_of_an_integration_is_registered() -> None:
    root = Path(segue.integrations.__file__).parent
    folders = {path.parent.name for path in root.glob("*/history.py")} - {"shared"}
    assert {f"segue.integrations.{folder}" for folder in folders} == set(MODULES.values())


@pytest.mark.parametrize("name", MODULES)
def test_what_an_integration_declares_is_what_its_folder_has(name: str) -> None:
    integration = INTEGRATIONS[name]
    assert integration.name == name
    declared = (integration.has_history, integration.can_launch, integration.has_mcp_config)
    assert declared == tuple(
        find_spec(f"{MODULES[name]}.{part}") is not None for part in ("history", "launcher", "mcp")
    )
    assert integration.can_preview == hasattr(integration.history, "preview")
    check_module(integration.history, HistoryModule)
    if integration.can_preview:
        check_module(integration.history, PreviewHistoryModule)
    if integration.can_launch:
        check_module(integration.launcher, LauncherModule)
    if integration.has_mcp_config:
        check_module(integration.mcp_config, McpConfigModule)


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
