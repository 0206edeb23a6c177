"""The tools of a conversation: those that its preset names, within the scope of the session or of the preset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.errors import UsageError
from segue.tools.trust_requests import SCOPE, TrustRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from segue.model import JsonObject
    from segue.permissions import Permissions, ProtectedPaths, ResolvedScope
    from segue.presets import Preset
    from segue.session import LiveSession
    from segue.surface import Surface
    from segue.tools.approval import Approver
    from segue.tools.executor import ConfirmPolicy, ToolExecutor
    from segue.tools.mcp import McpServer, McpServers
    from segue.tools.tool import Tool
    from segue.tools.trust_requests import SessionInfo
    from segue.trust import Marks

_CHANGED_ELSEWHERE = "the scope of this session was changed outside this conversation; the new scope is"
_CONFIRM: dict[object, ConfirmPolicy] = {True: "always", False: "never"}


class Toolbox:
    """Makes the tool executors of conversations. `root` is the project root, `servers` are configured MCP servers."""

    def __init__(
        self,
        surface: Surface,
        *,
        root: Path,
        protected: ProtectedPaths,
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
        """Make the executor for a preset and the tools with these names; None if there are no names.

        A preset that is not `trusted` has no scope until the user grants one, and cannot disable confirmations.
        """
        if not names:
            return None
        from segue.tools.executor import OUTPUT_CHARACTERS, ToolExecutor

        confirm = _CONFIRM.get(preset.confirm_tool_calls, "changes")
        why = f"the preset {preset.name} comes with this project and asks for this scope"
        return ToolExecutor(
            lambda: self._find_tools(names),
            permissions=self._permissions(session, preset if trusted else None, marks=marks, record=session.set_scope),
            approver=self._approver,
            confirm="changes" if confirm == "never" and not trusted else confirm,
            cwd=str(self._surface.cwd),
            root=str(self._root),
            home=str(self._surface.home),
            environ=self._surface.environ,
            limit=min(OUTPUT_CHARACTERS, budget // 2),
            requested_scope=None if trusted else (why, lambda: self._preset_scope(preset)),
        )

    def scope_requests(self, session: SessionInfo, preset: Preset | None, *, marks: Marks) -> Iterator[TrustRequest]:
        """Yield the scope that the session records, if the user has not agreed to it; `preset` is the user's own."""
        from segue.permissions.scope import fields_of, write_scope

        permissions = self._permissions(session, preset, marks=marks)
        try:
            found = permissions.recorded()
            if found is None or permissions.is_trusted(found):
                return
        except UsageError:
            return  # an invalid scope allows nothing
        yield TrustRequest(part=SCOPE, content=fields_of(found.scope), text=write_scope(found.scope), where=found.path)

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
            fallback=lambda: self._preset_scope(preset) if preset is not None else DENY_ALL,
            record=record,
            marks=marks,
            protected=self._protected.with_store(session.store.url, session.id, root=str(self._root)),
            accept=self._accept if record is not None else None,
        )

    def _accept(self, found: ResolvedScope) -> bool:
        from segue.permissions.scope import write_scope

        return self._approver.grant(_CHANGED_ELSEWHERE, write_scope(found.scope))

    def _preset_scope(self, preset: Preset) -> ResolvedScope:
        from segue.tools.preset_scopes import scope_for_preset

        return scope_for_preset(preset, [self._surface.paths.scope_profiles])

    def close(self) -> None:
        if self._servers is not None:
            self._servers.close()

    def _find_tools(self, names: Sequence[str]) -> Iterator[Tool]:
        from segue.tools.executor import BUILT_IN_TOOLS

        yield from (BUILT_IN_TOOLS[name] for name in names if name in BUILT_IN_TOOLS)
        if not any(name.startswith("mcp__") for name in names):
            return
        from segue.tools.mcp import McpServers

        self._servers = self._servers or McpServers(self._configured, cwd=str(self._surface.cwd))
        for found in self._servers.find_tools(names):
            if isinstance(found, str):
                self._surface.notify(found)
            else:
                yield found
