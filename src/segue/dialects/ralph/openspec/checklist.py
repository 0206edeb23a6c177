"""Stories and tasks of a Markdown text, and where the box of each task is."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple
from zlib import crc32

from segue.dialects.ralph.openspec.plan import Story, Task, get_task
from segue.dialects.ralph.openspec.prose import heading_of, prose_of
from segue.ids import slug

_TASK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*?)[ \t]*$")
_NUMBER = re.compile(r"(?:\*\*|__)?(\d+(?:\.\d+)*)[.)]?(?:\*\*|__)?(?:[ \t:]+|$)")
_STORY_NUMBER = re.compile(r"(\d+(?:\.\d+)*)[.):]?(?:[ \t]+|$)")


class Checklist(NamedTuple):
    stories: tuple[Story, ...]
    boxes: tuple[tuple[int, ...], ...]
    """Where the mark in the box of each task is, by story."""
    first: int
    """Where the first story begins."""


def read_checklist(text: str, *, deepest: int) -> Checklist:
    """Each heading is a story if it has a number or tasks; those deeper than `deepest` belong to the one above."""
    sections = [_Section()]
    words: Counter[str] = Counter()
    for line in prose_of(text):
        if (found := heading_of(line)) is not None:
            if found.level <= deepest:
                sections.append(_Section(line.offset, found.title))
        elif (box := _TASK.match(line.text)) is not None:
            number = _NUMBER.match(box[2])
            name = number[1] if number else _free(_name_of(box[2], "task"), words)
            task = Task(id=name, text=box[2][number.end() :] if number else box[2], done=box[1] != " ")
            sections[-1].tasks.append(task)
            sections[-1].boxes.append(line.offset + box.start(1))
    sections = [section for section in sections if section.tasks or _STORY_NUMBER.match(section.title)]
    taken: Counter[str] = Counter()
    return Checklist(
        tuple(section.story(taken) for section in sections),
        tuple(tuple(section.boxes) for section in sections),
        sections[0].offset if sections else len(text),
    )


class _Section:
    """A heading, and what was found below it so far."""

    def __init__(self, offset: int = 0, title: str = "") -> None:
        self.offset = offset
        self.title = title
        self.tasks: list[Task] = []
        self.boxes: list[int] = []

    def story(self, taken: Counter[str]) -> Story:
        number = _STORY_NUMBER.match(self.title)
        name = _free(number[1] if number else _name_of(self.title, "story"), taken)
        return Story(id=name, title=self.title[number.end() :] if number else self.title, tasks=tuple(self.tasks))


def ticked(text: str, task_id: str, *, deepest: int) -> str:
    """The text with this one box marked; the text itself if it was."""
    found = read_checklist(text, deepest=deepest)
    story, task = get_task(found.stories, task_id)
    if task.done:
        return text
    at = found.boxes[found.stories.index(story)][story.tasks.index(task)]
    return f"{text[:at]}x{text[at + 1 :]}"


def _name_of(words: str, what: str) -> str:
    return slug(words) or f"{what}-{crc32(words.encode('utf-8', 'surrogatepass')):08x}"


def _free(name: str, taken: Counter[str]) -> str:
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}-{taken[name]}"
