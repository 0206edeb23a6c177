"""The folders in which the commands store everything that is not a session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from segue.durable.folder import Folder

if TYPE_CHECKING:
    from segue.model import JsonObject
    from segue.trust import Trust


def trust_folder() -> Folder:
    """The folder that records what this user has set or agreed to on this machine."""
    from platformdirs import user_state_path

    return Folder(os.path.realpath(user_state_path("segue") / "trust"))


def machine_trust() -> Trust:
    """What this user has set or agreed to on this machine."""
    from segue.trust import Trust

    return Trust(trust_folder())


def origin_here(folder: Path) -> JsonObject:
    """What a session that the user starts in this folder records about it; from now on, the user has used it."""
    from segue.project import origin_of

    origin = origin_of(folder, os.environ)
    machine_trust().note_folder(str(origin["cwd"]))
    return origin


def conversation_folders() -> tuple[Path, ...]:
    """The folders in which our commands store the input history (`history.jsonl`) and unfinished answers (`drafts`)."""
    from platformdirs import user_state_path

    home = Path.home()
    return user_state_path("segue"), home / ".aurora" / "spawn", home / ".soleur", home / ".cortext"
