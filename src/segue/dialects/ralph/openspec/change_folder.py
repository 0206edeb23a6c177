"""A change of OpenSpec: the folder `openspec/changes/<name>/`.

It has tasks.md, perhaps proposal.md and design.md, and what it changes in specs/<capability>/spec.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.ralph.openspec.files import PlanFiles
from segue.dialects.ralph.openspec.plan import Scenario
from segue.dialects.ralph.openspec.prose import heading_of, prose_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from segue.dialects.ralph.openspec.plan import Story
    from segue.durable.folder import Folder

_REQUIREMENT, _SCENARIO = "requirement:", "scenario:"


class OpenSpec(PlanFiles):
    """See plan.Spec. Stories are `## N. Title`, tasks `- [ ] N.M text`."""

    def __init__(self, change: str, folder: Folder, *, locks: Folder, clock: Callable[[], datetime]) -> None:
        super().__init__(folder, "tasks.md", "design.md", locks=locks, clock=clock, deepest=2)
        self.change = change

    def context(self) -> Mapping[str, str]:
        texts = {name: self.text(f"{name}.md") for name in ("proposal", "design")}
        return {name: text for name, text in texts.items() if text}

    def scenarios(self, story: Story) -> tuple[Scenario, ...]:
        everything = tuple(self._scenarios())
        about = " ".join([story.title, *[task.text for task in story.tasks]]).casefold()
        named = tuple(
            one for one in everything if one.requirement.casefold() in about or one.capability.casefold() in about
        )
        return named or everything

    def _scenarios(self) -> Iterator[Scenario]:
        specs = self.folder.sub("specs")
        if not specs.exists():
            return
        for entry in sorted(specs.scan(), key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                yield from scenarios_of(self.text("spec.md", specs.sub(entry.name)), entry.name)


def scenarios_of(text: str, capability: str) -> Iterator[Scenario]:
    """Each from its heading to the next heading."""
    requirement = title = ""
    start = -1
    for line in prose_of(text):
        if (found := heading_of(line)) is None:
            continue
        if start >= 0:
            yield Scenario(
                capability=capability, requirement=requirement, title=title, text=text[start : line.offset].strip()
            )
            start = -1
        words = found.title.casefold()
        if words.startswith(_REQUIREMENT):
            requirement = found.title[len(_REQUIREMENT) :].strip()
        elif words.startswith(_SCENARIO):
            title, start = found.title[len(_SCENARIO) :].strip(), line.offset + len(line.text)
    if start >= 0:
        yield Scenario(capability=capability, requirement=requirement, title=title, text=text[start:].strip())
