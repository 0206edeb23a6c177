from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from segue.cli._finding import filters, find_sources, open_index, plain_entry, wanted
from segue.console import options, output

if TYPE_CHECKING:
    from segue.library import Library


@options.verb(
    "segue list",
    "segue list --agent qa --since 7d",
    "segue list --status paused --json",
    "segue list --limit 1 | cut -f 1",
    "segue list --project . --pick",
)
@filters
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Not more than so many.")
@click.option("--pick", is_flag=True, help="Choose one to go on with.")
@options.library
@options.as_json
def command(*, library: Library, limit: int | None, pick: bool, as_json: bool, **given: str | None) -> int | None:
    """Show the sessions, the last active first.

    On a terminal a table; elsewhere a line a session, with tabs between id, agent, title, turns, created, last activity
    and status, and where it is if several places were looked into. Without --store those are the usual store, the
    stores in your configuration, and the AI tools of this machine.
    """
    places = find_sources(library)
    chosen = wanted(places, given)
    if pick:
        from segue.cli._picking import pick as open_picker

        return open_picker(places, chosen)
    with open_index(places, words=False) as catalog:
        entries = catalog.entries(chosen, limit=limit)
    if as_json:
        output.data([plain_entry(entry) for entry in entries])
        return None
    if not entries:
        filtered = any(value is not None for value in given.values())
        what = "no session matches" if filtered else f"there are no sessions in {' or '.join(places.names)}"
        output.warn(f"{what}; {'segue list shows all' if filtered else 'segue new starts one'}")
        return None
    from segue.cli._view import show_entries

    show_entries(entries, with_places=len(places.sources) > 1)
    for entry in entries:
        if entry.damage:
            more = "; segue verify {} shows every place".format(shlex.join(places.words("verify", entry)[1:]))
            output.warn(f"{entry.id} is damaged ({entry.damage}){more if entry.source in places.libraries else ''}")
    return None
