"""All sessions of a user of Emacs: those in one folder, and those inside activities."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.dialects.gptel.branch_details import find_session_id
from segue.dialects.gptel.branch_files import find_metadata_fields
from segue.dialects.gptel.format.names import ACTIVITY, BRANCHES
from segue.dialects.gptel.paths import branch_dir
from segue.dialects.gptel.store import GptelStore

if TYPE_CHECKING:
    from collections.abc import Iterator


class ListedSession(Struct, frozen=True, kw_only=True):
    """A line of a list of sessions."""

    session_id: str
    title: str
    session_dir: str
    branch_name: str
    preset: str
    turn_count: int
    updated: datetime
    activity: str
    """The name of the folder of its activity; empty if there is none."""
    damage: str


def list_sessions(root: str, activities: str | None = None) -> list[ListedSession]:
    """The sessions in `root`, and those of all folders in `activities`; most recently active first."""
    found = [*_in_store(root, "")]
    for folder in sorted(_activity_folders(activities)) if activities else ():
        found += [one for one in _in_store(str(folder), folder.name) if one.session_dir.endswith(f"/{ACTIVITY}")]
    return sorted(found, key=lambda one: one.updated, reverse=True)


def _in_store(root: str, activity: str) -> Iterator[ListedSession]:
    if not Path(root).is_dir():
        return
    for head in GptelStore(root).heads():
        session_dir = f"{root}/{head.id}"
        metadata = find_metadata_fields(branch_dir(session_dir, head.branch)) if activity else None
        yield ListedSession(
            session_id=find_session_id(session_dir, metadata),
            title=head.title,
            session_dir=session_dir,
            branch_name=head.branch,
            preset=head.agent,
            turn_count=head.turn_count,
            updated=head.updated_at,
            activity=activity,
            damage=head.damage,
        )


def _activity_folders(activities: str) -> Iterator[Path]:
    try:
        for folder in Path(activities).iterdir():
            if (folder / ACTIVITY / BRANCHES).is_dir():
                yield folder
    except OSError:
        return
