"""Commits of our files and of no others, made by the git of this machine.

A commit is a courtesy and not what keeps things: whatever it holds was saved before, and stays saved if it fails. So
git's failures are words for the user and never errors. The index stays as the user left it, but for our files.

Read `repository` (what is done), then `answers` (what git says, and what it means), then `process` (how it is run).
"""

from __future__ import annotations

from segue.git.answers import RefusedError
from segue.git.repository import Outcome, Repository, find_repository

__all__ = ["Outcome", "RefusedError", "Repository", "find_repository"]
