"""What a person sees who types `segue` and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._finding import find_sources, open_index, wanted
from segue.cli._picking import can_pick, pick
from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.options import open_library

if TYPE_CHECKING:
    from segue.cli._finding import Sources
    from segue.index import IndexEntry

_NEWEST = 5


def welcome() -> int:
    """The picker; or, where there is nothing to pick yet, how to begin."""
    with open_library() as library:
        places = find_sources(library)
        if can_pick() and _is_known(places):
            return pick(places, wanted(places, {}))
        with open_index(places, words=False) as catalog:
            entries = catalog.entries(wanted(places, {}), limit=_NEWEST)
        if entries and can_pick():
            return pick(places, wanted(places, {}))
        _greet(entries, library.store.url)
        if entries or not can_pick() or not output.confirm("Start a conversation now?", yes=False):
            return Exit.DONE
    from segue.cli.app import invoke

    return invoke(["chat"])


def _is_known(places: Sources) -> bool:
    """Whether the index can be shown at once, and brought up to date behind that."""
    from segue.index import Index
    from segue.user_folders import cache_folder

    with Index(cache_folder()) as catalog:
        return bool(catalog.entries(wanted(places, {}), limit=1))


def _greet(entries: list[IndexEntry], store: str) -> None:
    from segue.cli._view import show_entries

    output.line(("bold", "Segue"), " keeps your conversations with AI agents, whatever happens.")
    output.line()
    if entries:
        show_entries(entries)
        output.line()
        output.line("  segue resume --last   go on where you stopped")
        output.line("  segue chat            start another conversation")
        output.line("  segue show ID         read one")
    else:
        output.line("There are no sessions yet. To start one:")
        output.line()
        output.line("  segue chat            hold a conversation; it works without a key and without a network")
        output.line('  segue ask "…"         ask one question')
        output.line("  segue new             start a session that a program of yours records")
    output.line("  segue --help          all commands")
    output.line()
    output.line(("dim", f"Sessions are in {store}"))
