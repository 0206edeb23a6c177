from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._edit import editing, print_change
from segue.console import options
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue reopen qa-2026")
@options.session
@options.library
@options.as_json
def command(*, library: Library, id: str, as_json: bool) -> None:
    """Change a completed session back to paused."""
    with editing(library, id) as live:
        if live.status != "completed":
            raise UsageError(
                f"session {live.id} is {live.status}, not completed", hint="only a completed session can be reopened"
            )
        live.resume(force=True)
        live.pause()  # no one is writing to it now
    print_change(live, f"{live.id} is paused and can be resumed", as_json=as_json)
