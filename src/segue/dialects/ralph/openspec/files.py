"""The files of a plan: read and changed as text, whatever bytes are in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.ralph.openspec.checklist import read_checklist, ticked
from segue.dialects.ralph.openspec.section import as_item, as_line, with_items
from segue.durable.file_edit import edit_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from segue.dialects.ralph.openspec.plan import Story
    from segue.durable.folder import Folder
    from segue.model import Learning, Pattern


class PlanFiles:
    """A folder with a checklist, and with the file that takes what was learned."""

    def __init__(
        self, folder: Folder, tasks: str, notes: str, *, locks: Folder, clock: Callable[[], datetime], deepest: int
    ) -> None:
        self.folder = folder
        self._tasks = tasks
        self._notes = notes
        self._locks = locks
        self._clock = clock
        self.deepest = deepest

    def stories(self) -> tuple[Story, ...]:
        return read_checklist(self.text(self._tasks), deepest=self.deepest).stories

    def tick(self, task_id: str) -> bool:
        return self._edit(self._tasks, lambda text: ticked(text, task_id, deepest=self.deepest))

    def write_learnings(self, learnings: Sequence[Learning]) -> None:
        items = [as_item(one.description, _about(one)) for one in learnings]
        self._edit(self._notes, lambda text: with_items(text, "Learnings", items))

    def write_patterns(self, patterns: Sequence[Pattern]) -> None:
        items = [_pattern(one) for one in patterns]
        self._edit(self._notes, lambda text: with_items(text, "Patterns", items))

    def text(self, name: str, folder: Folder | None = None) -> str:
        """Empty if there is no such file."""
        try:
            return _decode((folder or self.folder).read(name))
        except FileNotFoundError:
            return ""

    def _edit(self, name: str, change: Callable[[str], str]) -> bool:
        def changed(data: bytes) -> bytes:
            return change(_decode(data)).encode("utf-8", "surrogateescape")

        return edit_file(self.folder, name, changed, locks=self._locks, now=self._clock())


def _pattern(pattern: Pattern) -> str:
    name, description = f"**{as_line(pattern.name)}**:", as_item(pattern.description)
    return f"{name} {description}" if "\n" not in description else f"{name}\n{description}"


def _about(learning: Learning) -> str:
    """Where it was learned."""
    if learning.task_id:
        return f" (task {as_line(learning.task_id)})"
    return f" (story {as_line(learning.story_id)})" if learning.story_id else ""


def _decode(data: bytes) -> str:
    """Bytes that are no UTF-8 come back as they were."""
    return data.decode("utf-8", "surrogateescape")
