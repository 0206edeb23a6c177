from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._edit import editing, print_change
from segue.console import options

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue switch qa-2026 main", "segue switch qa-2026 other-idea")
@options.first_session
@click.argument("branch", metavar="BRANCH", type=options.text, shell_complete=options.complete_branches)
@options.library
@options.as_json
def command(*, library: Library, id: str, branch: str, as_json: bool) -> None:
    """Make another branch the active one."""
    with editing(library, id) as live:
        live.switch(branch)
    print_change(live, f"{branch} is now the active branch of {live.id}", as_json=as_json)
