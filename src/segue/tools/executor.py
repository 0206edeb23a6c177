"""Checks each tool call against the scope, asks the user where the scope does not allow it, and runs it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from segue.errors import SegueError
from segue.permissions.confinement import Confinement
from segue.permissions.scope import write_scope
from segue.sandbox.policy import find_support
from segue.tools.call import ToolFailedError, ToolResult, refused
from segue.tools.files import EditFile, ListDir, ReadFile, WriteFile
from segue.tools.scope_suggestions import suggest_patterns
from segue.tools.search import SearchFiles
from segue.tools.shell import RunShell, is_git
from segue.tools.tool import ToolContext, make_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from segue.permissions import Action, Permissions, ResolvedScope
    from segue.permissions.scope import Scope
    from segue.tools.approval import Approver
    from segue.tools.call import ToolCall, ToolSpec
    from segue.tools.tool import Invocation, PermissionRequest, Tool

BUILT_IN_TOOLS = {
    name: make_tool(name, kind)
    for name, kind in (
        ("read_file", ReadFile),
        ("write_file", WriteFile),
        ("edit_file", EditFile),
        ("list_dir", ListDir),
        ("search_files", SearchFiles),
        ("run_shell", RunShell),
    )
}
"""The tools that come with Segue, by the names that presets use."""

OUTPUT_CHARACTERS = 50_000
TIMEOUT_SECONDS = 120.0
MCP_FIELD = "mcp_tools"
"""The field of a scope that lists MCP tools which need no question; names may contain `*` and `?`."""

ConfirmPolicy = Literal["always", "changes", "never"]
"""Which of the calls that the scope allows the user has to confirm."""


class CallVerdict(NamedTuple):
    """Whether the scope allows a call."""

    allowed: bool
    why: str
    path: str = ""
    is_once: bool = False
    is_final: bool = False


class ToolExecutor:
    """Runs the tools of one conversation. Every call is checked against the scope, which is read again each time.

    `requested_scope` is a scope that the preset asks for and does not have yet, with the reason to show: the user is
    asked once, before the first call, and with a yes it becomes the scope of the session.
    """

    def __init__(
        self,
        tools: Callable[[], Iterable[Tool]],
        *,
        permissions: Permissions,
        approver: Approver,
        confirm: ConfirmPolicy,
        cwd: str,
        root: str,
        home: str,
        environ: Mapping[str, str],
        limit: int = OUTPUT_CHARACTERS,
        timeout_seconds: float = TIMEOUT_SECONDS,
        requested_scope: tuple[str, Callable[[], ResolvedScope]] | None = None,
    ) -> None:
        self._find_tools = tools
        self._permissions = permissions
        self._approver = approver
        self._confirm = confirm
        self._cwd = cwd
        self._root = root
        self._home = home
        self._environ = environ
        self._limit = limit
        self._timeout_seconds = timeout_seconds
        self._requested_scope = requested_scope
        self._always_confirmed: set[str] = set()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The descriptions for the model. The first access may start MCP servers."""
        return tuple(tool.spec for tool in self._tools.values())

    def prepare(self, call: ToolCall) -> ToolResult | Callable[[], ToolResult]:
        """Return the function to run now, or the result if the call is refused or invalid. May ask the user.

        Nothing may happen between this and the run: the check holds for this moment only.
        """
        tool = self._tools.get(call.name)
        try:
            if tool is None:
                raise ToolFailedError(f"there is no tool {call.name}, only {', '.join(self._tools)}")
            invocation = tool.parse(call.arguments)
            self._ask_for_requested_scope()
            return self._check(call, tool, invocation)
        except ToolFailedError as error:
            return ToolResult(status="failed", content=str(error))
        except SegueError as error:  # an invalid scope allows nothing
            return refused(str(error))

    @cached_property
    def _tools(self) -> dict[str, Tool]:
        return {tool.spec.name: tool for tool in self._find_tools()}

    def _ask_for_requested_scope(self) -> None:
        if self._requested_scope is None:
            return
        (why, resolve), self._requested_scope = self._requested_scope, None
        if self._permissions.current().source == "explicit" or (requested := resolve()).source == "none":
            return
        text = write_scope(requested.scope)
        if self._approver.grant(why, text):
            self._permissions.set_scope(text)

    def _check(self, call: ToolCall, tool: Tool, invocation: Invocation) -> ToolResult | Callable[[], ToolResult]:
        is_confirmed, request = not self._must_confirm(tool), invocation.request
        while True:
            verdict = self._judge(call, request)
            if verdict.allowed and (is_confirmed or verdict.is_once):
                return partial(self._run, invocation, verdict)
            if verdict.allowed:
                preview = self._preview(invocation, verdict)
                answer = self._approver.confirm(call, self._warning(request), preview=preview)
                if answer == "no":
                    return refused("the user did not confirm it")
                if answer == "always":
                    self._always_confirmed.add(call.name)
                is_confirmed = True  # and the scope is checked again: it may have changed during the question
                continue
            if verdict.is_final:
                return refused(verdict.why)
            patterns = () if request is None else self._suggest_patterns(request)
            why = "\n".join(filter(None, (verdict.why, self._warning(request))))
            preview = self._preview(invocation, verdict)
            match self._approver.widen(call, why, can_add=bool(patterns), preview=preview):
                case "deny":
                    return refused(verdict.why)
                case "once":
                    if request is None:
                        return partial(self._run, invocation, verdict)
                    self._permissions.allow_once(request.action, request.target, cwd=self._cwd)
                case "add":
                    for action, pattern in patterns:
                        self._permissions.add(action, pattern)
                    is_confirmed = True

    def was_shown(self, call: ToolCall) -> bool:
        """Whether the user has seen this call in a question."""
        return self._approver.shown is call

    def _preview(self, invocation: Invocation, verdict: CallVerdict) -> str:
        """The change of a file as a diff for the user; empty if the call changes no file by itself.

        Raises ToolFailedError if it cannot succeed, but only where the model may know what the file contains.
        """
        if not isinstance(invocation, WriteFile | EditFile) or not verdict.path:
            return ""
        try:
            return invocation.preview(verdict.path)
        except (ToolFailedError, SegueError) as error:
            if verdict.allowed and all(one.check("read", verdict.path).allowed for one in self._permissions.guards()):
                raise ToolFailedError(str(error)) from None
            return f"@@ {error} @@"

    def _judge(self, call: ToolCall, request: PermissionRequest | None) -> CallVerdict:
        if request is not None:
            verdict = self._permissions.check(request.action, request.target, cwd=self._cwd)
            why = f"out of scope: {verdict.reason}"
            return CallVerdict(
                verdict.allowed, why, verdict.real_path, is_once=verdict.is_once, is_final=verdict.is_final
            )
        listed = self._permissions.current().scope.extra.get(MCP_FIELD)
        patterns = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
        allowed = any(fnmatchcase(call.name, pattern) for pattern in patterns)
        return CallVerdict(allowed, f"out of scope: {MCP_FIELD} does not list {call.name}")

    def _confinement(self, request: PermissionRequest | None) -> Confinement | None:
        scopes = [one.scope for one in self._permissions.active_scopes()]
        if request is None or request.action != "shell" or self._why_unconfined(scopes):
            return None
        return Confinement(
            scopes,
            root=self._root,
            home=self._home,
            cwd=self._cwd,
            protected=self._permissions.protected,
            environ=self._environ,
            runs_git=is_git(request.target),
        )

    @staticmethod
    def _why_unconfined(scopes: Iterable[Scope]) -> str:
        """The reason why commands run without a sandbox; empty if they run in one."""
        if not any(scope.sandbox for scope in scopes):
            return "the scope disables it"
        return find_support().missing

    def _warning(self, request: PermissionRequest | None) -> str:
        """What the user should know about a command before it runs."""
        if request is None or request.action != "shell":
            return ""
        missing = self._why_unconfined([one.scope for one in self._permissions.active_scopes()])
        if missing:
            return f"It runs without a sandbox ({missing}): it can read and write all your files, and use the network."
        return f"It runs in a sandbox with one gap: {find_support().gap}." if find_support().gap else ""

    def _suggest_patterns(self, request: PermissionRequest) -> tuple[tuple[Action, str], ...]:
        return suggest_patterns(request, cwd=self._cwd, root=self._root, home=self._home)

    def _must_confirm(self, tool: Tool) -> bool:
        if self._confirm == "never" or tool.spec.name in self._always_confirmed:
            return False
        return self._confirm == "always" or tool.may_change

    def _run(self, invocation: Invocation, verdict: CallVerdict) -> ToolResult:
        try:
            guards = self._permissions.guards()

            def may(action: Action, path: str) -> bool:
                verdicts = [guard.check(action, path) for guard in guards]
                return all(one.allowed or (verdict.is_once and not one.is_final) for one in verdicts)

            context = ToolContext(
                cwd=self._cwd,
                environ=self._environ,
                may_read=partial(may, "read"),
                may_write=partial(may, "write"),
                limit=self._limit,
                timeout_seconds=self._timeout_seconds,
                confinement=self._confinement(invocation.request),
            )
            return ToolResult(content=invocation.run(context, verdict.path))
        except (ToolFailedError, SegueError) as error:
            return ToolResult(status="failed", content=str(error))
        except Exception as error:  # noqa: BLE001 - a defect of a tool must not end the conversation
            return ToolResult(status="failed", content=f"{type(error).__name__}: {error}")
