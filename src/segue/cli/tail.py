from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from segue.cli._lookup import find_readable
from segue.console import options, output

if TYPE_CHECKING:
    from segue.library import Library
    from segue.model import Event

_POLL_SECONDS = 0.1


@options.verb(
    "segue tail qa-2026",
    "segue tail qa-2026 -n 3 -f",
    "segue tail qa-2026 -n 0 -f --json",
)
@options.session
@click.option(
    "-n", "count", metavar="N", type=click.IntRange(min=0), default=10, show_default=True, help="Show the last N turns."
)
@click.option("-f", "--follow", is_flag=True, help="Keep showing new turns until Ctrl-C.")
@options.library
@options.as_json
def command(*, library: Library, id: str, count: int, follow: bool, as_json: bool) -> None:
    """Show the last turns of a session, and with -f new ones.

    The turns are those of the active branch. With --json each is one line; with -f and --json every event is shown,
    of any type.
    """
    from segue.model import hide_redacted

    found = find_readable(library, id)
    last = found.library.tail(found.id, max(count, 1))  # the last one tells where to continue
    turns = tuple(hide_redacted(found.library.overview(found.id), last))
    after = turns[-1].seq if turns else 0
    for turn in turns[len(turns) - min(count, len(turns)) :]:
        _show(turn, as_json=as_json)
    if follow:
        follower = found.library.follower(found.id, after=after)
        while (events := follower.poll()) is not None:
            for event in events:
                _show(event, as_json=as_json)
            time.sleep(_POLL_SECONDS)
            found.refresh()


def _show(event: Event, *, as_json: bool) -> None:
    from segue.model import MAIN, Turn

    if as_json:
        from segue.formats.transcript import to_json_object

        output.data_line(to_json_object(event))
    elif isinstance(event, Turn):
        from segue.cli._rendering import render_turns

        output.lines(render_turns([event], first=None, branch=MAIN))
