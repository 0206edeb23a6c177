from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._external import warn_damages
from segue.cli._lookup import find_readable
from segue.console import exit_codes, options, output
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.library import Library
    from segue.transfer.convert import Converted, Unconverted


@options.verb(
    "segue convert login-bug --to soleur:archive",
    "segue convert --all --to cortext:~/notes",
    "segue convert --all --store gptel:~/.gptel/sessions --to journal:backup --json",
)
@options.optional_session
@click.option(
    "--to", "url", metavar="URL", required=True, type=options.text, help="Store to copy into, e.g. journal:/path."
)
@click.option("--all", "everything", is_flag=True, help="Copy all sessions of the store.")
@options.library
@options.as_json
def command(*, library: Library, id: str | None, url: str, everything: bool, as_json: bool) -> int:
    """Copy a session into another store, and verify the copy.

    The source does not change. Repeating it adds what is new, and completes an interrupted copy. Losses are listed.
    With --json one line per session.
    """
    from segue.formats.store_url import hide_password
    from segue.links import place_of
    from segue.transfer.convert import Unconverted
    from segue.transfer.convert_many import copy_all

    if (id is not None) == everything:
        raise UsageError(
            "specify a session or --all", hint=f"for example: segue convert --all --to {hide_password(url)}"
        )
    target = options.open_library(url)
    try:
        if not target.store.capabilities.shared:
            raise UsageError("a memory: store is gone when this command exits", hint="use a store with a folder")
        if place_of(target.store.url) == place_of(library.store.url):
            raise UsageError(f"{target.store.url} is the store of the sessions itself", hint="use another one")
        if everything:
            ids = sorted(library.store.ids())
        else:
            read = find_readable(library, id or "")
            warn_damages(read.damages)
            library, ids = read.library, [read.id]
        code, added, losses = exit_codes.Exit.DONE, 0, 0
        for number, found in enumerate(copy_all(library.store, target.store, ids), start=1):
            output.progress("" if number == len(ids) else f"{number:,} of {len(ids):,} sessions")
            if isinstance(found, Unconverted):
                if not everything:
                    raise found.error
                output.warn(f"session {found.session_id}: {found.error}")
                code = exit_codes.exit_code_of(found.error)
            else:
                added += bool(found.added)
                losses += len(found.losses)
            _show(found, as_json=as_json)
        if everything and not as_json:
            output.line(f"copied or completed {added:,} of {len(ids):,} sessions, {_format_losses(losses)}")
    finally:
        target.close()
    return code


def _show(found: Converted | Unconverted, *, as_json: bool) -> None:
    from segue.transfer.convert import Unconverted

    if isinstance(found, Unconverted):
        if as_json:
            output.data_line({"id": found.session_id, "error": str(found.error)})
        return
    if as_json:
        output.data_line(
            {
                "id": found.session_id,
                "events": found.events,
                "added": found.added,
                "blobs": found.blobs,
                "losses": list(found.losses),
            }
        )
        return
    for loss in found.losses:
        output.warn(f"session {found.session_id}: {loss}")
    what = f"copied {found.added:,} of {found.events:,} events" if found.added else "already up to date"
    output.line(f"{found.session_id}: {what}, verified, {_format_losses(len(found.losses))}")


def _format_losses(count: int) -> str:
    if not count:
        return "nothing lost"
    return f"{count:,} {'loss' if count == 1 else 'losses'} listed above"
