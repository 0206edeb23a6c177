"""A plan in one Markdown file: any headings, any boxes below them; what was learned goes into the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.ralph.openspec.checklist import read_checklist
from segue.dialects.ralph.openspec.files import PlanFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from segue.dialects.ralph.openspec.plan import Scenario, Story
    from segue.durable.folder import Folder


class MarkdownSpec(PlanFiles):
    """See plan.Spec. Every heading with a number or with boxes of its own is a story."""

    def __init__(self, change: str, folder: Folder, name: str, *, locks: Folder, clock: Callable[[], datetime]) -> None:
        super().__init__(folder, name, name, locks=locks, clock=clock, deepest=6)
        self.change = change
        self._name = name

    def context(self) -> Mapping[str, str]:
        """What stands before the first story."""
        text = self.text(self._name)
        before = text[: read_checklist(text, deepest=self.deepest).first].strip()
        return {"plan": before} if before else {}

    def scenarios(self, story: Story) -> tuple[Scenario, ...]:  # noqa: ARG002 - a checklist has none
        return ()
