"""The folders of this user: the default store, and the cache with the index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segue.durable.folder import Folder


def default_store_url() -> str:
    """The store that is used when none is named: `SEGUE_STORE`, else a journal in the user's state folder."""
    if url := os.environ.get("SEGUE_STORE"):
        return url
    from platformdirs import user_state_path

    return f"journal:{user_state_path('segue') / 'sessions'}"


def cache_folder() -> Folder:
    """The folder of the index; it can be deleted at any time."""
    from platformdirs import user_cache_path

    from segue.durable.folder import Folder

    return Folder(os.path.realpath(user_cache_path("segue")))
