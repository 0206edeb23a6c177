"""A copy of a plan's files: what is gone from them later can be restored."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from segue.dialects.ralph.openspec.plan import find_lost
from segue.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.dialects.ralph.openspec.plan import Plan
    from segue.durable.folder import Folder

_NAMED = 5


class _SavedFile(NamedTuple):
    data: bytes
    mode: int


class SavedPlan:
    """The files of a plan as they were when this was made."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.stories = plan.stories()
        self._paths = plan.files()
        self._files = {path: saved for path in self._paths if (saved := _read(plan.project, path)) is not None}

    def restore(self, aside: Folder) -> Iterator[str]:
        """Restore what was deleted, cannot be read, or has lost stories or tasks; yields what happened to which file.

        What a file contained instead is copied to the folder `aside`.
        """
        for path, saved in self._files.items():
            if problem := self._find_problem(path):
                copy = _put(self._plan.project, path, saved, aside)
                yield f"{'/'.join(path)} {problem}, and was restored" + (f"; its new text is in {copy}" if copy else "")

    def _find_problem(self, path: tuple[str, ...]) -> str:
        """What is wrong with a file, as the rest of a sentence; empty if nothing is."""
        try:
            found = _read(self._plan.project, path)
        except StorageError as error:
            return f"cannot be read any more ({error})"
        if found is None:
            return "was deleted"
        lost = find_lost(self.stories, self._plan.stories()) if path == self._paths[0] else ()
        more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        return f"lost {', '.join(lost[:_NAMED])}{more}" if lost else ""


def _read(project: Folder, path: tuple[str, ...]) -> _SavedFile | None:
    """The file; None if it does not exist. StorageError if it cannot be read."""
    folder = _folder_of(project, path)
    try:
        return _SavedFile(folder.read(path[-1]), stat.S_IMODE(os.lstat(folder.path_of(path[-1])).st_mode))
    except FileNotFoundError:
        return None


def _put(project: Folder, path: tuple[str, ...], saved: _SavedFile, aside: Folder) -> str:
    """Write the file as it was saved; the path of a copy of what was there, empty if nothing was."""
    folder = project
    for name in path[:-1]:
        if not _is_folder_or_missing(folder.path_of(name)):
            _rename_aside(folder, name)
        folder = folder.sub(name)
    folder.make()
    copy = ""
    try:
        data = folder.read(path[-1])
    except FileNotFoundError:
        pass
    except StorageError:  # a folder, a link, or a file without permissions
        copy = _rename_aside(folder, path[-1])
    else:
        aside.make()
        name = f"{os.urandom(4).hex()}-{path[-1]}"
        aside.create(name, data)
        copy = aside.path_of(name)
    folder.replace(path[-1], saved.data)
    folder.kernel.chmod(folder.path_of(path[-1]), saved.mode)
    return copy


def _is_folder_or_missing(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return True


def _rename_aside(folder: Folder, name: str) -> str:
    new = f"{name}.replaced-{os.urandom(4).hex()}"
    folder.rename(name, new)
    return folder.path_of(new)


def _folder_of(project: Folder, path: tuple[str, ...]) -> Folder:
    for name in path[:-1]:
        project = project.sub(name)
    return project
