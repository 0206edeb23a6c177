"""The sandbox of an agent: it can write the project and its own records, and read little else of the user's."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from segue.errors import UsageError
from segue.integrations import INTEGRATIONS
from segue.permissions.confinement import Confinement
from segue.permissions.scope import Scope
from segue.sandbox.policy import find_support, prepare_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from segue.permissions import ProtectedPaths

_PROJECT = Scope(read=("${project_root}/**",), write=("${project_root}/**",), network=True)


class PreparedCommand(NamedTuple):
    argv: tuple[str, ...]
    environ: Mapping[str, str] = MappingProxyType({})
    descriptors: tuple[int, ...] = ()


class Sandbox(Protocol):
    """Prepares agents, and the commands that verify their work, to be run."""

    def start(self, argv: Sequence[str], *, tool: str = "") -> AbstractContextManager[PreparedCommand]:
        """How a command is started; the block must last as long as it runs."""


class NoSandbox:
    @contextmanager
    def start(self, argv: Sequence[str], *, tool: str = "") -> Iterator[PreparedCommand]:
        del tool
        yield PreparedCommand(tuple(argv))


class KernelSandbox:
    """The sandbox of the kernel. UsageError where it cannot be set up: nothing runs without it then."""

    def __init__(
        self, project: str, *, home: str, environ: Mapping[str, str], protected: ProtectedPaths, program: str = ""
    ) -> None:
        """`program` is our own, which an agent calls."""
        if missing := find_support().missing:
            raise UsageError(f"no sandbox is available: {missing}", hint="omit --sandbox, or use a container")
        self._project = project
        self._home = home
        self._environ = environ
        self._protected = protected
        self._program = program

    @contextmanager
    def start(self, argv: Sequence[str], *, tool: str = "") -> Iterator[PreparedCommand]:
        confinement = Confinement(
            [_PROJECT],
            root=self._project,
            home=self._home,
            cwd=self._project,
            protected=self._protected,
            environ=self._environ,
        )
        sessions = f"{self._environ.get('TMPDIR') or '/tmp'}/ralph"  # noqa: S108 - where the session of the change is
        own: tuple[str, ...] = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[4]), str(Path(argv[0]).parent))
        integration = INTEGRATIONS.get(tool)
        settings = self._at_home(integration.settings_paths) if integration is not None else ()
        state = self._at_home(integration.state_paths) if integration is not None else ()
        policy = confinement.policy(
            read=(*own, *filter(None, [self._program]), sessions, *settings, *state), write=(sessions, *state)
        )
        with prepare_command(argv, policy, cwd=self._project, support=find_support()) as found:
            yield PreparedCommand(found.argv, found.environ, found.descriptors)
            if reason := found.failure():
                raise UsageError(f"{argv[0]} cannot be started in its sandbox: {reason}", hint="check the command")

    def _at_home(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(os.path.realpath(f"{self._home}/{path}") for path in paths)
