"""A copy of a session's file in its project: the temporary folder may be emptied, what was learned may not be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.durable.folder import Folder
from segue.durable.snapshot import signature_of
from segue.ids import check_id

if TYPE_CHECKING:
    from segue.loop.desk import Desk
    from segue.model import Overview


def keep_copy(desk: Desk, known: Overview) -> None:
    """As it is now, durably, for whoever holds the session's lock."""
    copies = _copies(desk.project)
    copies.make()
    copies.replace(_name(known.id), desk.store.folder.read(_name(known.id)))


def find_copy(project: str, session_id: str) -> str:
    """Where it is; empty if there is none."""
    copies = _copies(project)
    return copies.path_of(_name(session_id)) if signature_of(copies, _name(session_id)) else ""


def bring_back(desk: Desk, project: str) -> bool:
    """Put the copy where the session was, if that is gone; whether it was."""
    name = _name(desk.session_id)
    if signature_of(desk.store.folder, name) or not find_copy(project, desk.session_id):
        return False
    desk.store.folder.make()
    try:
        desk.store.folder.create(name, _copies(project).read(name))
    except (FileExistsError, FileNotFoundError):
        return False  # somebody else brought it back, or ended it
    return True


def discard_copy(project: str, session_id: str) -> None:
    if find_copy(project, session_id):
        _copies(project).discard(_name(session_id))


def _copies(project: str) -> Folder:
    return Folder(project).sub(".ralph").sub("sessions")


def _name(session_id: str) -> str:
    return f"{check_id(session_id)}.json"
