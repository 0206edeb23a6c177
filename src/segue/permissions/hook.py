"""The PreToolUse hook of Claude Code: from the JSON of a call to the JSON of the decision.

The call has `tool_name`, `tool_input` and `cwd`. The decision is `allow`, `deny` or `ask` with a reason, or none, which
leaves it to the rules of Claude Code. Any error means `deny`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from segue.errors import SegueError

if TYPE_CHECKING:
    from segue.model import JsonObject
    from segue.permissions.guard import Verdict
    from segue.permissions.permissions import Permissions

HookDecision = Literal["allow", "deny", "ask"]

SIZE_BYTES = 32 << 20
_PATHS = {
    "Read": ("read", "file_path"),
    "NotebookRead": ("read", "notebook_path"),
    "LS": ("read", "path"),
    "Write": ("write", "file_path"),
    "Edit": ("write", "file_path"),
    "MultiEdit": ("write", "file_path"),
    "NotebookEdit": ("write", "notebook_path"),
}


class InvalidHookCallError(ValueError):
    """Why the call of the hook is invalid."""


def answer_call(data: bytes, permissions: Permissions, *, grants: bool = False) -> JsonObject:
    """The answer to a call.

    With `grants`, a call that the scope allows runs without a question; without, the rules of Claude Code apply.
    """
    try:
        call = _parse_call(data)
        name = call["tool_name"]
        verdict = _judge(call, permissions)
    except Exception as error:  # noqa: BLE001 - if a hook fails, the tool runs
        return deny_error(error)
    if verdict is None:
        return _answer("ask", f"segue: the scope has no rule for {name}")
    if not verdict.allowed:
        # The user decides about a search that may find denied files: most projects contain a secret.
        is_open = name == "Grep" and verdict.pattern and not verdict.is_final
        return _answer("ask" if is_open else "deny", f"segue: {verdict.target!r} is out of scope: {verdict.reason}")
    return _answer("allow", f"segue: {verdict.reason}") if grants or verdict.is_once else {}


def deny_error(error: Exception) -> JsonObject:
    """The answer after an error."""
    match error:
        case InvalidHookCallError():
            return _answer("deny", f"segue: {error}")
        case SegueError():
            return _answer("deny", "; ".join(filter(None, (f"segue: {error}", error.hint))))
        case _:
            return _answer("deny", f"segue: unexpected: {type(error).__name__}: {error}")


def _answer(decision: HookDecision, reason: str) -> JsonObject:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }


def _parse_call(data: bytes) -> JsonObject:
    if len(data) > SIZE_BYTES:
        raise InvalidHookCallError("the call is too large")
    try:
        call: object = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InvalidHookCallError("the call is not JSON") from None
    if not isinstance(call, dict) or not isinstance(call.get("tool_name"), str):
        raise InvalidHookCallError("the call does not name a tool")
    return call


def _judge(call: JsonObject, permissions: Permissions) -> Verdict | None:
    name, given = str(call["tool_name"]), call.get("tool_input")
    arguments = given if isinstance(given, dict) else {}
    cwd = _text(call, "cwd", "")
    if name in _PATHS:
        action, field = _PATHS[name]
        path = _text(arguments, field)
        return permissions.check("write" if action == "write" else "read", path, cwd=cwd)
    match name:
        case "Bash":
            return permissions.check("shell", _text(arguments, "command"), cwd=cwd)
        case "Glob":
            return permissions.check(
                "read", _glob_folder(_text(arguments, "path", ""), _text(arguments, "pattern")), cwd=cwd
            )
        case "Grep":
            folder = _text(arguments, "path", "") or "."
            return permissions.apply_grant(permissions.guard().search(folder, cwd=cwd))
        case _:
            return None


def _glob_folder(path: str, pattern: str) -> str:
    """The folder in which the search starts. A pattern that could leave it again is refused."""
    names = pattern.split("/")
    wild = next((at for at, name in enumerate(names) if any(mark in name for mark in "*?[{")), len(names) - 1)
    if ".." in names[wild:]:
        raise InvalidHookCallError("the pattern has .. after a wildcard")
    start = "/".join(names[:wild]) or ("/" if pattern.startswith("/") else "")
    if start.startswith(("/", "~")) or not path:
        return start or path or "."
    return f"{path}/{start}"


def _text(values: JsonObject, field: str, default: str | None = None) -> str:
    value = values.get(field, default)
    if not isinstance(value, str):
        raise InvalidHookCallError(f"the call has no {field}")
    return value
