"""Parses the stories and tasks of a Markdown text, and finds the checkbox of each task."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple
from zlib import crc32

from segue.dialects.ralph.openspec.markdown import parse_heading, prose_lines
from segue.dialects.ralph.openspec.plan import Story, Task, get_story, get_task
from segue.ids import slug

_TASK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*?)[ \t]*$")
_NUMBER = re.compile(r"(?:\*\*|__)?(\d+(?:\.\d+)*)[.)]?(?:\*\*|__)?(?:[ \t:]+|$)")
_STORY_NUMBER = re.compile(r"(\d+(?:\.\d+)*)[.):]?(?:[ \t]+|$)")


class Checklist(NamedTuple):
    stories: tuple[Story, ...]
    boxes: tuple[tuple[int, ...], ...]
    """The offset of the mark in each task's checkbox, by story."""
    first: int
    """The offset of the first story."""


def parse_checklist(text: str, *, deepest_heading: int) -> Checklist:
    """Each heading with a number or with tasks is a story; headings below this level belong to the story above them."""
    sections = [_Section()]
    task_ids: Counter[str] = Counter()
    for line in prose_lines(text):
        if (found := parse_heading(line)) is not None:
            if found.level <= deepest_heading:
                sections.append(_Section(line.offset, found.title))
        elif (box := _TASK.match(line.text)) is not None:
            number = _NUMBER.match(box[2])
            task_id = (
                _unique(number[1], sections[-1].numbers) if number else _unique(_id_from_text(box[2], "task"), task_ids)
            )
            task = Task(id=task_id, text=box[2][number.end() :] if number else box[2], done=box[1] != " ")
            sections[-1].tasks.append(task)
            sections[-1].boxes.append(line.offset + box.start(1))
    sections = [section for section in sections if section.tasks or _STORY_NUMBER.match(section.title)]
    story_ids: Counter[str] = Counter()
    return Checklist(
        tuple(section.story(story_ids) for section in sections),
        tuple(tuple(section.boxes) for section in sections),
        sections[0].offset if sections else len(text),
    )


class _Section:
    """A heading, and the tasks found below it so far."""

    def __init__(self, offset: int = 0, title: str = "") -> None:
        self.offset = offset
        self.title = title
        self.tasks: list[Task] = []
        self.boxes: list[int] = []
        self.numbers: Counter[str] = Counter()
        """The numbers of its tasks: another story may have the same, and a second one here gets a suffix."""

    def story(self, story_ids: Counter[str]) -> Story:
        number = _STORY_NUMBER.match(self.title)
        story_id = _unique(number[1] if number else _id_from_text(self.title, "story"), story_ids)
        return Story(id=story_id, title=self.title[number.end() :] if number else self.title, tasks=tuple(self.tasks))


def mark_task(text: str, story_id: str, task_id: str, *, done: bool, deepest_heading: int) -> str:
    """The text with this checkbox ticked, or open; unchanged if it was."""
    found = parse_checklist(text, deepest_heading=deepest_heading)
    story = get_story(found.stories, story_id)
    task = get_task(story, task_id)
    if task.done == done:
        return text
    at = found.boxes[found.stories.index(story)][story.tasks.index(task)]
    return f"{text[:at]}{'x' if done else ' '}{text[at + 1 :]}"


def _id_from_text(text: str, what: str) -> str:
    return slug(text) or f"{what}-{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _unique(name: str, used: Counter[str]) -> str:
    used[name] += 1
    return name if used[name] == 1 else f"{name}-{used[name]}"
