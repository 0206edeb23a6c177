"""The board of `ralphtool`: changes, sessions and stories. Updated on a terminal, elsewhere printed once."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from segue.clock import local, utc_now
from segue.console import output
from segue.console.durations import ago
from segue.console.exit_codes import Exit
from segue.dialects.ralph.cli import current_folder
from segue.dialects.ralph.openspec import find_changes
from segue.dialects.ralph.step_context import StepContext
from segue.errors import SegueError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from segue.console.output import Line
    from segue.dialects.ralph.store.claims import Claim
    from segue.model import Head

_BAR = 20
_REFRESH_SECONDS = 1.0


def show() -> int:
    """Show the board; on a terminal until Ctrl-C."""
    if not output.stdout_is_tty() or os.environ.get("TERM") == "dumb":
        output.lines(board())
        return Exit.DONE
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stdout, highlight=False)
    with suppress(KeyboardInterrupt), Live(_drawing(), console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(_drawing(), refresh=True)
            time.sleep(_REFRESH_SECONDS)
    output.lines(board())
    return Exit.DONE


def board() -> list[Line]:
    """The lines of the board as of now."""
    step = StepContext(environ=os.environ, cwd=current_folder())
    claims = {claim.change: claim for claim in step.claims(step.current_project).list()}
    changes = sorted({*find_changes(step.current_project), *claims})
    heads = {head.id: head for head in step.store.heads()}
    lines: list[Line] = [(("bold", step.current_project),)]
    for change in changes:
        lines += _change(step, change, claims.get(change), heads)
    if not changes:
        lines.append(("no changes here; to run a plan in NAME.md: ralphtool run --change NAME",))
    elsewhere = [head for head in heads.values() if head.id not in {claim.session for claim in claims.values()}]
    if elsewhere:
        lines += [(), (("bold", "other sessions of this machine"),)]
        lines += [_session(head) for head in sorted(elsewhere, key=lambda head: (head.created_at, head.id))]
    return lines


def _change(step: StepContext, change: str, claim: Claim | None, heads: dict[str, Head]) -> Iterator[Line]:
    yield ()
    try:
        stories = step.plan_of(step.current_project, change).stories()
    except SegueError as error:
        yield ("bold", change), f"  {error}"
        return
    done, total = sum(story.done for story in stories), sum(len(story.tasks) for story in stories)
    filled = _BAR * done // total if total else _BAR
    complete = sum(story.complete for story in stories)
    yield (
        ("bold", change),
        "  ",
        ("green", "█" * filled),
        ("dim", "░" * (_BAR - filled)),
        f"  stories {complete}/{len(stories)}  tasks {done}/{total}",
    )
    current = None
    if claim is not None:
        yield _claim(step, claim, heads)
        current = _current_story(step, claim)
    for story in stories if claim is not None else ():
        mark = ("green", "✓") if story.complete else ("cyan", "▶") if story.id == current else ("dim", "○")
        yield "  ", mark, f" {story.id} {story.title}  {story.done}/{len(story.tasks)}"


def _claim(step: StepContext, claim: Claim, heads: dict[str, Head]) -> Line:
    since = f" since {local(claim.since):%Y-%m-%d %H:%M}" if claim.since is not None else ""
    if step.claims(step.current_project).is_stale(claim):
        return ("  session ", ("yellow", claim.session), " is gone; the next session takes its claim over")
    head = heads.get(claim.session)
    active = f", last active {ago(head.updated_at, utc_now())}" if head is not None and not head.damage else ""
    return ("  session ", ("cyan", claim.session or "(unnamed)"), f"{since}{active}")


def _current_story(step: StepContext, claim: Claim) -> object:
    try:
        return step.store.overview(claim.session).overrides.get("story")
    except SegueError:
        return None


def _session(head: Head) -> Line:
    if head.damage:
        return ("  ", ("red", head.id), f"  cannot be read: {head.damage}")
    return (f"  {head.id}  change {head.title}", ("dim", f"  {ago(head.updated_at, utc_now())}"))


def _drawing() -> RenderableType:
    from rich.console import Group

    from segue.dialects.ralph.run_display import rich_text

    return Group(*[rich_text(line) for line in [*board(), (), (("dim", "Ctrl-C to quit"),)]])
