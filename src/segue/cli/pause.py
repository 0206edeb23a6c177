from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._change import report, writing
from segue.console import options

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue pause qa-2026")
@options.session
@options.library
@options.as_json
def command(*, library: Library, id: str, as_json: bool) -> None:
    """Mark a session as paused.

    That is also the clean end for one that was interrupted.
    """
    with writing(library, id) as live:
        name = live.id
        if live.status == "interrupted":
            live.resume()  # only what is active can pause
        live.pause()
    report(library, name, f"{name} is paused", as_json=as_json)
