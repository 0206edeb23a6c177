"""Commits our own files and no others, with the git of this machine.

A commit is a convenience: what it contains was saved before, and stays saved if the commit fails. So a failure of git
is a message for the user and never an error. The user's index stays as it is, except for our files.

Read `repository` (what callers use) and `commit` (how a commit is made), then `command` (the only code that calls git,
and what an untrusted repository may not run), `trusted` (which repositories are trusted), `location`, `index`, `hooks`
and `output`.
"""

from __future__ import annotations

from segue.git.command import Git, make_repository
from segue.git.commit import CommitResult
from segue.git.location import RepositoryLocation, find_location
from segue.git.output import RefusedError
from segue.git.repository import TIMEOUT_SECONDS, Repository, find_repository
from segue.git.trusted import find_programs, is_trusted, trust_repository

__all__ = [
    "TIMEOUT_SECONDS",
    "CommitResult",
    "Git",
    "RefusedError",
    "Repository",
    "RepositoryLocation",
    "find_location",
    "find_programs",
    "find_repository",
    "is_trusted",
    "make_repository",
    "trust_repository",
]
