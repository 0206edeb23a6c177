"""Where VS Code and the editors made from it store the data of the user."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

VSCODE = ("Code", "Code - Insiders", "VSCodium", "VSCodium - Insiders")
OTHERS = ("Cursor", "Windsurf", "Trae", "Positron", "Antigravity")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscodium-server", ".cursor-server")


def user_folders(home: Path, environ: Mapping[str, str], editors: tuple[str, ...] = (*VSCODE, *OTHERS)) -> list[Path]:
    """The folders `User` of these editors, whether they exist or not; those of their servers are at the end."""
    if sys.platform == "darwin":
        settings = home / "Library" / "Application Support"
    else:
        settings = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [*(settings / editor / "User" for editor in editors), *(home / name / "data" / "User" for name in _SERVERS)]
