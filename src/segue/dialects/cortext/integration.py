"""A conversation of a workspace in an AI tool: held there, taken back, and stopped as every other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from segue.console import output
from segue.dialects.cortext.conversations import CHAT
from segue.errors import NotFoundError, SegueError, UsageError
from segue.integrations import LaunchOptions
from segue.integrations.registry import INTEGRATIONS, launchable
from segue.transfer.handover import hand_over, handed_over_since, import_replies
from segue.transfer.linked_session import LinkedSession, find_linked_session

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.conversations import Stopped
    from segue.integrations import Integration, Launch
    from segue.session import LiveSession

HELD = "CORTEXT_CONVERSATION"
"""The variable by which a command that a tool runs knows for which conversation the tool was started here."""


def find_tool(name: str, environ: Mapping[str, str]) -> Integration:
    """Raises NotFoundError if there is no such tool here."""
    known = launchable()
    tool = known.get(name)
    if tool is None:
        raise NotFoundError(f"there is no tool {name!r:.40}", hint=f"there are {', '.join([CHAT, *known])}")
    if tool.find(environ) is None:
        raise NotFoundError(
            f"{name} is not on the PATH", hint=f"install it, or say --tool {CHAT} for the built-in chat"
        )
    return tool


def session_around(tool: str, environ: Mapping[str, str]) -> str:
    """The tool's own session that this command was called from; empty if it was not, or nobody says."""
    integration = INTEGRATIONS.get(tool)
    return environ.get(integration.session_variable, "") if integration is not None else ""


def sessions_around(environ: Mapping[str, str]) -> dict[str, str]:
    """The sessions that this command was called from, by tool."""
    return {tool: found for tool in INTEGRATIONS if (found := session_around(tool, environ))}


def hold(
    desk: WorkspaceContext, session: LiveSession, tool: Integration, *, model: str = "", topic: str = ""
) -> Stopped:
    """Talk in the tool until it ends, take over what was said there, and stop the conversation."""
    try:
        for warning in desk.conversations.drift(session):
            output.write_stderr(warning)
        launch = _prepare(desk, session, tool, model=model, prompt=_prompt(tool, topic))
        desk.conversations.note_tool(session, tool=tool.name, tool_session=launch.native_id, model=model)
        desk.vouch(session, LinkedSession(tool.name, launch.native_id))
    finally:
        session.release()
    code = launch.run({**desk.environ, HELD: session.id})
    if code != 0:
        output.warn(f"{tool.name} ended with {code}; what was said there is taken over all the same")
    session = desk.library.open(session.id)
    try:
        _take_over(desk, session, tool, launch.native_id)
        leave = desk.conversations.complete if session.status == "completed" else desk.conversations.stop
        is_stopped = session.status in {"paused", "completed"}  # by a slash command in the tool, which said why
        return leave(session, summary=session.overview.summary if is_stopped else "")
    finally:
        session.release()


def catch_up(desk: WorkspaceContext, session: LiveSession) -> None:
    """Record what was said in the tool since, if nobody has: a terminal may be closed while the tool runs."""
    link = find_linked_session(session.overview)
    if link is None or link.tool not in launchable():
        return
    if not link.is_agreed(desk.marks_of(session.id), confirm):
        output.warn(f"this conversation was not held in {link.tool} here, so nothing is copied from there")
        return
    _take_over(desk, session, INTEGRATIONS[link.tool], link.native_id, since=handed_over_since(session))


def confirm(question: str) -> bool:
    """Ask, where there is somebody to answer: nobody is a no."""
    return output.stdin_is_tty() and output.confirm(question, yes=False)


def part(session: LiveSession) -> None:
    """Where the conversation was only a part of a session of the tool, that session goes on without it."""
    known = session.overview.overrides
    if "tool_since" in known:
        session.set_overrides(
            {name: value for name, value in known.items() if name not in {"tool_session", "tool_since"}}
        )


def _take_over(
    desk: WorkspaceContext, session: LiveSession, tool: Integration, native_id: str, *, since: datetime | None = None
) -> None:
    try:
        options = LaunchOptions(cwd=desk.workspace.root, environ=desk.environ)
        returned = import_replies(desk.library, session, tool, native_id, options, since=since)
    except SegueError as error:
        output.warn(f"what was said in {tool.name} cannot be read: {error}")
        return
    for damage in returned.transcript.damages:
        output.warn(f"what was said in {tool.name} cannot be read whole: {damage}")
    if returned.transcript.native_id not in {"", native_id}:  # the tool went on under another name
        desk.conversations.note_tool(session, tool=tool.name, tool_session=returned.transcript.native_id)
        desk.vouch(session, LinkedSession(tool.name, returned.transcript.native_id))


def _prepare(desk: WorkspaceContext, session: LiveSession, tool: Integration, *, model: str, prompt: str) -> Launch:
    options = LaunchOptions(
        cwd=desk.workspace.root,
        environ=desk.environ,
        prompt=prompt,
        headless=not output.stdin_is_tty(),
        model=model,
    )
    instructions = desk.conversations.instructions_of(session)
    handover = hand_over(session, tool, options, system=instructions, marks=desk.marks_of(session.id))
    for loss in handover.losses:
        output.note(f"for {tool.name}: {loss}")
    return handover.launch


def _prompt(tool: Integration, topic: str) -> str:
    """What is said first: the topic of a new conversation; without a terminal, all that stands on the input."""
    if output.stdin_is_tty():
        return topic
    said = "\n".join(filter(None, [topic, (sys.stdin.read() if sys.stdin is not None else "").strip()]))
    if not said:
        raise UsageError(f"there is no terminal to open {tool.name} at", hint="pipe in what you want to say there")
    return said
