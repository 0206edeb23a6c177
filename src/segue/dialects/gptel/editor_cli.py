"""The verbs of `segue gptel` that only an editor needs: lists to choose from, and the log of its tool calls."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from segue.console import options, output
from segue.dialects.gptel.arguments import (
    activities_option,
    find_branch_path,
    open_sessions,
    store_option,
    target_argument,
    to_json,
)
from segue.errors import UsageError

if TYPE_CHECKING:
    from segue.model import JsonObject

_SIZE_BYTES = 32 << 20


@options.verb("segue gptel list", "segue gptel list --activities ~/emacs-activities --json", name="list")
@activities_option("List the sessions of the activities in FOLDER as well.")
@store_option
@options.as_json
def list_(*, activities: str | None, root: str, as_json: bool) -> None:
    """List sessions and their folders, last active first."""
    from segue.console.durations import time_formatter
    from segue.dialects.gptel.session_list import list_sessions

    found = list_sessions(root, activities)
    if as_json:
        output.data([to_json(one) for one in found])
        return
    when = time_formatter()
    rows = [(one.title or one.session_id, one.branch_name, str(one.turn_count), when(one.updated)) for one in found]
    output.table(("TITLE", "BRANCH", "TURNS", "LAST ACTIVITY"), rows, stretch=0)


@options.verb("segue gptel presets", "segue gptel presets --json", name="presets")
@options.as_json
def presets(*, as_json: bool) -> None:
    """List the presets that a session can have."""
    from segue.console.surface import here, segue_presets

    found = sorted(segue_presets(here()).load(), key=lambda preset: preset.name)
    if as_json:
        output.data([{"name": one.name, "description": one.description} for one in found])
        return
    output.table(("PRESET", "DESCRIPTION"), [(one.name, one.description) for one in found], stretch=1)


@options.verb(
    """echo '{"name": "read_file", "arguments": {"path": "a"}, "result": "A"}' | segue gptel log api-integration""",
    name="log",
)
@target_argument
@store_option
@options.as_json
def log(*, target: str, root: str, as_json: bool) -> None:
    """Log a tool call of the editor in tools.org.

    Standard input is JSON with the name of the tool, its arguments and its result. The conversation stays unchanged.
    """
    call = _parse_call(sys.stdin.buffer.read(_SIZE_BYTES + 1))
    path = open_sessions(root).log_call(
        find_branch_path(target, root), str(call["name"]), call.get("arguments"), str(call["result"])
    )
    if as_json:
        output.data({"log": path})
    else:
        output.line(path)


def _parse_call(data: bytes) -> JsonObject:
    import msgspec

    try:
        call: object = msgspec.json.decode(data) if len(data) <= _SIZE_BYTES else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        call = None
    if not isinstance(call, dict) or not all(isinstance(call.get(key), str) for key in ("name", "result")):
        raise UsageError(
            "standard input is not a tool call", hint='write JSON: {"name": "…", "arguments": {…}, "result": "…"}'
        )
    return call


EDITOR_VERBS = (list_, presets, log)
