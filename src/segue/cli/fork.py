from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._change import writing
from segue.console import options, output

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue fork qa-2026", "segue fork qa-2026 --at 3 --name other-idea", "segue fork qa-2026 --stay")
@options.session
@click.option(
    "--at", metavar="TURN", type=click.IntRange(min=0), help="Share only the turns up to this one; 0 shares none."
)
@click.option("--name", metavar="NAME", type=options.text, help="The name of the new branch.")
@click.option("--stay", is_flag=True, help="Stay in the present branch.")
@options.library
@options.as_json
def command(*, library: Library, id: str, at: int | None, name: str | None, stay: bool, as_json: bool) -> None:
    """Begin a branch from the active one and print its name."""
    with writing(library, id) as live:
        session_id, parent = live.id, live.branch
        branch = live.fork(at=at, name=name, switch=not stay)
        made = live.overview.get_branch(branch)
    if as_json:
        output.data({"id": session_id, "branch": branch, "parent": parent, "at": made.at, "switched": not stay})
    else:
        output.line(branch)
        shared = f"it shares {made.at} turn{'' if made.at == 1 else 's'} of {parent}"
        output.note(f"{shared}; {'you stay there' if stay else 'it is the active branch now'}")
