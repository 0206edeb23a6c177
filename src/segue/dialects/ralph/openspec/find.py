"""From the name of a change to what keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.ralph.openspec.change_folder import OpenSpec
from segue.dialects.ralph.openspec.markdown_file import MarkdownSpec
from segue.dialects.ralph.openspec.plan import NEAR, ChangeNotFoundError
from segue.durable.folder import Folder
from segue.durable.snapshot import read_signature
from segue.ids import check_id, is_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from segue.dialects.ralph.openspec.plan import Plan

_ARCHIVE = "archive"


def open_spec(project: str, change: str, *, locks: Folder, clock: Callable[[], datetime]) -> Plan:
    """A change of OpenSpec in `openspec/changes/`, else the Markdown file of this name (with or without `.md`)."""
    check_id(change, what="change name")
    root = Folder(project)
    changes = _changes(root)
    folder = changes.sub(change)
    if change != _ARCHIVE and changes.exists() and folder.exists():
        return OpenSpec(change, folder, locks=locks, clock=clock)
    for name in (change, f"{change}.md"):
        if name.endswith(".md") and read_signature(root, name):
            return MarkdownSpec(change, root, name, locks=locks, clock=clock)
    near = find_changes(project)[:NEAR]
    hint = "" if near else f"neither openspec/changes/{change}/ nor {change}.md is in {project}"
    raise ChangeNotFoundError(f"there is no change {change!r}", hint=hint, near=near)


def find_changes(project: str) -> list[str]:
    """The changes of OpenSpec in a project, by name."""
    entries = _changes(Folder(project)).scan()
    return sorted(entry.name for entry in entries if entry.is_dir() and entry.name != _ARCHIVE and is_id(entry.name))


def plan_of(project: str, change: str) -> tuple[str, ...]:
    """Where the files of a change are, or would be."""
    root = Folder(project)
    names = [name for name in (change, f"{change}.md") if name.endswith(".md")]
    return (_changes(root).sub(change).path, *map(root.path_of, names))


def _changes(root: Folder) -> Folder:
    return root.sub("openspec").sub("changes")
