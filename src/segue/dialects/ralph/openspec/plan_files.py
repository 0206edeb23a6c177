"""The two kinds of plans: a change of OpenSpec, `openspec/changes/<name>/`, and a single Markdown file.

`open_plan` finds the plan of a change. Files are read and edited as text, whichever bytes they hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.ralph.openspec.checklist import mark_task, parse_checklist
from segue.dialects.ralph.openspec.markdown import parse_heading, prose_lines
from segue.dialects.ralph.openspec.plan import NEAR, ChangeNotFoundError, Scenario
from segue.durable.file_edit import edit_file
from segue.durable.folder import Folder
from segue.durable.snapshot import read_signature
from segue.ids import check_id, is_id

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from segue.dialects.ralph.openspec.plan import Plan, Story
    from segue.model import Learning, Pattern

_ARCHIVE = "archive"
_REQUIREMENT, _SCENARIO = "requirement:", "scenario:"


def open_plan(project: str, change: str, *, locks: Folder, clock: Callable[[], datetime]) -> Plan:
    """A change of OpenSpec, else the Markdown file of this name (with or without `.md`)."""
    check_id(change, what="change name")
    root = Folder(project)
    changes = _changes(root)
    folder = changes.sub(change)
    if change != _ARCHIVE and changes.exists() and folder.exists():
        return OpenSpecPlan(change, root, folder, locks=locks, clock=clock)
    for name in (change, f"{change}.md"):
        if name.endswith(".md") and read_signature(root, name):
            return MarkdownPlan(change, root, name, locks=locks, clock=clock)
    near = find_changes(project)[:NEAR]
    hint = "" if near else f"neither openspec/changes/{change}/ nor {change}.md is in {project}"
    raise ChangeNotFoundError(f"there is no change {change!r}", hint=hint, near=near)


def find_changes(project: str) -> list[str]:
    """The changes of OpenSpec in a project, by name."""
    entries = _changes(Folder(project)).scan()
    return sorted(entry.name for entry in entries if entry.is_dir() and entry.name != _ARCHIVE and is_id(entry.name))


def plan_paths(project: str, change: str) -> tuple[str, ...]:
    """The paths at which the files of a change are, or would be."""
    root = Folder(project)
    names = [name for name in (change, f"{change}.md") if name.endswith(".md")]
    return (_changes(root).sub(change).path, *map(root.path_of, names))


def _changes(root: Folder) -> Folder:
    return root.sub("openspec").sub("changes")


class PlanFiles:
    """What both kinds share: a file with the checklist, and a file (perhaps the same) for learnings and patterns."""

    def __init__(
        self,
        project: Folder,
        folder: Folder,
        tasks: str,
        notes: str,
        *,
        locks: Folder,
        clock: Callable[[], datetime],
        deepest_heading: int,
    ) -> None:
        self.project = project
        self.folder = folder
        self._tasks = tasks
        self._notes = notes
        self._locks = locks
        self._clock = clock
        self.deepest_heading = deepest_heading

    def stories(self) -> tuple[Story, ...]:
        return parse_checklist(self.text(self._tasks), deepest_heading=self.deepest_heading).stories

    def mark(self, story_id: str, task_id: str, *, done: bool = True) -> bool:
        def marked(text: str) -> str:
            return mark_task(text, story_id, task_id, done=done, deepest_heading=self.deepest_heading)

        return self._edit(self._tasks, marked)

    def write_learnings(self, learnings: Sequence[Learning]) -> None:
        from segue.dialects.ralph.openspec.notes_section import add_items, format_learning

        items = [format_learning(learning) for learning in learnings]
        self._edit(self._notes, lambda text: add_items(text, "Learnings", items))

    def write_patterns(self, patterns: Sequence[Pattern]) -> None:
        from segue.dialects.ralph.openspec.notes_section import add_items, format_pattern

        items = [format_pattern(pattern) for pattern in patterns]
        self._edit(self._notes, lambda text: add_items(text, "Patterns", items))

    def text(self, name: str, folder: Folder | None = None) -> str:
        """The text of a file; empty if it does not exist."""
        try:
            return _decode((folder or self.folder).read(name))
        except FileNotFoundError:
            return ""

    def _edit(self, name: str, change: Callable[[str], str]) -> bool:
        def changed(data: bytes) -> bytes:
            return change(_decode(data)).encode("utf-8", "surrogateescape")

        return edit_file(self.folder, name, changed, locks=self._locks, now=self._clock())


class OpenSpecPlan(PlanFiles):
    """See plan.Plan. Stories are `## N. Title`, tasks `- [ ] N.M text` in tasks.md; design.md gets the learnings.

    proposal.md and design.md explain the change, specs/<capability>/spec.md contains its scenarios.
    """

    def __init__(
        self, change: str, project: Folder, folder: Folder, *, locks: Folder, clock: Callable[[], datetime]
    ) -> None:
        super().__init__(project, folder, "tasks.md", "design.md", locks=locks, clock=clock, deepest_heading=2)
        self.change = change

    def files(self) -> tuple[tuple[str, ...], ...]:
        here = ("openspec", "changes", self.change)
        specs = [(*here, "specs", entry.name, "spec.md") for entry in self._specs()]
        return ((*here, "tasks.md"), (*here, "proposal.md"), (*here, "design.md"), *specs)

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
        for entry in self._specs():
            yield from parse_scenarios(self.text("spec.md", self.folder.sub("specs").sub(entry.name)), entry.name)

    def _specs(self) -> list[os.DirEntry[str]]:
        specs = self.folder.sub("specs")
        entries = specs.scan() if specs.exists() else ()
        return sorted((one for one in entries if one.is_dir(follow_symlinks=False)), key=lambda one: one.name)


class MarkdownPlan(PlanFiles):
    """See plan.Plan. Every heading with a number or with tasks is a story; learnings go into the same file."""

    def __init__(self, change: str, folder: Folder, name: str, *, locks: Folder, clock: Callable[[], datetime]) -> None:
        super().__init__(folder, folder, name, name, locks=locks, clock=clock, deepest_heading=6)
        self.change = change
        self._name = name

    def files(self) -> tuple[tuple[str, ...], ...]:
        return ((self._name,),)

    def context(self) -> Mapping[str, str]:
        """The text before the first story."""
        text = self.text(self._name)
        before = text[: parse_checklist(text, deepest_heading=self.deepest_heading).first].strip()
        return {"plan": before} if before else {}

    def scenarios(self, story: Story) -> tuple[Scenario, ...]:  # noqa: ARG002 - a checklist has none
        return ()


def parse_scenarios(text: str, capability: str) -> Iterator[Scenario]:
    """The scenarios of a specification, each from its heading to the next heading."""
    requirement = title = ""
    start = -1
    for line in prose_lines(text):
        if (heading := parse_heading(line)) is None:
            continue
        if start >= 0:
            yield Scenario(
                capability=capability, requirement=requirement, title=title, text=text[start : line.offset].strip()
            )
            start = -1
        folded = heading.title.casefold()
        if folded.startswith(_REQUIREMENT):
            requirement = heading.title[len(_REQUIREMENT) :].strip()
        elif folded.startswith(_SCENARIO):
            title, start = heading.title[len(_SCENARIO) :].strip(), line.offset + len(line.text)
    if start >= 0:
        yield Scenario(capability=capability, requirement=requirement, title=title, text=text[start:].strip())


def _decode(data: bytes) -> str:
    """Bytes that are not UTF-8 are written back unchanged."""
    return data.decode("utf-8", "surrogateescape")
