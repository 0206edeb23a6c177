"""Where Aurora keeps things."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class AuroraPaths(Struct, frozen=True):
    home: Path

    @property
    def sessions(self) -> Path:
        return self.home / ".aurora" / "spawn" / "sessions"

    @property
    def config(self) -> Path:
        return self.home / ".aurora" / "config.json"

    @property
    def history(self) -> Path:
        """Of what was typed."""
        return self.home / ".aurora" / "spawn" / "history.jsonl"

    @property
    def agents(self) -> Path:
        """The user's own presets."""
        return self.home / ".aurora" / "agents"
