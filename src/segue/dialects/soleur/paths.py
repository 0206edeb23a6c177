"""Where Soleur keeps things, and what it calls a project."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from segue.ids import slug

SHIPPED = Path(__file__).parent / "agents"
"""The presets that come with the command."""


class SoleurPaths(Struct, frozen=True):
    home: Path

    @property
    def sessions(self) -> Path:
        return self.home / ".soleur" / "sessions"

    @property
    def decisions(self) -> Path:
        return self.home / ".soleur" / "decisions"

    @property
    def history(self) -> Path:
        """Of what was typed."""
        return self.home / ".soleur" / "history.jsonl"

    @property
    def agents(self) -> Path:
        """The user's own presets."""
        return self.home / ".soleur" / "agents"


def project_of(folder: Path) -> str:
    """The name of the project one is in: of the repository, or else of the folder."""
    root = next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)
    return root.name or "root"


def file_name(project: str) -> str:
    """A name that any file system takes: a project whose name has no letters for it gets a name of its own."""
    digest = hashlib.sha256(project.encode("utf-8", "surrogateescape")).hexdigest()
    return slug(project, limit=80) or f"project-{digest[:8]}"
