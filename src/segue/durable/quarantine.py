"""Fragments of appends that a crash cut short: set aside, and never thrown away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

from segue.ids import is_id

if TYPE_CHECKING:
    from segue.durable.folder import Folder
    from segue.durable.log import Log

QUARANTINE = ".quarantine"
_FRAGMENT = re.compile(r"(.+)\.\d+-[0-9a-f]{8}\.fragment")


def set_aside(quarantine: Folder, session_id: str, log: Log, complete: int) -> None:
    """Move the fragment of an append that never completed to the quarantine. Idempotent."""
    keep_fragment(quarantine, session_id, complete, log.read(complete))
    log.truncate(complete)


def keep_fragment(quarantine: Folder, session_id: str, offset: int, fragment: bytes) -> None:
    quarantine.make()
    try:
        quarantine.create(f"{session_id}.{offset}-{crc32(fragment):08x}.fragment", fragment)
    except FileExistsError:  # set aside before a crash that came before the truncation
        quarantine.sync()


def parse_fragment_name(name: str) -> str:
    """The session whose append this is a fragment of; empty if it is not a fragment."""
    found = _FRAGMENT.fullmatch(name)
    return found[1] if found is not None and is_id(found[1]) else ""
