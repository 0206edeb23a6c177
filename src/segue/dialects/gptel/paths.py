"""The paths of a session: from a path to its session and branch, and back. Nothing here reads the disk."""

from __future__ import annotations

from typing import NamedTuple

from segue.dialects.gptel.format.names import BRANCH_METADATA, BRANCHES, CURRENT, METADATA, SCOPE, SESSION
from segue.ids import is_id

_SUFFIX = f"/{SESSION}"


class BranchPath(NamedTuple):
    """A branch of a session on disk."""

    session_dir: str
    branch_name: str
    """Empty for the branch that `current` points to."""

    @property
    def branch_dir(self) -> str:
        return branch_dir(self.session_dir, self.branch_name) if self.branch_name else f"{self.session_dir}/{CURRENT}"


def is_session_path(path: str) -> bool:
    """Whether this can be the conversation of a session. For any other file it costs one string comparison."""
    return path.endswith(_SUFFIX) and parse_branch_path(path) is not None


def parse_branch_path(path: str) -> BranchPath | None:
    """The session and branch of `<session>/branches/<branch>/session.md`, or of `<session>/current/session.md`."""
    if not path.endswith(_SUFFIX):
        return None
    parent, _, branch = path[: -len(_SUFFIX)].rpartition("/")
    if branch == CURRENT and parent:
        return BranchPath(parent, "")
    session, _, folder = parent.rpartition("/")
    return BranchPath(session, branch) if folder == BRANCHES and session and is_id(branch) else None


def branches_dir(session_dir: str) -> str:
    return f"{session_dir}/{BRANCHES}"


def branch_dir(session_dir: str, branch_name: str) -> str:
    return f"{session_dir}/{BRANCHES}/{branch_name}"


def context_file(branch_dir: str) -> str:
    return f"{branch_dir}/{SESSION}"


def metadata_file(branch_dir: str) -> str:
    return f"{branch_dir}/{METADATA}"


def scope_file(branch_dir: str) -> str:
    return f"{branch_dir}/{SCOPE}"


def branch_metadata_file(branch_dir: str) -> str:
    return f"{branch_dir}/{BRANCH_METADATA}"
