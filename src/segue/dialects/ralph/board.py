"""`ralphtool` alone: a board of changes, sessions and stories. It moves on a terminal; elsewhere it is printed once."""

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
from segue.dialects.ralph.cli import here
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
_LOOK_SECONDS = 1.0


def show() -> int:
    """Until Ctrl-C, where somebody looks."""
    if not output.stdout_is_tty() or os.environ.get("TERM") == "dumb":
        output.lines(board())
        return Exit.DONE
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stdout, highlight=False)
    with suppress(KeyboardInterrupt), Live(_drawn(), console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(_drawn(), refresh=True)
            time.sleep(_LOOK_SECONDS)
    output.lines(board())
    return Exit.DONE


def board() -> list[Line]:
    """As it is now."""
    desk = StepContext(environ=os.environ, cwd=here())
    claims = {claim.change: claim for claim in desk.claims(desk.project_here).list()}
    changes = sorted({*find_changes(desk.project_here), *claims})
    heads = {head.id: head for head in desk.store.heads()}
    lines: list[Line] = [(("bold", desk.project_here),)]
    for change in changes:
        lines += _change(desk, change, claims.get(change), heads)
    if not changes:
        lines.append(("no changes here; a plan in NAME.md can be run as well: ralphtool run --change NAME",))
    elsewhere = [head for head in heads.values() if head.id not in {claim.session for claim in claims.values()}]
    if elsewhere:
        lines += [(), (("bold", "other sessions of this machine"),)]
        lines += [_session(head) for head in sorted(elsewhere, key=lambda head: (head.created_at, head.id))]
    return lines


def _change(desk: StepContext, change: str, claim: Claim | None, heads: dict[str, Head]) -> Iterator[Line]:
    yield ()
    try:
        stories = desk.spec_of(desk.project_here, change).stories()
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
        yield _claim(desk, claim, heads)
        current = _story_of(desk, claim)
    for story in stories if claim is not None else ():
        mark = ("green", "✓") if story.complete else ("cyan", "▶") if story.id == current else ("dim", "○")
        yield "  ", mark, f" {story.id} {story.title}  {story.done}/{len(story.tasks)}"


def _claim(desk: StepContext, claim: Claim, heads: dict[str, Head]) -> Line:
    since = f" since {local(claim.since):%Y-%m-%d %H:%M}" if claim.since is not None else ""
    if desk.claims(desk.project_here).is_stale(claim):
        return ("  session ", ("yellow", claim.session), " is gone; its claim is taken over by the next")
    head = heads.get(claim.session)
    active = f", last heard of {ago(head.updated_at, utc_now())}" if head is not None and not head.damage else ""
    return ("  session ", ("cyan", claim.session or "of nobody"), f"{since}{active}")


def _story_of(desk: StepContext, claim: Claim) -> object:
    try:
        return desk.store.overview(claim.session).overrides.get("story")
    except SegueError:
        return None


def _session(head: Head) -> Line:
    if head.damage:
        return ("  ", ("red", head.id), f"  cannot be read: {head.damage}")
    return (f"  {head.id}  change {head.title}", ("dim", f"  {ago(head.updated_at, utc_now())}"))


def _drawn() -> RenderableType:
    from rich.console import Group

    from segue.dialects.ralph.run_display import text_of

    return Group(*[text_of(line) for line in [*board(), (), (("dim", "Ctrl-C ends"),)]])
