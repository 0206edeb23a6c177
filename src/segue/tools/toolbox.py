"""The tools of a conversation: those that its preset names, in the scope that the session has or the preset brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.errors import UsageError
from segue.tools.demands import SCOPE, Demand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from segue.model import JsonObject
    from segue.permissions import Permissions, Protected, Resolved
    from segue.presets import Preset
    from segue.session import LiveSession
    from segue.surface import Surface
    from segue.tools.demands import SessionInfo
    from segue.tools.executor import Approver, Confirm, ToolExecutor
    from segue.tools.mcp import McpServer, McpServers
    from segue.tools.tool import Tool
    from segue.trust import Marks

_ELSEWHERE = "the scope of this session was changed outside of this conversation, and would be this"
_CONFIRM: dict[object, Confirm] = {True: "always", False: "never"}


class Toolbox:
    """The tools of this machine. `root` is that of the project, `servers` are the configured MCP servers."""

    def __init__(
        self,
        surface: Surface,
        *,
        root: Path,
        protected: Protected,
        servers: Mapping[str, McpServer],
        approver: Approver,
    ) -> None:
        self._surface = surface
        self._root = root
        self._protected = protected
        self._configured = servers
        self._servers: McpServers | None = None
        self._approver = approver

    def executor(
        self,
        session: LiveSession,
        preset: Preset,
        names: Sequence[str],
        *,
        trusted: bool,
        budget: int,
        marks: Marks,
    ) -> ToolExecutor | None:
        """For a conversation with this preset and the tools of these names; None where there are none.

        A preset that is not `trusted` has no scope until the person gives it one, and cannot switch the questions off.
        """
        if not names:
            return None
        from segue.tools.executor import OUTPUT_CHARACTERS, ToolExecutor

        confirm = _CONFIRM.get(preset.confirm_tool_calls, "changes")
        asks = f"the preset {preset.name} comes with this project and asks for this scope"
        return ToolExecutor(
            lambda: self._abilities(names),
            permissions=self._permissions(session, preset if trusted else None, marks=marks, record=session.set_scope),
            approver=self._approver,
            confirm="changes" if confirm == "never" and not trusted else confirm,
            cwd=str(self._surface.cwd),
            root=str(self._root),
            home=str(self._surface.home),
            environ=self._surface.environ,
            limit=min(OUTPUT_CHARACTERS, budget // 2),
            wanted=None if trusted else (asks, lambda: self._scope_of(preset)),
        )

    def scope_demands(self, session: SessionInfo, preset: Preset | None, *, marks: Marks) -> Iterator[Demand]:
        """The scope that the session says and nobody here has agreed to; `preset` is one of the user's own."""
        from segue.permissions.scope import fields_of, write_scope

        permissions = self._permissions(session, preset, marks=marks)
        try:
            found = permissions.recorded()
            if found is None or permissions.is_believed(found):
                return
        except UsageError:
            return  # it makes no sense, and so it allows nothing
        yield Demand(part=SCOPE, content=fields_of(found.scope), words=write_scope(found.scope), where=found.place)

    def _permissions(
        self,
        session: SessionInfo,
        preset: Preset | None,
        *,
        marks: Marks,
        record: Callable[[JsonObject], object] | None = None,
    ) -> Permissions:
        from segue.permissions import DENY_ALL, Permissions

        return Permissions(
            session.store,
            session.id,
            project_root=str(self._root),
            home=str(self._surface.home),
            state=str(self._surface.paths.state / "scope"),
            fallback=lambda: self._scope_of(preset) if preset is not None else DENY_ALL,
            record=record,
            marks=marks,
            protected=self._protected.beside(session.store.url, session.id, root=str(self._root)),
            accept=self._accept if record is not None else None,
        )

    def _accept(self, found: Resolved) -> bool:
        from segue.permissions.scope import write_scope

        return self._approver.grant(_ELSEWHERE, write_scope(found.scope))

    def _scope_of(self, preset: Preset) -> Resolved:
        """What the preset brings."""
        from segue.permissions import own_scope, resolve_scope

        own = own_scope(preset.extra, preset.path)
        return resolve_scope(profile=preset.scope_profile, folders=[self._surface.paths.scope_profiles], own=own)

    def close(self) -> None:
        if self._servers is not None:
            self._servers.close()

    def _abilities(self, names: Sequence[str]) -> Iterator[Tool]:
        from segue.tools.executor import OWN

        yield from (OWN[name] for name in names if name in OWN)
        if not any(name.startswith("mcp__") for name in names):
            return
        from segue.tools.mcp import McpServers

        self._servers = self._servers or McpServers(self._configured, cwd=str(self._surface.cwd))
        for found in self._servers.abilities(names):
            if isinstance(found, str):
                self._surface.notify(found)
            else:
                yield found
