"""Whether a call may be done, and the doing of it: the scope is asked just before, and a person where it says no."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from segue.errors import SegueError
from segue.permissions.confinement import Confinement
from segue.permissions.scope import write_scope
from segue.sandbox.box import ground
from segue.tools.call import ToolFailedError, ToolResult, refused
from segue.tools.files import ListDir, ReadFile, WriteFile
from segue.tools.scope_suggestions import patterns_for
from segue.tools.search import SearchFiles
from segue.tools.shell import RunShell, is_git
from segue.tools.tool import ToolContext, tool_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from segue.permissions import Action, Permissions, Resolved
    from segue.permissions.scope import Scope
    from segue.tools.call import ToolCall, ToolSpec
    from segue.tools.tool import Invocation, PermissionRequest, Tool

OWN = {
    name: tool_from(name, kind)
    for name, kind in (
        ("read_file", ReadFile),
        ("write_file", WriteFile),
        ("list_dir", ListDir),
        ("search_files", SearchFiles),
        ("run_shell", RunShell),
    )
}
"""The abilities that come along, under the names by which a preset asks for them."""

OUTPUT_CHARACTERS = 50_000
TIMEOUT_SECONDS = 120.0
MCP_FIELD = "mcp_tools"
"""Of a scope: names of tools of MCP servers that need no question, with `*` and `?`."""

Confirm = Literal["always", "changes", "never"]
"""Before which of the calls that the scope allows a person is asked."""


class Approver(Protocol):
    """Whoever can be asked. What is shown of a call is for them to judge, so all of it that matters is shown."""

    def widen(self, call: ToolCall, why: str, *, can_add: bool) -> Literal["deny", "once", "add"]:
        """The scope does not allow a call: is it to be done all the same?"""

    def confirm(self, call: ToolCall, warning: str) -> Literal["no", "once", "always"]:
        """The scope allows it; a `warning` may go with it. `always` is for this ability, in this conversation."""

    def grant(self, why: str, scope: str) -> bool:
        """Somebody who is not trusted wants this scope for the session; who and why, in words."""


class Ruling(NamedTuple):
    """What the scope says about a call."""

    allowed: bool
    why: str
    place: str = ""
    is_once: bool = False
    is_final: bool = False


class ToolExecutor:
    """The abilities of one conversation. Nothing is done without the scope, and it is read again for every call.

    `wanted` is a scope that the preset asks for and does not have yet: the person is asked about it once, before the
    first call, and from then on it is the session's own.
    """

    def __init__(
        self,
        abilities: Callable[[], Iterable[Tool]],
        *,
        permissions: Permissions,
        approver: Approver,
        confirm: Confirm,
        cwd: str,
        root: str,
        home: str,
        environ: Mapping[str, str],
        limit: int = OUTPUT_CHARACTERS,
        timeout_seconds: float = TIMEOUT_SECONDS,
        wanted: tuple[str, Callable[[], Resolved]] | None = None,
    ) -> None:
        self._find = abilities
        self._permissions = permissions
        self._approver = approver
        self._confirm = confirm
        self._cwd = cwd
        self._root = root
        self._home = home
        self._environ = environ
        self._limit = limit
        self._timeout_seconds = timeout_seconds
        self._wanted = wanted
        self._always: set[str] = set()

    @property
    def offers(self) -> tuple[ToolSpec, ...]:
        """What the model is told of. Asked for the first time, servers may have to be started."""
        return tuple(ability.offer for ability in self._abilities.values())

    def take(self, call: ToolCall) -> ToolResult | Callable[[], ToolResult]:
        """What is to be run now, or why it is not; people may be asked. Between the two nothing is to happen."""
        ability = self._abilities.get(call.name)
        try:
            if ability is None:
                raise ToolFailedError(f"there is no tool {call.name}, only {', '.join(self._abilities)}")
            job = ability.read(call.arguments)
            self._settle_wanted()
            return self._judge(call, ability, job)
        except ToolFailedError as error:
            return ToolResult(status="failed", content=str(error))
        except SegueError as error:  # a scope that makes no sense allows nothing
            return refused(str(error))

    @cached_property
    def _abilities(self) -> dict[str, Tool]:
        return {ability.offer.name: ability for ability in self._find()}

    def _settle_wanted(self) -> None:
        if self._wanted is None:
            return
        (why, resolve), self._wanted = self._wanted, None
        if self._permissions.current().source == "explicit" or (asked := resolve()).source == "none":
            return
        text = write_scope(asked.scope)
        if self._approver.grant(why, text):
            self._permissions.put(text)

    def _judge(self, call: ToolCall, ability: Tool, job: Invocation) -> ToolResult | Callable[[], ToolResult]:
        is_confirmed, wish = not self._must_confirm(ability), job.wish
        while True:
            ruling = self._rule(call, wish)
            if ruling.allowed and (is_confirmed or ruling.is_once):
                return partial(self._run, job, ruling)
            if ruling.allowed:
                answer = self._approver.confirm(call, self._warning(wish))
                if answer == "no":
                    return refused("nobody confirmed it")
                if answer == "always":
                    self._always.add(call.name)
                is_confirmed = True  # and the scope is asked once more: it may have changed while they were thinking
                continue
            if ruling.is_final:
                return refused(ruling.why)
            patterns = () if wish is None else self._patterns(wish)
            why = "\n".join(filter(None, (ruling.why, self._warning(wish))))
            match self._approver.widen(call, why, can_add=bool(patterns)):
                case "deny":
                    return refused(ruling.why)
                case "once":
                    if wish is None:
                        return partial(self._run, job, ruling)
                    self._permissions.allow_once(wish.action, wish.target, cwd=self._cwd)
                case "add":
                    for action, pattern in patterns:
                        self._permissions.add(action, pattern)
                    is_confirmed = True

    def _rule(self, call: ToolCall, wish: PermissionRequest | None) -> Ruling:
        if wish is not None:
            verdict = self._permissions.check(wish.action, wish.target, cwd=self._cwd)
            why = f"it is out of scope: {verdict.reason}"
            return Ruling(verdict.allowed, why, verdict.place, is_once=verdict.is_once, is_final=verdict.is_final)
        named = self._permissions.current().scope.extra.get(MCP_FIELD)
        patterns = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
        allowed = any(fnmatchcase(call.name, pattern) for pattern in patterns)
        return Ruling(allowed, f"it is out of scope: {MCP_FIELD} does not name {call.name}")

    def _confinement(self, wish: PermissionRequest | None) -> Confinement | None:
        scopes = [one.scope for one in self._permissions.holding()]
        if wish is None or wish.action != "shell" or self._open_ground(scopes):
            return None
        return Confinement(
            scopes,
            root=self._root,
            home=self._home,
            cwd=self._cwd,
            protected=self._permissions.protected,
            environ=self._environ,
            runs_git=is_git(wish.target),
        )

    @staticmethod
    def _open_ground(scopes: Iterable[Scope]) -> str:
        """Why commands are held to nothing; empty where the kernel holds them."""
        if not any(scope.sandbox for scope in scopes):
            return "the scope says so"
        return ground().missing

    def _warning(self, wish: PermissionRequest | None) -> str:
        """What a person has to know of a command before they let it run."""
        if wish is None or wish.action != "shell":
            return ""
        missing = self._open_ground([one.scope for one in self._permissions.holding()])
        if missing:
            return (
                f"It runs without a sandbox ({missing}): it can read and write all that you can, and use the network."
            )
        return f"It runs in a sandbox that leaves one thing open: {ground().gap}." if ground().gap else ""

    def _patterns(self, wish: PermissionRequest) -> tuple[tuple[Action, str], ...]:
        return patterns_for(wish, cwd=self._cwd, root=self._root, home=self._home)

    def _must_confirm(self, ability: Tool) -> bool:
        if self._confirm == "never" or ability.offer.name in self._always:
            return False
        return self._confirm == "always" or ability.changes

    def _run(self, job: Invocation, ruling: Ruling) -> ToolResult:
        try:
            guards = self._permissions.guards()

            def may(action: Action, path: str) -> bool:
                verdicts = [guard.check(action, path) for guard in guards]
                return all(one.allowed or (ruling.is_once and not one.is_final) for one in verdicts)

            room = ToolContext(
                cwd=self._cwd,
                environ=self._environ,
                may_read=partial(may, "read"),
                may_write=partial(may, "write"),
                limit=self._limit,
                timeout_seconds=self._timeout_seconds,
                confinement=self._confinement(job.wish),
            )
            return ToolResult(content=job.run(room, ruling.place))
        except (ToolFailedError, SegueError) as error:
            return ToolResult(status="failed", content=str(error))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a tool, the conversation goes on
            return ToolResult(status="failed", content=f"{type(error).__name__}: {error}")
