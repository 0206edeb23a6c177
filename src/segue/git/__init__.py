"""Commits of our files and of no others, made by the git of this machine.

A commit is a courtesy and not what keeps things: whatever it holds was saved before, and stays saved if it fails. So
git's failures are words for the user and never errors. The index stays as the user left it, but for our files.

Read `repository` (what one asks for) and `commit` (how one is made), then `command` (the one place that calls git, and
what a stranger's repository may not run), `trusted` (which ones are not), `place`, `index`, `hooks`, `answers`,
`process`.
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
