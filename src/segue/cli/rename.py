from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._change import report, writing
from segue.console import options

if TYPE_CHECKING:
    from segue.library import Library


@options.verb('segue rename qa-2026 "Login bug, second look"')
@options.session
@click.argument("title", metavar="TITLE", type=options.text)
@options.library
@options.as_json
def command(*, library: Library, id: str, title: str, as_json: bool) -> None:
    """Give a session another title; its id stays."""
    with writing(library, id) as live:
        name = live.id
        live.rename(title=title)
    report(library, name, f"{name} is now called {title}", as_json=as_json)
