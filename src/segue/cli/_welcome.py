"""What `segue` without arguments shows on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._entries import list_with_short_ids
from segue.cli._sources import find_sources, parse_filters
from segue.cli.picker import can_pick, pick
from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.options import open_library

if TYPE_CHECKING:
    from segue.cli._entries import Listing
    from segue.cli._sources import Sources

_NEWEST = 5


def welcome() -> int:
    """Open the picker; if there are no sessions yet, show how to start."""
    with open_library() as library:
        sources = find_sources(library)
        if can_pick() and _has_indexed_sessions(sources):
            return pick(sources, parse_filters(sources, {}))
        listing = list_with_short_ids(sources, parse_filters(sources, {}), limit=_NEWEST)
        if listing.entries and can_pick():
            return pick(sources, parse_filters(sources, {}))
        _greet(listing, library.store.url)
        if listing.entries or not can_pick() or not output.confirm("Start a conversation now?", yes=False):
            return Exit.DONE
    from segue.cli.app import invoke

    return invoke(["chat"])


def _has_indexed_sessions(sources: Sources) -> bool:
    """Whether the index has sessions to show at once, before it is brought up to date."""
    from segue.index import Index
    from segue.user_folders import cache_folder

    with Index(cache_folder()) as index:
        return bool(index.entries(parse_filters(sources, {}), limit=1))


def _greet(listing: Listing, store: str) -> None:
    from segue.cli._rendering import print_sessions

    output.line(("bold", "Segue"), " saves your conversations with AI agents, even when a process is killed.")
    output.line()
    if listing.entries:
        print_sessions(listing.entries, listing.short_ids)
        output.line()
        output.line("  segue resume --last   resume the last conversation")
        output.line("  segue chat            start another conversation")
        output.line("  segue show ID         read a conversation")
    else:
        output.line("There are no sessions yet. To start one:")
        output.line()
        output.line("  segue chat            start a conversation; works without an API key and offline")
        output.line('  segue ask "…"         ask one question')
        output.line("  segue new             create a session that a program records")
    output.line("  segue --help          all commands")
    output.line()
    output.line(("dim", f"Sessions are in {store}"))
