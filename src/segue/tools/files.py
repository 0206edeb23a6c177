"""Files and folders. Every path was judged as it resolves, and is reached without following a link."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from segue.durable.descent import HeldFolder, descend
from segue.tools.call import ToolFailedError
from segue.tools.tool import PermissionRequest, ToolContext

READ_BYTES = 8 << 20
"""Of a larger file nothing is read: it is no text that anybody writes."""
_ENTRIES = 1000
_NO_TEXT = "it is no text in UTF-8"

PathText = Annotated[str, Meta(min_length=1, description="absolute, or from the folder that you work in")]


class ReadFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Read a text file. Of a long one you get the first lines, and are told how to go on."""

    path: PathText
    first_line: Annotated[int, Meta(ge=1, description="where to begin, counted from 1")] = 1

    changes: ClassVar[bool] = False

    @property
    def wish(self) -> PermissionRequest:
        return PermissionRequest("read", self.path)

    def run(self, room: ToolContext, place: str) -> str:
        folder, name = split(place)
        with descend(folder) as held:
            text = text_of(held, name)
        lines = text.splitlines(keepends=True)
        if self.first_line > max(1, len(lines)):
            raise ToolFailedError(f"{self.path} has {len(lines)} lines")
        end, used = self.first_line - 1, 0
        while end < len(lines) and (used := used + len(lines[end])) <= room.limit:
            end += 1
        if end == len(lines):
            return "".join(lines[self.first_line - 1 :]) or "[the file is empty]"
        if end < self.first_line:  # one line alone is too long
            return f"{lines[end][: room.limit]}\n[line {end + 1} of {len(lines)} goes on]"
        shown = "".join(lines[self.first_line - 1 : end])
        return f"{shown}[lines {self.first_line} to {end} of {len(lines)}; first_line {end + 1} goes on]"


class WriteFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Write a text file, whole: what it held before is replaced. Folders that are missing are made."""

    path: PathText
    content: str

    changes: ClassVar[bool] = True

    @property
    def wish(self) -> PermissionRequest:
        return PermissionRequest("write", self.path)

    def run(self, room: ToolContext, place: str) -> str:
        del room
        try:
            data = self.content.encode()
        except UnicodeEncodeError:
            raise ToolFailedError("the content holds halves of characters, which no file can") from None
        folder, name = split(place)
        with descend(folder, make=True) as held:
            was_there = held.write(name, data)
        return f"{self.path} is {'replaced' if was_there else 'written'}: {len(data):,} bytes"


class ListDir(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List a folder: folders with a slash behind them, files with their size."""

    path: PathText = "."

    changes: ClassVar[bool] = False

    @property
    def wish(self) -> PermissionRequest:
        return PermissionRequest("read", self.path)

    def run(self, room: ToolContext, place: str) -> str:
        del room
        with descend(place) as held:
            entries = held.entries()
        lines = []
        for entry in entries[:_ENTRIES]:
            about = {"folder": "/", "link": " (a link)", "other": " (no regular file)"}
            lines.append(f"{entry.name}{about.get(entry.kind, f' ({entry.size_bytes:,} bytes)')}")
        if len(entries) > _ENTRIES:
            lines.append(f"[{len(entries) - _ENTRIES:,} more]")
        return "\n".join(lines) or "[the folder is empty]"


def split(place: str) -> tuple[str, str]:
    """The folder of a resolved path, and the name in it."""
    folder, _, name = place.rpartition("/")
    if not name:
        raise ToolFailedError("it is a folder")
    return folder, name


def text_of(held: HeldFolder, name: str) -> str:
    data, size = held.read(name, size_bytes=READ_BYTES)
    if size > READ_BYTES:
        raise ToolFailedError(f"it is too large: {size:,} bytes")
    if b"\0" in data:
        raise ToolFailedError(_NO_TEXT)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ToolFailedError(_NO_TEXT) from None
