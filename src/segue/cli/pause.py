from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._edit import editing, print_change
from segue.console import options

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue pause qa-2026")
@options.session
@options.library
@options.as_json
def command(*, library: Library, id: str, as_json: bool) -> None:
    """Mark a session as paused.

    This also applies to a session that was interrupted.
    """
    with editing(library, id) as live:
        if live.status == "interrupted":
            live.resume()  # only an active session can be paused
        live.pause()
    print_change(live, f"{live.id} is paused", as_json=as_json)
