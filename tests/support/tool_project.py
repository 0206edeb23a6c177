"""A project with a session, a tool executor for it, and an approver with prepared answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import segue
from segue.permissions import Permissions
from segue.tools import ToolCall, ToolResult
from segue.tools.executor import BUILT_IN_TOOLS, ToolExecutor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from segue.library import Library
    from segue.permissions import ResolvedScope
    from segue.tools.executor import ConfirmPolicy
    from segue.tools.tool import Tool

EVERYTHING = {
    "paths": {"read": ["${project_root}/**"], "write": ["${project_root}/**"], "deny": ["**/.env"]},
    "shell_commands": {"allow": ["*"], "deny": ["sudo"]},
}


@dataclass
class ScriptedApprover:
    """An approver that gives prepared answers, and remembers all questions."""

    widens: Literal["deny", "once", "add"] = "deny"
    confirms: Literal["no", "once", "always"] = "once"
    grants: bool = False
    asked: list[str] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None
    previews: list[str] = field(default_factory=list)
    shown: ToolCall | None = None

    def widen(self, call: ToolCall, why: str, *, can_add: bool, preview: str = "") -> Literal["deny", "once", "add"]:
        self.previews.append(preview)
        self.asked.append(f"widen {call.name}: {why}{' (can add)' if can_add else ''}")
        return self.widens

    def confirm(self, call: ToolCall, warning: str, *, preview: str = "") -> Literal["no", "once", "always"]:
        self.previews.append(preview)
        self.asked.append(f"confirm {call.name}{f': {warning}' if warning else ''}")
        self.meanwhile()
        return self.confirms

    def grant(self, why: str, scope: str) -> bool:
        self.asked.append(f"grant {why}: {scope}")
        return self.grants


class ToolProject:
    """A project folder with a session that is open for writing, and an executor of tools in it."""

    def __init__(self, root: Path, library: Library | None = None) -> None:
        self.root = root / "project"
        self.outside = root / "outside"
        self.home = root / "home"
        for folder in (self.root, self.outside, self.home):
            folder.mkdir()
        self.library = library or segue.open(f"journal:{root / 'sessions'}")
        self.session = self.library.create(agent="work")
        self.approver = ScriptedApprover()
        self.permissions = Permissions(
            self.library.store,
            self.session.id,
            project_root=str(self.root),
            home=str(self.home),
            state=str(self.home / "state"),
            record=self.session.set_scope,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()

    def allow(self, **scope: object) -> None:
        self.session.set_scope(scope or EVERYTHING)

    def executor(
        self,
        *tools: Tool,
        confirm: ConfirmPolicy = "never",
        limit: int = 10_000,
        timeout_seconds: float = 20.0,
        environ: dict[str, str] | None = None,
        requested_scope: tuple[str, Callable[[], ResolvedScope]] | None = None,
    ) -> ToolExecutor:
        return ToolExecutor(
            lambda: tools or BUILT_IN_TOOLS.values(),
            permissions=self.permissions,
            approver=self.approver,
            confirm=confirm,
            cwd=str(self.root),
            root=str(self.root),
            home=str(self.home),
            environ=environ or {"PATH": "/usr/bin:/bin"},
            limit=limit,
            timeout_seconds=timeout_seconds,
            requested_scope=requested_scope,
        )

    def do(self, name: str, executor: ToolExecutor | None = None, /, **arguments: object) -> ToolResult:
        return run(executor or self.executor(), name, **arguments)


def call(name: str, /, **arguments: object) -> ToolCall:
    return ToolCall(id="c1", name=name, arguments=arguments)


def run(executor: ToolExecutor, name: str, /, **arguments: object) -> ToolResult:
    prepared = executor.prepare(call(name, **arguments))
    return prepared if isinstance(prepared, ToolResult) else prepared()
