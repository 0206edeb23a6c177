"""How a run is shown: lines, or on a terminal, bars below them that move."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from segue.console import output
from segue.dialects.ralph.runner.progress import (
    Notice,
    OutputReceived,
    RunStarted,
    StoryFailed,
    StoryFinished,
    StoryStarted,
    Verifying,
)
from segue.errors import SegueError
from segue.formats.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType

    from segue.console.output import Line
    from segue.dialects.ralph.openspec import Story
    from segue.dialects.ralph.runner.progress import Progress

_SHOWN_LINES = 6
_FRAMES_A_SECOND = 4
_LOOK_SECONDS = 0.5
"""How long what was read of the plan is good enough for the bars."""


@contextmanager
def showing(stories: Callable[[], tuple[Story, ...]]) -> Iterator[Callable[[Progress], None]]:
    """Where news go while a run lasts."""
    if not output.stdout_is_tty() or os.environ.get("TERM") == "dumb":
        yield _Lines().show
        return
    from rich.console import Console
    from rich.live import Live

    bars = _Bars(stories)
    console = Console(file=sys.stdout, highlight=False)
    with Live(
        bars, console=console, refresh_per_second=_FRAMES_A_SECOND, transient=True, redirect_stderr=False
    ) as live:

        def show(news: Progress) -> None:
            bars.note(news)
            for line in () if isinstance(news, OutputReceived) else lines_of(news):
                live.console.print(text_of(line))

        yield show


def lines_of(news: Progress) -> list[Line]:
    """News as people read them."""
    match news:
        case RunStarted():
            how = "begins" if news.is_new else "goes on"
            return [(("bold", f"session {news.session_id} {how}"), f" in {news.project}, with {news.agent}")]
        case StoryStarted(story=story):
            again = f", attempt {news.attempt} of {news.attempts}" if news.attempt > 1 else ""
            return [(("cyan", f"story {story.id}: {story.title}"), f" ({story.done}/{len(story.tasks)} tasks){again}")]
        case Verifying():
            return [(("dim", f"  $ {news.command}"),)]
        case StoryFailed():
            reason = news.reason.strip().split("\n")
            after = "gives up" if news.is_last else "tries again"
            return [(("yellow", f"  not done, {after}: "), reason[0]), *[(f"    {line}",) for line in reason[1:]]]
        case StoryFinished(story=story):
            lines: list[Line] = [(("green", f"  done: story {story.id}"), f" ({story.done}/{len(story.tasks)} tasks)")]
            return [*lines, (f"  {news.commit}",)] if news.commit else lines
        case Notice():
            return [(("yellow", "note: "), news.words)]
        case OutputReceived():
            return [(("dim", f"  | {line}"),) for line in news.text.split("\n")]


class _Lines:
    """One line after the other; what commands say comes in pieces, and is shown by the line."""

    def __init__(self) -> None:
        self._rest = ""

    def show(self, news: Progress) -> None:
        if isinstance(news, OutputReceived):
            *whole, self._rest = (self._rest + news.text).split("\n")
            output.lines(line for text in whole for line in lines_of(OutputReceived(text=text.removesuffix("\r"))))
            return
        if self._rest:
            self.show(OutputReceived(text="\n"))
        output.lines(lines_of(news))


class _Bars:
    """What moves: how far stories and tasks are, since when, and the last lines that the agent said."""

    def __init__(self, stories: Callable[[], tuple[Story, ...]]) -> None:
        self._read = stories
        self._stories = stories()
        self._read_at = self._began = time.monotonic()
        self._doing = ""
        self._said: deque[str] = deque([""], maxlen=_SHOWN_LINES)

    def note(self, news: Progress) -> None:
        match news:
            case OutputReceived():
                first, *more = news.text.split("\n")
                self._said[-1] = (self._said[-1] + first)[-1000:]
                self._said.extend(more)
            case StoryStarted(story=story):
                self._doing = f"story {story.id}: {story.title}"
                self._said.append("")
            case Verifying():
                self._doing = f"verifying: {news.command}"
            case _:
                pass

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        now = time.monotonic()
        self._look(now)
        grid = Table.grid(padding=(0, 1))
        tasks = [task for story in self._stories for task in story.tasks]
        for name, done, total in (
            ("stories", sum(story.complete for story in self._stories), len(self._stories)),
            ("tasks", sum(task.done for task in tasks), len(tasks)),
        ):
            grid.add_row(name, ProgressBar(total=max(total, 1), completed=done, width=40), f"{done}/{total}")
        minutes, seconds = divmod(int(now - self._began), 60)
        heading = Text(
            one_line(f"{minutes}:{seconds:02} {self._doing}"), style="bold", no_wrap=True, overflow="ellipsis"
        )
        said = [Text(one_line(line), style="dim", no_wrap=True, overflow="ellipsis") for line in self._said if line]
        return Group(heading, grid, *said)

    def _look(self, now: float) -> None:
        if now - self._read_at >= _LOOK_SECONDS:
            self._read_at = now
            try:
                self._stories = self._read()
            except SegueError:
                return  # somebody edits the plan; whoever works will say so


def text_of(line: Line) -> RenderableType:
    from rich.text import Text

    return Text.assemble(*[one_line(span) if isinstance(span, str) else (one_line(span[1]), span[0]) for span in line])
