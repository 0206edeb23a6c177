from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from segue.console import options, output
from segue.errors import SegueError, unforeseen

if TYPE_CHECKING:
    from segue.integrations import Integration

_COLUMNS = ("TOOL", "NAME", "HERE", "SESSIONS", "WORKS", "PROVEN WITH", "PROGRAM")
_PROVEN_WITH, _OPTIONAL = 5, (6, 1)


class ToolState(NamedTuple):
    """An integration, and what there is of the tool on this machine."""

    integration: Integration
    program: str | None
    """The path of its program; it is not started."""
    sessions: int | None
    """None if they cannot be listed."""
    problem: str

    @property
    def works(self) -> list[str]:
        """What Segue can do with it."""
        history, launch = self.integration.has_history, self.integration.can_launch
        return [*(("read", "watch") if history else ()), *(("hand over", "comes back") if launch else ())]

    @property
    def is_found(self) -> bool:
        return self.program is not None or bool(self.sessions)


@options.verb("segue tools", "segue tools --json | jq -r '.[] | select(.found) | .name'")
@options.as_json
def command(*, as_json: bool) -> None:
    """List the AI tools that Segue knows, and what works.

    Those that are on this machine come first: their program is on the PATH, or they have sessions here. No tool is
    started. WORKS is what Segue can do: read its sessions, watch them, hand a conversation over to it, and import the
    replies. PROVEN WITH is the newest release with which that was tested. Elsewhere than on a terminal,
    each tool is one line, with tabs between the same fields.
    """
    from segue.integrations.registry import INTEGRATIONS

    states = [_look_at(one) for one in INTEGRATIONS.values()]
    states.sort(key=lambda state: not state.is_found)  # in the order in which they are preferred
    if as_json:
        output.data([_plain(state) for state in states])
    else:
        output.table(_COLUMNS, [_row(state) for state in states], stretch=_PROVEN_WITH, optional=_OPTIONAL)
    for state in states:
        if state.problem:
            output.warn(f"the sessions of {state.integration.name} cannot be listed: {state.problem}")


def _look_at(integration: Integration) -> ToolState:
    sessions, problem = None, ""
    try:
        found = integration.sessions(Path.home(), os.environ) if integration.has_history else ()
        sessions = sum(1 for _ in found)
    except SegueError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - an unreadable folder affects only this tool
        problem = str(unforeseen(error, integration.name))
    return ToolState(integration, integration.find(os.environ), sessions, problem)


def _row(state: ToolState) -> list[tuple[str, str]]:
    style = "" if state.is_found else "dim"
    cells = [
        state.integration.name,
        state.integration.title,
        "yes" if state.is_found else "no",
        "" if state.sessions is None else f"{state.sessions}",
        ", ".join(state.works),
        state.integration.proven_with,
        _short(state.program or ""),
    ]
    return [(style, cell) for cell in cells]


def _short(path: str) -> str:
    return path.replace(str(Path.home()), "~") if output.stdout_is_tty() else path


def _plain(state: ToolState) -> dict[str, object]:
    integration = state.integration
    return {
        "name": integration.name,
        "title": integration.title,
        "found": state.is_found,
        "program": state.program,
        "sessions": state.sessions,
        "works": state.works,
        "carries": sorted(integration.carries),
        "proven_with": integration.proven_with,
        "problem": state.problem,
    }
