"""The search tool. Each file is checked by itself, so that one secret file does not close the whole project."""

from __future__ import annotations

import errno
import time
from contextlib import ExitStack, suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Meta, Struct

from segue.durable.descent import descend
from segue.errors import StorageError
from segue.tools.call import ToolFailedError
from segue.tools.files import PathText
from segue.tools.text_file import read_text_file, split_path
from segue.tools.tool import PermissionRequest, ToolContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.durable.descent import HeldFolder

FILES = 20_000
"""The maximum number of files that one search reads."""
_MATCHES = 500
_DEPTH = 40
_LINE = 300


class SearchFiles(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find a text in all files of a folder and its subfolders; the result lists path, line number and line."""

    text: Annotated[str, Meta(min_length=1, description="literal text within one line; not a pattern")]
    path: PathText = "."
    name: Annotated[str, Meta(description="search only files whose name matches, e.g. *.py")] = "*"

    may_change: ClassVar[bool] = False

    @property
    def request(self) -> PermissionRequest:
        return PermissionRequest("read", self.path, is_recursive=True)

    def run(self, context: ToolContext, path: str) -> str:
        found: list[str] = []
        searched = closed = used = 0
        deadline = time.monotonic() + context.timeout_seconds
        stopped = ""
        for held, name, is_open in self._files(context, path, deadline):
            closed += not is_open
            searched += is_open
            for number, line in enumerate(_lines(held, name) if is_open else (), start=1):
                if self.text in line:
                    found.append(f"{_shown(f'{held.path}/{name}', context.cwd)}:{number}: {_around(line, self.text)}")
                    used += len(found[-1]) + 1
            if searched >= FILES or len(found) >= _MATCHES or used >= context.limit:
                stopped = "; stopped here, there may be more"
                break
        if time.monotonic() > deadline:
            stopped = f"; stopped after {context.timeout_seconds:g} seconds"
        while found and used > context.limit:
            used -= len(found.pop()) + 1
        skipped = f"; out of scope: {closed:,}" if closed else ""
        return "\n".join([*found[:_MATCHES], f"[lines: {len(found):,}, files: {searched:,}{skipped}{stopped}]"])

    def _files(self, context: ToolContext, path: str, deadline: float) -> Iterator[tuple[HeldFolder, str, bool]]:
        """Yield files and whether each is in scope; a folder out of scope is yielded itself instead of its files."""
        with ExitStack() as stack:
            try:
                top = stack.enter_context(descend(path))
            except StorageError as error:
                if error.errno != errno.ENOTDIR:
                    raise
                folder, name = split_path(path)  # a single file
                yield stack.enter_context(descend(folder)), name, True
                return
            yield from self._walk(context, top, deadline, _DEPTH)

    def _walk(
        self, context: ToolContext, held: HeldFolder, deadline: float, depth: int
    ) -> Iterator[tuple[HeldFolder, str, bool]]:
        for entry in held.entries():
            if time.monotonic() > deadline:
                return
            if entry.kind != "folder" and (entry.kind != "file" or not fnmatchcase(entry.name, self.name)):
                continue
            is_open = context.may_read(f"{held.path}/{entry.name}")
            if entry.kind == "file" or not is_open:
                yield held, entry.name, is_open
            elif depth:
                with suppress(StorageError), held.inside(entry.name) as inner:  # gone, or not accessible
                    yield from self._walk(context, inner, deadline, depth - 1)


def _lines(held: HeldFolder, name: str) -> list[str]:
    try:
        return read_text_file(held, name).splitlines()
    except (ToolFailedError, StorageError):
        return []


def _around(line: str, text: str) -> str:
    start = max(0, min(line.find(text) - _LINE // 3, len(line) - _LINE))
    return line[start : start + _LINE].strip()


def _shown(path: str, cwd: str) -> str:
    return path.removeprefix(f"{cwd.rstrip('/')}/")
