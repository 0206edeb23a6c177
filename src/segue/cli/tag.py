from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._edit import editing
from segue.cli._lookup import find_readable
from segue.console import options, output
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.library import Library


@options.verb(
    "segue tag qa-2026",
    "segue tag qa-2026 urgent",
    "segue tag qa-2026 +urgent -waiting",
    "segue tag qa-2026 --remove waiting",
    takes_dashes=True,
)
@options.first_session
@click.argument(
    "tags", metavar="[TAG | +TAG | -TAG]...", nargs=-1, type=options.text, shell_complete=options.complete_tags
)
@click.option(
    "--remove",
    metavar="TAG",
    multiple=True,
    type=options.text,
    shell_complete=options.complete_tags,
    help="Remove TAG, as -TAG does.",
)
@options.library
@options.as_json
def command(*, library: Library, id: str, tags: tuple[str, ...], remove: tuple[str, ...], as_json: bool) -> None:
    """Add or remove tags of a session, and print its tags."""
    if wrong := [tag for tag in tags if tag.startswith("--") or tag in {"", "+", "-"}]:
        raise UsageError(f"{wrong[0]!r} is neither an option nor a tag", hint="see segue tag --help")
    added = [tag.removeprefix("+") for tag in tags if not tag.startswith("-")]
    removed = [*remove, *(tag.removeprefix("-") for tag in tags if tag.startswith("-"))]
    if added or removed:
        with editing(library, id) as live:
            name = live.id
            live.tag(*added, remove=removed)
            found = live.overview.tags
    else:
        read = find_readable(library, id)
        name = read.id
        found = read.library.overview(name).tags
    if as_json:
        output.data({"id": name, "tags": list(found)})
    else:
        for tag in found:
            output.line(tag)
