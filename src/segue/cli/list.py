from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from segue.cli import options
from segue.console import output
from segue.console.moments import parse_since

if TYPE_CHECKING:
    from segue.library import Library
    from segue.model import Status

_STATUSES = ("active", "paused", "completed", "interrupted")


@options.verb(
    "segue list",
    "segue list --agent qa --since 7d",
    "segue list --status paused --json",
    "segue list --limit 1 | cut -f 1",
)
@click.option(
    "--agent", metavar="NAME", type=options.text, shell_complete=options.complete_agents, help="Of one agent."
)
@click.option("--status", type=click.Choice(_STATUSES), help="With this status.")
@click.option("--tag", metavar="TAG", type=options.text, shell_complete=options.complete_tags, help="With this tag.")
@click.option("--since", metavar="TIME", help="Active since: 7d, 2026-11-01 or an ISO time.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Not more than so many.")
@options.library
@options.as_json
def command(
    *,
    library: Library,
    agent: str | None,
    status: Status | None,
    tag: str | None,
    since: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Show the sessions, the last active first.

    On a terminal a table; elsewhere a line a session, with tabs between id, agent, title, turns, created, last activity
    and status.
    """
    moment = None if since is None else parse_since(since, datetime.now(UTC))
    heads = library.list(agent=agent, status=status, tag=tag, since=moment, limit=limit)
    if as_json:
        from segue.formats.transcript import plain

        output.data([plain(head) for head in heads])
        return
    if not heads:
        filtered = any(value is not None for value in (agent, status, tag, since))
        what = "no session matches" if filtered else f"there are no sessions in {library.store.url}"
        output.warn(f"{what}; {'segue list shows all' if filtered else 'segue new starts one'}")
        return
    from segue.cli.view import show_heads

    show_heads(heads)
    for head in heads:
        if head.damage:
            output.warn(f"{head.id} is damaged ({head.damage}); segue verify {head.id} shows every place")
