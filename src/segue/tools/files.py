"""Tools for files and folders. Paths are checked as they resolve, and opened without following links."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from segue.durable.descent import descend
from segue.tools.call import ToolFailedError
from segue.tools.file_diff import diff_file, read_current, render_diff
from segue.tools.text_file import read_text_file, split_path
from segue.tools.tool import PermissionRequest, ToolContext

_ENTRIES = 1000

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

    def preview(self, path: str) -> str:
        return diff_file(path, self.path, self.content)

    def run(self, context: ToolContext, path: str) -> str:
        del context
        data = _encode(self.content)
        folder, name = split_path(path)
        with descend(folder, make=True) as held:
            existed = held.write(name, data)
        return f"{self.path} was {'replaced' if existed else 'written'}: {len(data):,} bytes"


class EditFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Replace a text in a file. It must occur exactly once, so include enough of the lines around it."""

    path: PathText
    old: Annotated[str, Meta(min_length=1, description="the text to replace, exactly as it is in the file")]
    new: Annotated[str, Meta(description="the text to put in its place; empty to delete it")]

    may_change: ClassVar[bool] = True

    @property
    def request(self) -> PermissionRequest:
        return PermissionRequest("write", self.path)

    def preview(self, path: str) -> str:
        """Raises ToolFailedError if the text cannot be replaced: then there is nothing to decide."""
        before, after = self._edit(path)
        return render_diff(before, after, self.path)

    def run(self, context: ToolContext, path: str) -> str:
        if not context.may_read(path):  # the result tells what the file contains
            raise ToolFailedError("the scope allows writing this file, but not reading it; use write_file")
        _, after = self._edit(path)
        folder, name = split_path(path)
        with descend(folder) as held:
            held.write(name, _encode(after))
        return f"{self.path} was edited: {len(self.old):,} characters replaced by {len(self.new):,}"

    def _edit(self, path: str) -> tuple[str, str]:
        """The text of the file before and after."""
        before = read_current(path)
        if before is None:
            raise ToolFailedError(f"{self.path} does not exist; write_file creates it")
        if self.old == self.new:
            raise ToolFailedError("old and new are the same")
        found = before.count(self.old)
        if found != 1 or before.find(self.old) != before.rfind(self.old):  # texts may overlap
            times = "does not occur" if not found else f"occurs {max(found, 2)} times"
            raise ToolFailedError(f"old {times} in {self.path}, and must occur exactly once; nothing was changed")
        return before, before.replace(self.old, self.new)


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


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolFailedError("the content contains unpaired surrogates, which UTF-8 cannot encode") from None
