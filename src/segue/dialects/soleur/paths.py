"""The files and folders of Soleur, and the names of projects."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from segue.ids import ascii_slug, slug

SHIPPED = Path(__file__).parent / "agents"
"""The presets that come with the command."""


class SoleurPaths(Struct, frozen=True):
    """The files and folders of Soleur in a home folder."""

    home: Path

    @property
    def sessions(self) -> Path:
        return self.home / ".soleur" / "sessions"

    @property
    def decisions(self) -> Path:
        return self.home / ".soleur" / "decisions"

    @property
    def history(self) -> Path:
        """The input history."""
        return self.home / ".soleur" / "history.jsonl"

    @property
    def agents(self) -> Path:
        """The folder of the user's own presets."""
        return self.home / ".soleur" / "agents"


def project_name(folder: Path) -> str:
    """The name of the project of a folder: that of the repository, or else of the folder."""
    root = next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)
    return root.name or "root"


def file_name(project: str) -> str:
    """A name that is valid on any file system; a hash if the name of the project has no usable letters."""
    return slug(project, limit=80) or _hashed_name(project)


def old_file_name(project: str) -> str:
    """The name that earlier versions used, which had no spelling for letters outside of ASCII."""
    return ascii_slug(project, limit=80) or _hashed_name(project)


def _hashed_name(project: str) -> str:
    digest = hashlib.sha256(project.encode("utf-8", "surrogateescape")).hexdigest()
    return f"project-{digest[:8]}"
