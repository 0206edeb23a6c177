from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.console import options, output
from segue.console.paths import origin_here
from segue.console.recent import record_session

if TYPE_CHECKING:
    from segue.library import Library


@options.verb(
    "segue new",
    'segue new --agent qa --title "Login bug" --tag urgent',
    "id=$(segue new --agent qa)",
)
@click.option("--agent", metavar="NAME", default="", type=options.text, help="Name of the agent.")
@click.option("--title", metavar="TEXT", default="", type=options.text, help="Title of the session.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, type=options.text, help="Tag; can be repeated.")
@click.option("--id", metavar="ID", type=options.text, help="Id to use instead of a generated one.")
@options.library
@options.as_json
def command(*, library: Library, agent: str, title: str, tags: tuple[str, ...], id: str | None, as_json: bool) -> None:
    """Create a session and print its id."""
    from segue.console.surface import here

    origin = origin_here(here())
    with library.create(agent=agent, title=title, tags=tags, id=id, extra=origin) as live:
        name = live.id
    record_session(library.store.url, name)
    if as_json:
        from segue.formats.transcript import to_json_object

        output.data(to_json_object(library.store.head(name)))
    else:
        output.line(name)
        output.note(f"to record a turn: segue add {name} TEXT")
