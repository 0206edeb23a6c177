"""A backup of a session's file in its project: the temporary folder may be emptied, the learnings may not be lost."""

from __future__ import annotations

from segue.durable.folder import Folder
from segue.durable.snapshot import read_signature
from segue.ids import check_id


def keep_backup(sessions: Folder, project: str, session_id: str) -> None:
    """Copy the current file, durably. The caller holds the session's lock."""
    backups = _backups(project)
    backups.make()
    backups.replace(_name(session_id), sessions.read(_name(session_id)))


def find_backup(project: str, session_id: str) -> str:
    """The path of the backup; empty if there is none."""
    backups = _backups(project)
    return backups.path_of(_name(session_id)) if read_signature(backups, _name(session_id)) else ""


def restore_backup(sessions: Folder, project: str, session_id: str) -> bool:
    """Restore the session from its backup if the session is gone. Returns whether that was done."""
    name = _name(session_id)
    if read_signature(sessions, name) or not find_backup(project, session_id):
        return False
    sessions.make()
    try:
        sessions.create(name, _backups(project).read(name))
    except (FileExistsError, FileNotFoundError):
        return False  # another process restored it, or ended the session
    return True


def discard_backup(project: str, session_id: str) -> None:
    if find_backup(project, session_id):
        _backups(project).discard(_name(session_id))


def _backups(project: str) -> Folder:
    return Folder(project).sub(".ralph").sub("sessions")


def _name(session_id: str) -> str:
    return f"{check_id(session_id)}.json"
