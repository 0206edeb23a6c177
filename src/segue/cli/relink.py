from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from segue.console import exit_codes, options, output
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.library import Library


@options.verb("segue relink ~/old/login ~/new/login", "segue relink /mnt/disk/work ~/work --json")
@click.argument("old", metavar="OLD", type=options.text)
@click.argument("new", metavar="NEW", type=options.text)
@options.library
@options.as_json
def command(*, library: Library, old: str, new: str, as_json: bool) -> int:
    """Update sessions after their project folder has moved.

    Sessions that began in OLD or below it then belong to NEW. A git repository does not need this: its sessions are
    found again wherever it moves. With --json the output is one line per session.
    """
    from segue.project import project_of, relink

    before, now = (os.path.realpath(Path(folder).expanduser()) for folder in (old, new))
    if not Path(now).is_dir():
        raise UsageError(f"{new} is not a folder", hint="NEW is where the folder is now")
    if before == now:
        raise UsageError(f"{old} and {new} are the same folder", hint="OLD is where it was, NEW where it is now")
    code, count = exit_codes.Exit.DONE, 0
    for found in relink(library.store, before, now, lambda folder: project_of(folder, os.environ)):
        if found.error is not None:
            output.warn(f"session {found.session_id} was not changed: {found.error}")
            code = exit_codes.exit_code_of(found.error)
            continue
        count += 1
        if as_json:
            output.data_line({"id": found.session_id, "folder": found.cwd})
        else:
            output.line(f"{found.session_id}: {found.cwd}")
    if not count and code == exit_codes.Exit.DONE:
        output.warn(
            f"no session in {library.store.url} belongs to {before}; to find its sessions: segue list --project {old}"
        )
    return code
