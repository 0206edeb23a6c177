"""Finding text in files. Each file is judged for itself, so that one secret does not close the whole project."""

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
from segue.tools.files import PathText, split, text_of
from segue.tools.tool import PermissionRequest, ToolContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.durable.descent import HeldFolder

FILES = 20_000
"""Looked into by one search, at most."""
_MATCHES = 500
_DEPTH = 40
_LINE = 300


class SearchFiles(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find a text in the files of a folder and all folders beneath it; you get path, line number and line."""

    text: Annotated[str, Meta(min_length=1, description="to the letter, within one line; no pattern")]
    path: PathText = "."
    name: Annotated[str, Meta(description="only in files of such names, as in *.py")] = "*"

    changes: ClassVar[bool] = False

    @property
    def wish(self) -> PermissionRequest:
        return PermissionRequest("read", self.path, is_deep=True)

    def run(self, room: ToolContext, place: str) -> str:
        found: list[str] = []
        looked = closed = used = 0
        deadline = time.monotonic() + room.timeout_seconds
        ends = ""
        for held, name, is_open in self._files(room, place, deadline):
            closed += not is_open
            looked += is_open
            for number, line in enumerate(_lines(held, name) if is_open else (), start=1):
                if self.text in line:
                    found.append(f"{_shown(f'{held.path}/{name}', room.cwd)}:{number}: {_around(line, self.text)}")
                    used += len(found[-1]) + 1
            if looked >= FILES or len(found) >= _MATCHES or used >= room.limit:
                ends = "; it was stopped here, and there may be more"
                break
        if time.monotonic() > deadline:
            ends = f"; it was stopped after {room.timeout_seconds:g} seconds"
        while found and used > room.limit:
            used -= len(found.pop()) + 1
        aside = f"; out of scope: {closed:,}" if closed else ""
        return "\n".join([*found[:_MATCHES], f"[lines: {len(found):,}, files: {looked:,}{aside}{ends}]"])

    def _files(self, room: ToolContext, place: str, deadline: float) -> Iterator[tuple[HeldFolder, str, bool]]:
        """Each with whether it is in scope; of a folder that is not, only itself."""
        with ExitStack() as stack:
            try:
                top = stack.enter_context(descend(place))
            except StorageError as error:
                if error.errno != errno.ENOTDIR:
                    raise
                folder, name = split(place)  # a single file
                yield stack.enter_context(descend(folder)), name, True
                return
            yield from self._beneath(room, top, deadline, _DEPTH)

    def _beneath(
        self, room: ToolContext, held: HeldFolder, deadline: float, depth: int
    ) -> Iterator[tuple[HeldFolder, str, bool]]:
        for entry in held.entries():
            if time.monotonic() > deadline:
                return
            if entry.kind != "folder" and (entry.kind != "file" or not fnmatchcase(entry.name, self.name)):
                continue
            is_open = room.may_read(f"{held.path}/{entry.name}")
            if entry.kind == "file" or not is_open:
                yield held, entry.name, is_open
            elif depth:
                with suppress(StorageError), held.inside(entry.name) as inner:  # gone, or not to be entered
                    yield from self._beneath(room, inner, deadline, depth - 1)


def _lines(held: HeldFolder, name: str) -> list[str]:
    try:
        return text_of(held, name).splitlines()
    except (ToolFailedError, StorageError):
        return []


def _around(line: str, text: str) -> str:
    start = max(0, min(line.find(text) - _LINE // 3, len(line) - _LINE))
    return line[start : start + _LINE].strip()


def _shown(path: str, cwd: str) -> str:
    return path.removeprefix(f"{cwd.rstrip('/')}/")
