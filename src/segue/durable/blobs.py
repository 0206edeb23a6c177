"""Bytes stored with a session under their hash: written once, and trusted only as long as they match it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from segue.errors import Damage, DamagedError, NotFoundError
from segue.ids import check_id

if TYPE_CHECKING:
    from segue.durable.folder import Folder

BLOBS = ".blobs"


def blobs_of(root: Folder, session_id: str) -> Folder:
    """The folder with the blobs of a session."""
    return root.sub(BLOBS).sub(check_id(session_id))


def put_blob(blobs: Folder, data: bytes) -> str:
    """Store the bytes durably, and return their name."""
    digest = hashlib.sha256(data).hexdigest()
    blobs.make()
    try:
        blobs.create(digest, data)
    except FileExistsError:
        if blobs.read(digest) != data:
            blobs.replace(digest, data)
        else:
            blobs.sync()  # a killed writer may have left the name unsynced
    return f"sha256:{digest}"


def get_blob(blobs: Folder, session_id: str, name: str) -> bytes:
    digest = check_id(name.removeprefix("sha256:"), what="blob name")
    try:
        data = blobs.read(digest)
    except FileNotFoundError:
        raise NotFoundError(
            f"session {session_id} has no blob {name}", hint="restore the session from a backup"
        ) from None
    if hashlib.sha256(data).hexdigest() != digest:
        place = blobs.path_of(digest)
        raise DamagedError(session_id, [Damage(place, "it does not match its name: some of its bytes changed")])
    return data
