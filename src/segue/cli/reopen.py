from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._change import report, writing
from segue.console import options
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue reopen qa-2026")
@options.session
@options.library
@options.as_json
def command(*, library: Library, id: str, as_json: bool) -> None:
    """Take back that a session is completed: it is paused again."""
    with writing(library, id) as live:
        name = live.id
        if live.status != "completed":
            raise UsageError(f"session {name} is {live.status}, not completed", hint="there is nothing to take back")
        live.resume(force=True)
        live.pause()  # nobody is at it, after all
    report(library, name, f"{name} is paused and can go on", as_json=as_json)
