"""The folders of this user: the configuration, the default store, and the cache with the index."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from segue.durable.folder import Folder

_STORE = re.compile(rb"^[ \t\"']*store[ \t\"']*=", re.MULTILINE)


def config_path() -> Path:
    """The only configuration file. A project has none: whoever wrote it must not choose the store of this machine."""
    from platformdirs import user_config_path

    return user_config_path("segue") / "config.toml"


INDEX_NAME = "catalog.sqlite3"
"""The file of the index in the cache folder."""


def default_store_url() -> str:
    """The store that is used when none is named: that of `SEGUE_STORE`, else `store` in the configuration of the user.

    Without both it is a journal in the user's state folder. UsageError if the configuration cannot be used.
    """
    if url := os.environ.get("SEGUE_STORE") or configured_store():
        return url
    from platformdirs import user_state_path

    return f"journal:{user_state_path('segue') / 'sessions'}"


def configured_store() -> str:
    """The setting `store` of the configuration; empty without it."""
    path = config_path()
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        from segue.durable.kernel import storage_error

        raise storage_error(error, str(path), "read") from None
    if _STORE.search(data) is None:  # so that most calls need no parser
        return ""
    from segue.errors import UsageError
    from segue.formats.config import InvalidConfigError, line_of, load_toml

    try:
        url = load_toml(data).get("store", "")
    except InvalidConfigError as error:
        raise UsageError(f"{path} line {error.line}: {error}", hint="correct it, or remove the line") from None
    where = url.partition(":")[2] if isinstance(url, str) else ""
    if url != "" and not where.startswith(("/", "~")):
        from segue.formats.store_url import hide_password

        line, shown = line_of(data.decode(), "store"), hide_password(url) if isinstance(url, str) else url
        raise UsageError(
            f"{path} line {line}: store must be a store with an absolute path, not {shown!r:.60}",
            hint='as in store = "journal:~/notes" or "postgresql://db.example/sessions"',
        )
    return str(url)


def cache_folder() -> Folder:
    """The folder of the index; it can be deleted at any time."""
    from platformdirs import user_cache_path

    from segue.durable.folder import Folder

    return Folder(os.path.realpath(user_cache_path("segue")))
