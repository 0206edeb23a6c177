"""Where a program is: the one lookup for everything that Segue starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """The file that a command names, or None. Starts nothing.

    A name with a slash is a path. Any other is looked for in the absolute folders of the PATH alone: an empty or a
    relative element means the folder one is in, where a stranger's project may keep a program called `claude`.
    """
    if "\0" in name:
        return None
    if os.sep in name:
        return name if _is_program(Path(name)) else None
    folders = (Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder.startswith(os.sep))
    return next((str(folder / name) for folder in folders if name and _is_program(folder / name)), None)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
