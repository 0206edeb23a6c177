"""What a person sees who types `segue` and nothing else."""

from __future__ import annotations

from segue.cli.options import open_library
from segue.console import output

_NEWEST = 5


def welcome() -> None:
    from segue.cli.view import show_heads

    with open_library() as library:
        heads = library.list(limit=_NEWEST)
        output.line(("bold", "Segue"), " keeps your conversations with AI agents, whatever happens.")
        output.line()
        if heads:
            show_heads(heads)
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
        output.line(("dim", f"Sessions are in {library.store.url}"))
