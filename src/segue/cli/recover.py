from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._lookup import find_stored
from segue.console import options, output
from segue.console.exit_codes import Exit

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue recover qa-2026", "segue recover qa-2026 --yes --json")
@options.session
@options.yes
@options.library
@options.as_json
def command(*, library: Library, id: str, yes: bool, as_json: bool) -> int | None:
    """Repair a damaged session from what can be read of it.

    You are asked to confirm. The damaged original is saved next to it.
    """
    found = find_stored(library, id, words="never" if yes else "ask")
    library, name = found.library, found.id
    damages = library.store.examine(name).damages
    for damage in damages if not as_json else ():
        output.line(f"lost: {damage}")
    question = f"Replace {name} with what can be read of it, and save the original next to it?"
    if damages and not output.confirm(question, yes=yes):
        output.warn("nothing was changed")
        return Exit.DECLINED
    recovery = library.recover(name)
    turns = sum(branch.own for branch in recovery.session.branches.values())
    if as_json:
        output.data(
            {
                "id": name,
                "kept_events": recovery.kept,
                "kept_turns": turns,
                "lost": [damage._asdict() for damage in recovery.damages],
                "original": recovery.original,
            }
        )
    else:
        output.line(f"recovered: {recovery.kept} events, {turns} turn{'' if turns == 1 else 's'} among them")
        output.line(f"original: {recovery.original}")
    return None
