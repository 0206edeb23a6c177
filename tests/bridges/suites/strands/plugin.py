"""Puts our repository in the place of the ones in memory and in files that the tests of Strands use."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType

import pytest
from strands.session import file_session_manager
from strands.session.repository_session_manager import RepositorySessionManager

from segue.bridges.sessions import NamedSessions, new_id
from segue.bridges.strands import SegueRepository

sys.modules.setdefault("moto", ModuleType("moto"))  # imported by their conftest, for tests of S3 that are not run here


class EmptyRepository(SegueRepository):
    """A repository without sessions: those of every other one have another name."""

    def __init__(self, world: str = "") -> None:
        super().__init__(os.environ["SEGUE_SUITE_STORE"])
        self._sessions = NamedSessions(f"strands-{world or new_id()}", self._sessions.library)


class FolderManager(RepositorySessionManager, EmptyRepository):
    """What the tests know as a manager and repository in a folder."""

    def __init__(self, session_id: str, storage_dir: str) -> None:
        EmptyRepository.__init__(self, storage_dir)
        RepositorySessionManager.__init__(self, session_id=session_id, session_repository=self)


file_session_manager.FileSessionManager = FolderManager  # type: ignore[assignment,misc]


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    sys.path.insert(0, str(config.rootpath))
    fixtures = import_module("tests.fixtures.mock_session_repository")  # theirs, not ours
    fixtures.MockedSessionRepository = EmptyRepository  # type: ignore[attr-defined]
