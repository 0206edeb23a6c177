"""Shows the progress of a run: as lines, and on a terminal with progress bars below them."""

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
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType

    from segue.console.output import Line
    from segue.dialects.ralph.openspec import Story
    from segue.dialects.ralph.runner.progress import Progress

_SHOWN_LINES = 6
_LONGEST_LINE = 1 << 20
"""A longer line is printed in several."""
_FRAMES_PER_SECOND = 4
_REFRESH_SECONDS = 0.5
"""How often the plan is read again for the bars."""


@contextmanager
def show_run(stories: Callable[[], tuple[Story, ...]]) -> Iterator[Callable[[Progress], None]]:
    """Yields the function that shows the progress of a run."""
    if not output.stdout_is_tty() or os.environ.get("TERM") == "dumb":
        yield _Lines().show
        return
    from rich.console import Console
    from rich.live import Live

    bars = _Bars(stories)
    console = Console(file=sys.stdout, highlight=False)
    with Live(
        bars, console=console, refresh_per_second=_FRAMES_PER_SECOND, transient=True, redirect_stderr=False
    ) as live:

        def show(progress: Progress) -> None:
            bars.note(progress)
            for line in () if isinstance(progress, OutputReceived) else progress_lines(progress):
                live.console.print(rich_text(line))

        yield show


def progress_lines(progress: Progress) -> list[Line]:
    """Progress as lines for the user."""
    match progress:
        case RunStarted():
            how = "started" if progress.is_new else "resumed"
            return [
                (("bold", f"session {progress.session_id} {how}"), f" in {progress.project}, with {progress.agent}")
            ]
        case StoryStarted(story=story):
            again = f", attempt {progress.attempt} of {progress.attempts}" if progress.attempt > 1 else ""
            return [(("cyan", f"story {story.id}: {story.title}"), f" ({story.done}/{len(story.tasks)} tasks){again}")]
        case Verifying():
            return [(("dim", f"  $ {progress.command}"),)]
        case StoryFailed():
            reason = progress.reason.strip().split("\n")
            after = "no retries left" if progress.is_last else "retrying"
            return [(("yellow", f"  not completed, {after}: "), reason[0]), *[(f"    {line}",) for line in reason[1:]]]
        case StoryFinished(story=story):
            lines: list[Line] = [(("green", f"  done: story {story.id}"), f" ({story.done}/{len(story.tasks)} tasks)")]
            return [*lines, (f"  {progress.commit}",)] if progress.commit else lines
        case Notice():
            return [(("yellow", "note: "), progress.text)]
        case OutputReceived():
            return [(("dim", f"  | {line}"),) for line in progress.text.split("\n")]


class _Lines:
    """Prints line by line; the output of commands comes in pieces, and is printed when a line is complete."""

    def __init__(self) -> None:
        self._rest: list[str] = []
        self._length = 0

    def show(self, progress: Progress) -> None:
        if not isinstance(progress, OutputReceived):
            if self._rest:
                output.lines(_output_lines([self._take()]))
            output.lines(progress_lines(progress))
            return
        complete: list[str] = []
        for number, piece in enumerate(progress.text.split("\n")):
            if number:
                complete.append(self._take())
            if piece:
                self._rest.append(piece)  # joined once, however many pieces a line has
                self._length += len(piece)
            if self._length > _LONGEST_LINE:
                complete.append(self._take())
        output.lines(_output_lines(complete))

    def _take(self) -> str:
        """The line that is complete now."""
        text = "".join(self._rest)
        self._rest, self._length = [], 0
        return text.removesuffix("\r")


def _output_lines(lines: Sequence[str]) -> Iterator[Line]:
    return (line for text in lines for line in progress_lines(OutputReceived(text=text)))


class _Bars:
    """The live part: completed stories and tasks, the elapsed time, and the last lines of the agent's output."""

    def __init__(self, stories: Callable[[], tuple[Story, ...]]) -> None:
        self._read = stories
        self._stories = stories()
        self._read_at = self._started = time.monotonic()
        self._doing = ""
        self._output: deque[str] = deque([""], maxlen=_SHOWN_LINES)

    def note(self, progress: Progress) -> None:
        match progress:
            case OutputReceived():
                first, *more = progress.text.split("\n")
                self._output[-1] = (self._output[-1] + first)[-1000:]
                self._output.extend(more)
            case StoryStarted(story=story):
                self._doing = f"story {story.id}: {story.title}"
                self._output.append("")
            case Verifying():
                self._doing = f"verifying: {progress.command}"
            case _:
                pass

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        now = time.monotonic()
        self._refresh(now)
        grid = Table.grid(padding=(0, 1))
        tasks = [task for story in self._stories for task in story.tasks]
        for name, done, total in (
            ("stories", sum(story.complete for story in self._stories), len(self._stories)),
            ("tasks", sum(task.done for task in tasks), len(tasks)),
        ):
            grid.add_row(name, ProgressBar(total=max(total, 1), completed=done, width=40), f"{done}/{total}")
        minutes, seconds = divmod(int(now - self._started), 60)
        heading = Text(
            one_line(f"{minutes}:{seconds:02} {self._doing}"), style="bold", no_wrap=True, overflow="ellipsis"
        )
        lines = [Text(one_line(line), style="dim", no_wrap=True, overflow="ellipsis") for line in self._output if line]
        return Group(heading, grid, *lines)

    def _refresh(self, now: float) -> None:
        if now - self._read_at >= _REFRESH_SECONDS:
            self._read_at = now
            try:
                self._stories = self._read()
            except SegueError:
                return  # the plan is being edited; the orchestrator reports an error that stays


def rich_text(line: Line) -> RenderableType:
    from rich.text import Text

    return Text.assemble(*[one_line(span) if isinstance(span, str) else (one_line(span[1]), span[0]) for span in line])
