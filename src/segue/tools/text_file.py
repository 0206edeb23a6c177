"""Reads text files for the tools, at paths that were resolved and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.tools.call import ToolFailedError

if TYPE_CHECKING:
    from segue.durable.descent import HeldFolder

READ_BYTES = 8 << 20
"""Larger files are not read: hardly any text is this long."""
_NOT_TEXT = "it is not a UTF-8 text file"


def split_path(path: str) -> tuple[str, str]:
    """The folder of a resolved path, and the name in it."""
    folder, _, name = path.rpartition("/")
    if not name:
        raise ToolFailedError("it is a folder")
    return folder, name


def read_text_file(held: HeldFolder, name: str) -> str:
    data, size = held.read(name, size_bytes=READ_BYTES)
    if size > READ_BYTES:
        raise ToolFailedError(f"it is too large: {size:,} bytes")
    if b"\0" in data:
        raise ToolFailedError(_NOT_TEXT)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ToolFailedError(_NOT_TEXT) from None
