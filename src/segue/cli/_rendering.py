"""Sessions and turns as text for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.durations import time_formatter
from segue.formats.terminal import one_line
from segue.formats.transcript import part_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from segue.console.output import Line, Span
    from segue.index import IndexEntry
    from segue.model import Overview, Turn

_STATUS_STYLES = {"active": "green", "paused": "", "completed": "dim", "interrupted": "yellow", "damaged": "red"}
_ROLE_STYLES = {"user": "green", "assistant": "cyan", "system": "yellow", "tool": "blue"}
COLUMNS = ("ID", "AGENT", "TITLE", "TURNS", "CREATED", "ACTIVE", "STATUS")
_TITLE, _OPTIONAL = 2, (4, 1)


def print_sessions(entries: Sequence[IndexEntry], *, with_sources: bool = False) -> None:
    when = time_formatter()
    columns: tuple[str, ...] = COLUMNS
    rows = [_row(entry, when) for entry in entries]
    if with_sources:
        columns += ("SOURCE",)
        rows = [[*row, format_source(entry)] for row, entry in zip(rows, entries, strict=True)]
    output.table(columns, rows, stretch=_TITLE, optional=_OPTIONAL)


def format_source(entry: IndexEntry) -> str:
    """The source of a session, on a terminal with ~ for the home folder."""
    if not output.stdout_is_tty():
        return entry.source
    return entry.source.replace(str(Path.home()), "~")


def render_head(about: Overview, branch: str, turns: int) -> Iterator[Line]:
    when = time_formatter()
    if about.title:
        yield (("bold", one_line(about.title)),)
    facts = [
        about.id,
        f"agent {about.agent}" if about.agent else "",
        about.status,
        f"branch {branch}",
        f"{turns} turn{'' if turns == 1 else 's'}",
        when(about.updated_at),
        f"tags {', '.join(about.tags)}" if about.tags else "",
    ]
    yield (("dim", one_line(" · ".join(fact for fact in facts if fact))),)


def render_turns(turns: Iterable[Turn], *, first: int | None, branch: str = "") -> Iterator[Line]:
    """Each turn after a line with its role and time, numbered from `first` if that is given."""
    when = time_formatter()
    for at, turn in enumerate(turns):
        number = "" if first is None else f"{first + at} "
        role: Span = (_ROLE_STYLES.get(turn.role, "bold"), f"{number}{one_line(turn.role)}")
        facts = [when(turn.timestamp)]
        if turn.tokens is not None:
            facts.append(f"{turn.tokens} tokens")
        if turn.partial:
            facts.append("cut off")
        if branch and turn.branch != branch:
            facts.append(f"branch {turn.branch}")
        yield ()
        yield (role, ("dim", one_line(" · ".join(["", *facts]))))
        if turn.content:
            yield (turn.content,)
        for part in part_lines(turn):
            yield (("dim", part),)


def _row(head: IndexEntry, when: Callable[[datetime], str]) -> list[Span]:
    status = "damaged" if head.damage else head.status
    style = _STATUS_STYLES[status]
    return [
        head.id,
        head.agent,
        head.title,
        "" if head.turn_count is None else str(head.turn_count),
        when(head.created_at),
        when(head.updated_at),
        (style, status) if style else status,
    ]
