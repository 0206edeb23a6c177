"""A project with a session beside it, a bench in front of it, and somebody who answers as they were told to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import segue
from segue.permissions import Permissions
from segue.tools import ToolCall, ToolResult
from segue.tools.executor import OWN, ToolExecutor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.library import Library
    from segue.permissions import Resolved
    from segue.tools.executor import Confirm
    from segue.tools.tool import Tool

EVERYTHING = {
    "paths": {"read": ["${project_root}/**"], "write": ["${project_root}/**"], "deny": ["**/.env"]},
    "shell_commands": {"allow": ["*"], "deny": ["sudo"]},
}


@dataclass
class Somebody:
    """Says what was laid out for them; of what they were asked, they remember all."""

    widens: Literal["deny", "once", "add"] = "deny"
    confirms: Literal["no", "once", "always"] = "once"
    grants: bool = False
    asked: list[str] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None

    def widen(self, call: ToolCall, why: str, *, can_add: bool) -> Literal["deny", "once", "add"]:
        self.asked.append(f"widen {call.name}: {why}{' (can add)' if can_add else ''}")
        return self.widens

    def confirm(self, call: ToolCall, warning: str) -> Literal["no", "once", "always"]:
        self.asked.append(f"confirm {call.name}{f': {warning}' if warning else ''}")
        self.meanwhile()
        return self.confirms

    def grant(self, why: str, scope: str) -> bool:
        self.asked.append(f"grant {why}: {scope}")
        return self.grants


class Workshop:
    def __init__(self, root: Path, library: Library | None = None) -> None:
        self.project = root / "project"
        self.outside = root / "outside"
        self.home = root / "home"
        for folder in (self.project, self.outside, self.home):
            folder.mkdir()
        self.library = library or segue.open(f"journal:{root / 'sessions'}")
        self.session = self.library.create(agent="work")
        self.somebody = Somebody()
        self.permissions = Permissions(
            self.library.store,
            self.session.id,
            project_root=str(self.project),
            home=str(self.home),
            state=str(self.home / "state"),
            record=self.session.set_scope,
        )

    def allow(self, **scope: object) -> None:
        self.session.set_scope(scope or EVERYTHING)

    def executor(
        self,
        *abilities: Tool,
        confirm: Confirm = "never",
        limit: int = 10_000,
        timeout_seconds: float = 20.0,
        environ: dict[str, str] | None = None,
        wanted: tuple[str, Callable[[], Resolved]] | None = None,
    ) -> ToolExecutor:
        return ToolExecutor(
            lambda: abilities or OWN.values(),
            permissions=self.permissions,
            approver=self.somebody,
            confirm=confirm,
            cwd=str(self.project),
            root=str(self.project),
            home=str(self.home),
            environ=environ or {"PATH": "/usr/bin:/bin"},
            limit=limit,
            timeout_seconds=timeout_seconds,
            wanted=wanted,
        )

    def do(self, name: str, executor: ToolExecutor | None = None, /, **arguments: object) -> ToolResult:
        return run(executor or self.executor(), name, **arguments)


def call(name: str, /, **arguments: object) -> ToolCall:
    return ToolCall(id="c1", name=name, arguments=arguments)


def run(executor: ToolExecutor, name: str, /, **arguments: object) -> ToolResult:
    job = executor.take(call(name, **arguments))
    return job if isinstance(job, ToolResult) else job()
