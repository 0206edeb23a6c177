from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli import options
from segue.console import output
from segue.console.exits import Exit
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue delete qa-2026", "segue delete one two --yes")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, type=options.text, shell_complete=options.complete_ids)
@options.yes
@options.library
@options.as_json
def command(*, library: Library, ids: tuple[str, ...], yes: bool, as_json: bool) -> int | None:
    """Delete sessions for good, after asking.

    A session that is in use is never deleted. With --yes nobody is asked, so every ID must be whole.
    """
    names = list(dict.fromkeys(library.resolve(id) for id in ids))
    if yes and (short := [id for id in ids if id not in names]):
        raise UsageError(
            f"{', '.join(short)} is only the beginning of an id; nothing was deleted",
            hint="with --yes say the whole id",
        )
    what = names[0] if len(names) == 1 else f"these {len(names)} sessions:\n  " + "\n  ".join(names) + "\n"
    if not output.confirm(f"Delete {what} for good?", yes=yes):
        output.warn("nothing was deleted")
        return Exit.DECLINED
    deleted = []
    try:
        for name in names:
            library.delete(name)
            deleted.append(name)
            if not as_json:
                output.line(f"deleted {name}")
    finally:
        if as_json:
            output.data({"deleted": deleted})
    return None
