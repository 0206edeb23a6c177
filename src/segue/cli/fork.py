from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._edit import editing
from segue.cli._external import warn_damages
from segue.cli._lookup import find_readable
from segue.console import options, output
from segue.console.recent import record_session
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.library import Library
    from segue.model import JsonObject, Overview
    from segue.session import LiveSession


@options.verb(
    "segue fork qa-2026",
    "segue fork qa-2026 --at 3 --name other-idea",
    "segue fork qa-2026 --stay",
    "segue fork qa-2026 --at 3 --new",
)
@options.session
@click.option(
    "--at",
    metavar="TURN",
    type=click.IntRange(min=0),
    help="Number of turns to share with the new branch; 0 shares none.",
)
@click.option("--name", metavar="NAME", type=options.text, help="Name of the new branch.")
@click.option("--stay", is_flag=True, help="Do not switch to the new branch.")
@click.option("--new", is_flag=True, help="Copy the turns into a new session instead.")
@click.option("--title", metavar="TEXT", type=options.text, help="Title of the new session. [default: the same]")
@click.option("--id", "new_id", metavar="ID", type=options.text, help="ID of the new session. [default: generated]")
@options.library
@options.as_json
def command(
    *,
    library: Library,
    id: str,
    at: int | None,
    name: str | None,
    stay: bool,
    new: bool,
    title: str | None,
    new_id: str | None,
    as_json: bool,
) -> None:
    """Create a branch from the active one, or a new session.

    The name of the branch, or the id of the new session, is printed. A branch is in the same session and copies
    nothing. With --new, the session is only read: it may be in use, in a chat for example, or a session of an AI tool,
    and is not changed.
    """
    if new and (name is not None or stay):
        raise UsageError("--name and --stay are for branches", hint="omit --new, or use --title and --id")
    if not new and (title is not None or new_id is not None):
        raise UsageError("--title and --id are for a new session", hint="add --new")
    if new:
        _copy(library, id, at=at, title=title, new_id=new_id, as_json=as_json)
        return
    with editing(library, id) as live:
        session_id, parent = live.id, live.branch
        branch = live.fork(at=at, name=name, switch=not stay)
        made = live.overview.get_branch(branch)
    if as_json:
        output.data({"id": session_id, "branch": branch, "parent": parent, "at": made.at, "switched": not stay})
    else:
        output.line(branch)
        active = parent if stay else branch
        output.note(f"{branch} shares {_turns(made.at)} with {parent}; the active branch is {active}")


def _copy(library: Library, id: str, *, at: int | None, title: str | None, new_id: str | None, as_json: bool) -> None:
    from segue.session_copy import copy_session

    def create(about: Overview, extra: JsonObject) -> LiveSession:
        new_title = about.title if title is None else title
        return library.create(agent=about.agent, title=new_title, id=new_id, extra=extra)

    found = find_readable(library, id)
    warn_damages(found.damages)
    copy = copy_session(found.library, found.id, at=at, create=create)
    record_session(library.store.url, copy.id)
    if as_json:
        output.data({"id": copy.id, "source": copy.source, "turns": copy.turns})
    else:
        output.line(copy.id)
        output.note(f"{copy.id} begins with {_turns(copy.turns)} of {copy.source}; resume with: segue resume {copy.id}")
        if copy.records:
            kept = f"{copy.records:,} record{'' if copy.records == 1 else 's'}"
            output.warn(f"{kept} of its program stay in {copy.source}")


def _turns(count: int) -> str:
    return f"{count} turn{'' if count == 1 else 's'}"
