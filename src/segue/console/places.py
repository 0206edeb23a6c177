"""Where the commands of this machine keep what is not a session."""

from __future__ import annotations

import os

from segue.durable.folder import Folder


def cache_folder() -> Folder:
    """Where the index is, as long as nobody deletes it."""
    from platformdirs import user_cache_path

    return Folder(os.path.realpath(user_cache_path("segue")))


def trust_folder() -> Folder:
    """Where it is kept what this user set, or agreed to, on this machine."""
    from platformdirs import user_state_path

    return Folder(os.path.realpath(user_state_path("segue") / "trust"))
