"""Tools for files and folders. Paths are checked as they resolve, and opened without following links."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from segue.durable.descent import HeldFolder, descend
from segue.tools.call import ToolFailedError
from segue.tools.tool import PermissionRequest, ToolContext

READ_BYTES = 8 << 20
"""Larger files are not read: hardly any text is this long."""
_ENTRIES = 1000
_NOT_TEXT = "it is not a UTF-8 text file"

PathText = Annotated[str, Meta(min_length=1, description="absolute, or relative to the working folder")]


class ReadFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Read a text file. A long file is returned in parts: the result ends with the first_line of the next part."""

    path: PathText
    first_line: Annotated[int, Meta(ge=1, description="the line to start from, counted from 1")] = 1

    may_change: ClassVar[bool] = False

    @property
    def request(self) -> PermissionRequest:
        return PermissionRequest("read", self.path)

    def run(self, context: ToolContext, path: str) -> str:
        folder, name = split_path(path)
        with descend(folder) as held:
            text = read_text_file(held, name)
        lines = text.splitlines(keepends=True)
        if self.first_line > max(1, len(lines)):
            raise ToolFailedError(f"{self.path} has {len(lines)} lines")
        end, used = self.first_line - 1, 0
        while end < len(lines) and (used := used + len(lines[end])) <= context.limit:
            end += 1
        if end == len(lines):
            return "".join(lines[self.first_line - 1 :]) or "[the file is empty]"
        if end < self.first_line:  # one line alone is too long
            return f"{lines[end][: context.limit]}\n[line {end + 1} of {len(lines)} is longer, and cut here]"
        shown = "".join(lines[self.first_line - 1 : end])
        return f"{shown}[lines {self.first_line} to {end} of {len(lines)}; continue with first_line {end + 1}]"


class WriteFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Write a whole text file: its previous content is replaced. Missing folders are created."""

    path: PathText
    content: str

    may_change: ClassVar[bool] = True

    @property
    def request(self) -> PermissionRequest:
        return PermissionRequest("write", self.path)

    def run(self, context: ToolContext, path: str) -> str:
        del context
        try:
            data = self.content.encode()
        except UnicodeEncodeError:
            raise ToolFailedError("the content contains unpaired surrogates, which UTF-8 cannot encode") from None
        folder, name = split_path(path)
        with descend(folder, make=True) as held:
            existed = held.write(name, data)
        return f"{self.path} was {'replaced' if existed else 'written'}: {len(data):,} bytes"


class ListDir(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List a folder: folders end in a slash, files are shown with their size."""

    path: PathText = "."

    may_change: ClassVar[bool] = False

    @property
    def request(self) -> PermissionRequest:
        return PermissionRequest("read", self.path)

    def run(self, context: ToolContext, path: str) -> str:
        del context
        with descend(path) as held:
            entries = held.entries()
        suffixes = {"folder": "/", "link": " (a link)", "other": " (not a regular file)"}
        lines = [
            f"{entry.name}{suffixes.get(entry.kind, f' ({entry.size_bytes:,} bytes)')}" for entry in entries[:_ENTRIES]
        ]
        if len(entries) > _ENTRIES:
            lines.append(f"[{len(entries) - _ENTRIES:,} more]")
        return "\n".join(lines) or "[the folder is empty]"


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
