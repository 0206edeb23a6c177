"""The PreToolUse hook of Claude Code: from the JSON that it sends to the JSON that it understands.

It sends `tool_name`, `tool_input` and `cwd`. The answer is `allow`, `deny` or `ask` with a reason, or no decision, and
then its own rules hold. Whatever goes wrong means `deny`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from segue.errors import SegueError

if TYPE_CHECKING:
    from segue.model import JsonObject
    from segue.permissions.guard import Verdict
    from segue.permissions.permissions import Permissions

Choice = Literal["allow", "deny", "ask"]

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


class NotUnderstoodCallError(ValueError):
    """Why a call makes no sense here."""


def answer_call(data: bytes, permissions: Permissions, *, grants: bool = False) -> JsonObject:
    """What to tell Claude Code about a call.

    With `grants`, what the scope allows is allowed without a question; without, Claude Code asks as it would.
    """
    try:
        call = _call_of(data)
        name = call["tool_name"]
        verdict = _judge(call, permissions)
    except Exception as error:  # noqa: BLE001 - any other end of a hook lets the tool run
        return refuse(error)
    if verdict is None:
        return say("ask", f"segue: the scope says nothing about {name}")
    if not verdict.allowed:
        # A search that may come upon something denied is for a person to judge: most projects hold a secret somewhere.
        is_open = name == "Grep" and verdict.pattern and not verdict.is_final
        return say("ask" if is_open else "deny", f"segue: {verdict.target!r} is out of scope: {verdict.reason}")
    return say("allow", f"segue: {verdict.reason}") if grants or verdict.is_once else {}


def refuse(error: Exception) -> JsonObject:
    """The answer where something went wrong."""
    match error:
        case NotUnderstoodCallError():
            return say("deny", f"segue: {error}")
        case SegueError():
            return say("deny", f"segue: {error}; {error.hint}")
        case _:
            return say("deny", f"segue: unexpected: {type(error).__name__}: {error}")


def say(choice: Choice, reason: str) -> JsonObject:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": choice,
            "permissionDecisionReason": reason,
        }
    }


def _call_of(data: bytes) -> JsonObject:
    if len(data) > SIZE_BYTES:
        raise NotUnderstoodCallError("the call is too large")
    try:
        call: object = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotUnderstoodCallError("the call is not JSON") from None
    if not isinstance(call, dict) or not isinstance(call.get("tool_name"), str):
        raise NotUnderstoodCallError("the call names no tool")
    return call


def _judge(call: JsonObject, permissions: Permissions) -> Verdict | None:
    name, given = str(call["tool_name"]), call.get("tool_input")
    told = given if isinstance(given, dict) else {}
    cwd = _text(call, "cwd", "")
    if name in _PATHS:
        action, field = _PATHS[name]
        path = _text(told, field)
        return permissions.check("write" if action == "write" else "read", path, cwd=cwd)
    match name:
        case "Bash":
            return permissions.check("shell", _text(told, "command"), cwd=cwd)
        case "Glob":
            return permissions.check("read", _glob_folder(_text(told, "path", ""), _text(told, "pattern")), cwd=cwd)
        case "Grep":
            folder = _text(told, "path", "") or "."
            return permissions.settled(permissions.guard().search(folder, cwd=cwd))
        case _:
            return None


def _glob_folder(path: str, pattern: str) -> str:
    """The folder in which the search begins; where it could leave that again, nobody knows where it leads."""
    names = pattern.split("/")
    wild = next((at for at, name in enumerate(names) if any(mark in name for mark in "*?[{")), len(names) - 1)
    if ".." in names[wild:]:
        raise NotUnderstoodCallError("the pattern leads upwards behind a wildcard")
    start = "/".join(names[:wild]) or ("/" if pattern.startswith("/") else "")
    if start.startswith(("/", "~")) or not path:
        return start or path or "."
    return f"{path}/{start}"


def _text(values: JsonObject, field: str, default: str | None = None) -> str:
    found = values.get(field, default)
    if not isinstance(found, str):
        raise NotUnderstoodCallError(f"the call has no {field}")
    return found
