from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._change import report, writing
from segue.console import options

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue switch qa-2026 main", "segue switch qa-2026 other-idea")
@options.session
@click.argument("branch", metavar="BRANCH", type=options.text, shell_complete=options.complete_branches)
@options.library
@options.as_json
def command(*, library: Library, id: str, branch: str, as_json: bool) -> None:
    """Go on in another branch."""
    with writing(library, id) as live:
        name = live.id
        live.switch(branch)
    report(library, name, f"{name} goes on in {branch}", as_json=as_json)
