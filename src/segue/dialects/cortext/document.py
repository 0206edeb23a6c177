"""The document of a conversation belongs to people; one block in it, between two comments, is kept up to date.

The first comment carries the hash of what stands between the two. So a block that a person has edited is known and left
alone, and no other byte of the document is ever touched.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.durable.snapshot import read_signature

if TYPE_CHECKING:
    from segue.durable.folder import Folder

_BEGIN = re.compile(rb"^<!-- segue:begin sha256:([0-9a-f]{64}) -->[ \t]*\r?\n", re.MULTILINE)
_END = re.compile(rb"^<!-- segue:end -->[ \t]*\r?$", re.MULTILINE)
_ANY_MARKER = re.compile(rb"<!--\s*segue:(?:begin|end)\b")


class BlockError(ValueError):
    """Why the block is not written."""


class Written(Struct, frozen=True, kw_only=True):
    """What became of the block."""

    changed: bool = False
    problem: str = ""
    """Why it was left as it is, for the person; empty if all is well."""


def write_block(folder: Folder, name: str, body: str, *, add: bool = False) -> Written:
    """Put the body into the block of a document: the new document is there whole, or the old one is.

    With `add`, a document without a block gets one at its end.
    """
    before = read_signature(folder, name)
    try:
        old = folder.read(name)
        new = with_block(old, body, add=add)
    except FileNotFoundError:
        return Written(problem=f"there is no {name} any more, so the transcript is in .session/ only")
    except BlockError as error:
        return Written(problem=f"{name} was left as it is: {error}")
    if new == old:
        return Written()
    mode = os.lstat(folder.path_of(name)).st_mode
    fd, temporary = folder.begin(new, name)
    try:
        with folder.storage_errors(name, "write"):
            folder.kernel.fchmod(fd, mode & 0o777)  # a person's file keeps who may read it
    finally:
        folder.kernel.close(fd)
    if read_signature(folder, name) != before:
        folder.discard(temporary)
        return Written(
            problem=f"{name} was left as it is: somebody wrote to it at this moment; stop again to try again"
        )
    folder.rename(temporary, name)
    return Written(changed=True)


def with_block(document: bytes, body: str, *, add: bool = False) -> bytes:
    """The document with this block, every byte outside of it as it was. Raises BlockError."""
    block = _block(body)
    if _ANY_MARKER.search(document) is None:
        if not add:
            lines = _block("").decode().strip().replace("\n", " and ")
            raise BlockError(f"it has no block to write the transcript into; these two lines make one: {lines}")
        gap = b"" if not document or document.endswith(b"\n\n") else b"\n" if document.endswith(b"\n") else b"\n\n"
        return document + gap + block
    begins, ends = list(_BEGIN.finditer(document)), list(_END.finditer(document))
    if len(begins) != 1 or len(ends) != 1 or begins[0].end() > ends[0].start():
        raise BlockError("one of the two comments around the transcript was removed, changed or doubled; put it back")
    inner = document[begins[0].end() : ends[0].start()]
    if _hash(inner) != begins[0][1]:
        raise BlockError(
            "somebody edited between the two comments around the transcript; move the edit out of them, or remove both"
            " comments to keep it"
        )
    if inner.replace(b"\r\n", b"\n") == _inner(body):
        return document
    return document[: begins[0].start()] + block.removesuffix(b"\n") + document[ends[0].end() :]


def _block(body: str) -> bytes:
    inner = _inner(body)
    return b"<!-- segue:begin sha256:%s -->\n%s<!-- segue:end -->\n" % (_hash(inner), inner)


def _inner(body: str) -> bytes:
    # What a stranger said must neither end the block nor hide what follows.
    text = body.strip("\n").replace("\r\n", "\n").replace("<!--", "&lt;!--")
    return f"\n{text}\n\n".encode("utf-8", "backslashreplace") if text else b""


def _hash(inner: bytes) -> bytes:
    return hashlib.sha256(inner.replace(b"\r\n", b"\n")).hexdigest().encode()
