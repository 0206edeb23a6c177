"""Trust marks: what this user set, or agreed to, on this machine. A session cannot contain its own mark.

Sessions travel: as a clone, a copy, an import, an attachment. So what a session asks for (agent, tools, scope) counts
only with a mark that is not part of it. A mark is a keyed hash of the session's place, its id and exactly what was
agreed to, in a file of this user. A session in another place, or with another request, has no mark.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.errors import StorageError
from segue.links import Link, Links, place_of

if TYPE_CHECKING:
    from datetime import datetime

    from segue.durable.folder import Folder
    from segue.links import How

KEY = "key"
_KEY_BYTES = 32
_FOLDERS, _USED = "folder:", "used"


class Trust:
    """The marks of a user; without a folder there are none, and none can be added."""

    def __init__(self, folder: Folder | None = None) -> None:
        self._folder = folder

    @property
    def links(self) -> Links:
        """Which sessions of AI tools are conversations that are here as well."""
        return Links(self._folder)

    def has_used(self, folder: str) -> bool:
        """Whether this user has started a session in the folder, or agreed to."""
        return Marks(self._folder, _FOLDERS, folder).has(_USED, folder)

    def note_folder(self, folder: str) -> None:
        """Record that this user uses the folder; without it, the user is asked."""
        with suppress(StorageError):
            Marks(self._folder, _FOLDERS, folder).put(_USED, folder)

    def of(self, url: str, session_id: str) -> Marks:
        """The marks of one session, in the store that the URL names."""
        return Marks(self._folder, place_of(url), session_id)


class Marks:
    """The marks of one session: one for each part that it asks for; a new one replaces the old."""

    def __init__(self, folder: Folder | None, place: str, session_id: str) -> None:
        self._folder = folder
        self._session = (place, session_id)

    def has(self, part: str, content: object, *, where: str = "") -> bool:
        """Whether the user agreed to exactly this; `where` distinguishes several of one part. False if unreadable."""
        if self._folder is None:
            return False
        try:
            found = self._folder.read(self._name(part, where))
            key = self._key()
        except (FileNotFoundError, StorageError):
            return False
        return hmac.compare_digest(found, self._seal(key, part, content, where))

    def put(self, part: str, content: object, *, where: str = "") -> None:
        """Record the agreement durably. StorageError if it cannot be saved: then the user is asked again."""
        if self._folder is None or self.has(part, content, where=where):
            return
        self._folder.make()
        with suppress(FileNotFoundError):
            self._write(self._key(), part, content, where)
            return
        with suppress(FileExistsError):  # another process was quicker, and its key counts
            self._folder.create(KEY, secrets.token_bytes(_KEY_BYTES))
        self._write(self._key(), part, content, where)

    def is_import_of(self, tool: str, native_id: str, created_at: datetime) -> bool:
        """Whether this machine imported our session, created then, from this session of an AI tool."""
        place, session = self._session
        wanted = (tool, native_id, place, session, "import")
        return any(
            (link.tool, link.native_id, link.place, link.session, link.how) == wanted
            and abs(link.created_at - created_at.timestamp()) <= 1
            for link in Links(self._folder).read()
        )

    def link(self, tool: str, native_id: str, created_at: datetime, how: How) -> None:
        """Record durably that this session of an AI tool and ours, created then, are one conversation."""
        place, session = self._session
        Links(self._folder).add(
            Link(
                tool=tool,
                native_id=native_id,
                place=place,
                session=session,
                created_at=int(created_at.timestamp()),
                how=how,
            )
        )

    def _write(self, key: bytes, part: str, content: object, where: str) -> None:
        assert self._folder is not None  # noqa: S101 - the caller checked
        self._folder.replace(self._name(part, where), self._seal(key, part, content, where))

    def _key(self) -> bytes:
        assert self._folder is not None  # noqa: S101 - the callers checked
        key = self._folder.read(KEY)
        if len(key) != _KEY_BYTES:
            path = self._folder.path_of(KEY)
            raise StorageError(
                f"{path} is damaged", hint="remove it; you are then asked again for what you agreed to", path=path
            )
        return key

    def _name(self, part: str, where: str) -> str:
        return hashlib.sha256(_bytes([*self._session, part, where])).hexdigest()

    def _seal(self, key: bytes, part: str, content: object, where: str) -> bytes:
        return hmac.digest(key, _bytes([*self._session, part, where, content]), "sha256").hex().encode()


def _bytes(value: object) -> bytes:
    """One encoding per value, for any value of JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr).encode()
