from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from segue.cli._entries import list_with_short_ids
from segue.cli._sources import entry_json, filter_options, find_sources, parse_filters
from segue.console import options, output
from segue.console.recent import RecentSession, record_list
from segue.queries import MOST

if TYPE_CHECKING:
    from segue.library import Library


@options.verb(
    "segue list",
    "segue list --agent qa --since 7d",
    "segue list --status paused --json",
    "segue list --limit 1 | cut -f 1",
    "segue list --project . --pick",
)
@filter_options
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Show at most N sessions.")
@click.option("--pick", is_flag=True, help="Choose a session to resume.")
@options.library
@options.as_json
def command(*, library: Library, limit: int | None, pick: bool, as_json: bool, **given: str | None) -> int | None:
    """List sessions, most recently active first.

    A conversation is listed once, with the AI tools that also have it. On a terminal the output is a table, in your
    pager if it is long, with the shortest part of each id that is enough to name the session. Elsewhere it is one line
    per session, with tabs between id, agent, title, turns, created, last activity and status, and the source if there
    are several. Without --store the sources are the default store, the stores in your configuration and the AI tools of
    this machine.
    """
    sources = find_sources(library)
    filters = parse_filters(sources, given)
    if pick:
        from segue.cli.picker import pick as open_picker

        return open_picker(sources, filters)
    most = limit
    if limit is None and not as_json and output.stdout_is_tty() and any(one.queries for one in sources.sources):
        most = MOST
    entries, short_ids = list_with_short_ids(sources, filters, limit=most)
    recorded = record_list(RecentSession(entry.source, entry.id) for entry in entries)
    if as_json:
        output.data([entry_json(entry) for entry in entries])
        return None
    if not entries:
        if any(value is not None for value in given.values()):
            output.warn("no session matches; segue list without filters shows all")
        else:
            output.warn(f"no sessions in {' or '.join(sources.names)}; start one with segue chat")
        return None
    from segue.cli._rendering import print_sessions

    print_sessions(entries, short_ids, with_sources=len(sources.sources) > 1, numbered=recorded)
    for entry in entries:
        if entry.damage:
            more = "; for details: segue verify {}".format(shlex.join(sources.arguments("verify", entry)[1:]))
            output.warn(f"{entry.id} is damaged ({entry.damage}){more if entry.source in sources.libraries else ''}")
    if most != limit and len(entries) == most:
        output.warn(f"only the {most:,} sessions that were active last are shown; to show more: --limit N")
    return None
