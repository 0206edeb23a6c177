"""The files and folders of Aurora."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class AuroraPaths(Struct, frozen=True):
    """The files and folders of Aurora in a home folder."""

    home: Path

    @property
    def sessions(self) -> Path:
        return self.home / ".aurora" / "spawn" / "sessions"

    @property
    def config(self) -> Path:
        return self.home / ".aurora" / "config.json"

    @property
    def history(self) -> Path:
        """The input history."""
        return self.home / ".aurora" / "spawn" / "history.jsonl"

    @property
    def agents(self) -> Path:
        """The folder of the user's own presets."""
        return self.home / ".aurora" / "agents"
