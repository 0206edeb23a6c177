from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._edit import editing
from segue.console import options, output

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue fork qa-2026", "segue fork qa-2026 --at 3 --name other-idea", "segue fork qa-2026 --stay")
@options.session
@click.option(
    "--at",
    metavar="TURN",
    type=click.IntRange(min=0),
    help="Number of turns to share with the new branch; 0 shares none.",
)
@click.option("--name", metavar="NAME", type=options.text, help="Name of the new branch.")
@click.option("--stay", is_flag=True, help="Do not switch to the new branch.")
@options.library
@options.as_json
def command(*, library: Library, id: str, at: int | None, name: str | None, stay: bool, as_json: bool) -> None:
    """Create a branch from the active one and print its name."""
    with editing(library, id) as live:
        session_id, parent = live.id, live.branch
        branch = live.fork(at=at, name=name, switch=not stay)
        made = live.overview.get_branch(branch)
    if as_json:
        output.data({"id": session_id, "branch": branch, "parent": parent, "at": made.at, "switched": not stay})
    else:
        output.line(branch)
        shared = f"{branch} shares {made.at} turn{'' if made.at == 1 else 's'} with {parent}"
        output.note(f"{shared}; the active branch is {parent if stay else branch}")
