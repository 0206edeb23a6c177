from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._edit import editing, print_change
from segue.console import options

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue complete qa-2026")
@options.session
@options.library
@options.as_json
def command(*, library: Library, id: str, as_json: bool) -> None:
    """Mark a session as completed; undo with segue reopen."""
    with editing(library, id) as live:
        live.complete()
    print_change(live, f"{live.id} is completed", as_json=as_json)
