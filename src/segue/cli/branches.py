from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._lookup import find_readable
from segue.console import options, output

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue branches qa-2026", "segue branches qa-2026 --json")
@options.session
@options.library
@options.as_json
def command(*, library: Library, id: str, as_json: bool) -> None:
    """List the branches of a session; * marks the active one."""
    from segue.console.durations import time_formatter
    from segue.formats.transcript import iso

    found = find_readable(library, id)
    session = found.library.overview(found.id)
    branches = session.branches.values()
    if as_json:
        output.data(
            [
                {
                    "name": branch.name,
                    "active": branch.name == session.branch,
                    "parent": branch.parent or None,
                    "at": branch.at,
                    "turn_count": branch.turn_count,
                    "created_at": iso(branch.created_at),
                }
                for branch in branches
            ]
        )
        return
    when = time_formatter()
    rows = [
        (
            "*" if branch.name == session.branch else "",
            branch.name,
            f"{branch.parent} at {branch.at}" if branch.parent else "",
            str(branch.turn_count),
            when(branch.created_at),
        )
        for branch in branches
    ]
    output.table(("", "BRANCH", "FROM", "TURNS", "CREATED"), rows, stretch=1)
