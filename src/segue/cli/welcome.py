"""What a person sees who types `segue` and nothing else."""

from __future__ import annotations

from segue.cli import output
from segue.cli.options import open_library

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
            output.line("  segue show ID         read one")
            output.line("  segue new             start another")
        else:
            output.line("There are no sessions yet. To start one:")
            output.line()
            output.line('  id=$(segue new --agent qa --title "Login bug")')
            output.line('  segue add "$id" "Why does login fail?"')
            output.line('  segue show "$id"')
        output.line("  segue --help          all commands")
        output.line()
        output.line(("dim", f"Sessions are in {library.store.url}"))
