from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._edit import editing, print_change
from segue.console import options

if TYPE_CHECKING:
    from segue.library import Library


@options.verb('segue rename qa-2026 "Login bug, second try"')
@options.first_session
@click.argument("title", metavar="TITLE", type=options.text)
@options.library
@options.as_json
def command(*, library: Library, id: str, title: str, as_json: bool) -> None:
    """Change the title of a session; its id stays the same."""
    with editing(library, id) as live:
        live.rename(title=title)
    print_change(live, f"renamed {live.id} to {title}", as_json=as_json)
