"""Where the commands of this machine keep what is not a session."""

from __future__ import annotations

import os
from pathlib import Path

from segue.durable.folder import Folder


def trust_folder() -> Folder:
    """Where it is kept what this user set, or agreed to, on this machine."""
    from platformdirs import user_state_path

    return Folder(os.path.realpath(user_state_path("segue") / "trust"))


def conversation_folders() -> tuple[Path, ...]:
    """Where our commands keep what was typed in a conversation, and half answers: `history.jsonl` and `drafts`."""
    from platformdirs import user_state_path

    home = Path.home()
    return user_state_path("segue"), home / ".aurora" / "spawn", home / ".soleur", home / ".cortext"
