"""A conversation of a workspace in an AI tool: run there, imported back, and stopped like every other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from segue.console import output
from segue.dialects.cortext.conversations import CHAT
from segue.errors import NotFoundError, SegueError, UsageError
from segue.integrations import LaunchOptions
from segue.integrations.registry import INTEGRATIONS, launchable
from segue.transfer import handover
from segue.transfer.linked_session import LinkedSession, find_linked_session

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.stop_result import StopResult
    from segue.integrations import Integration, Launch
    from segue.session import LiveSession

CONVERSATION_VARIABLE = "CORTEXT_CONVERSATION"
"""The environment variable with the id of the conversation for which cortext started an AI tool."""


def find_tool(name: str, environ: Mapping[str, str]) -> Integration:
    """Raises NotFoundError if there is no such AI tool, or if it is not installed."""
    known = launchable()
    tool = known.get(name)
    if tool is None:
        raise NotFoundError(f"there is no tool {name!r:.40}", hint=f"there are {', '.join([CHAT, *known])}")
    if tool.find(environ) is None:
        raise NotFoundError(
            f"{name} is not on the PATH", hint=f"install it, or use the built-in chat with --tool {CHAT}"
        )
    return tool


def surrounding_session(tool: str, environ: Mapping[str, str]) -> str:
    """The session of the AI tool in which this command was called; empty if there is none, or it is not known."""
    integration = INTEGRATIONS.get(tool)
    return environ.get(integration.session_variable, "") if integration is not None else ""


def surrounding_sessions(environ: Mapping[str, str]) -> dict[str, str]:
    """The sessions in which this command was called, by AI tool."""
    return {tool: found for tool in INTEGRATIONS if (found := surrounding_session(tool, environ))}


def run_in_tool(
    context: WorkspaceContext, session: LiveSession, tool: Integration, *, model: str = "", topic: str = ""
) -> StopResult:
    """Run the AI tool until it exits, import what was said there, and stop the conversation."""
    try:
        for warning in context.conversations.drift(session):
            output.write_stderr(warning)
        launch = _prepare(context, session, tool, model=model, prompt=_read_prompt(tool, topic))
        context.conversations.note_tool(session, tool=tool.name, tool_session=launch.native_id, model=model)
        context.vouch(session, LinkedSession(tool.name, launch.native_id))
    finally:
        session.release()
    code = launch.run({**context.environ, CONVERSATION_VARIABLE: session.id})
    if code != 0:
        output.warn(f"{tool.name} exited with code {code}; its replies are imported nevertheless")
    session = context.library.open(session.id)
    try:
        _import(context, session, tool, launch.native_id)
        stop = context.conversations.complete if session.status == "completed" else context.conversations.stop
        is_stopped = session.status in {"paused", "completed"}  # by a slash command in the tool, with a summary
        return stop(session, summary=session.overview.summary if is_stopped else "")
    finally:
        session.release()


def import_replies(context: WorkspaceContext, session: LiveSession) -> None:
    """Import what was said in the AI tool since the last import, if the user of this machine agreed to the tool."""
    link = find_linked_session(session.overview)
    if link is None or link.tool not in launchable():
        return
    if not link.is_agreed(context.marks_of(session.id), confirm):
        output.warn(f"this conversation was not in {link.tool} on this machine, so nothing is imported from there")
        return
    since = handover.handed_over_since(session)
    _import(context, session, INTEGRATIONS[link.tool], link.native_id, since=since)


def confirm(question: str) -> bool:
    """Ask the user; without a terminal the answer is no."""
    return output.stdin_is_tty() and output.confirm(question, yes=False)


def detach(session: LiveSession) -> None:
    """Forget the tool's session if the conversation was only a part of it: it continues without the conversation."""
    known = session.overview.overrides
    if "tool_since" in known:
        session.set_overrides(
            {name: value for name, value in known.items() if name not in {"tool_session", "tool_since"}}
        )


def _import(
    context: WorkspaceContext, session: LiveSession, tool: Integration, native_id: str, *, since: datetime | None = None
) -> None:
    try:
        options = LaunchOptions(cwd=context.workspace.root, environ=context.environ)
        returned = handover.import_replies(context.library, session, tool, native_id, options, since=since)
    except SegueError as error:
        output.warn(f"cannot read the session of {tool.name}: {error}")
        return
    for damage in returned.transcript.damages:
        output.warn(f"cannot read all of the session of {tool.name}: {damage}")
    if returned.transcript.native_id not in {"", native_id}:  # the tool continued under another id
        context.conversations.note_tool(session, tool=tool.name, tool_session=returned.transcript.native_id)
        link = LinkedSession(tool.name, returned.transcript.native_id)
        context.vouch(session, link, is_whole=since is None)


def _prepare(context: WorkspaceContext, session: LiveSession, tool: Integration, *, model: str, prompt: str) -> Launch:
    options = LaunchOptions(
        cwd=context.workspace.root,
        environ=context.environ,
        prompt=prompt,
        headless=not output.stdin_is_tty(),
        model=model,
    )
    instructions = context.conversations.instructions_of(session)
    handed_over = handover.hand_over(session, tool, options, system=instructions, marks=context.marks_of(session.id))
    for loss in handed_over.losses:
        output.note(f"for {tool.name}: {loss}")
    return handed_over.launch


def _read_prompt(tool: Integration, topic: str) -> str:
    """The first message: the topic of a new conversation, and without a terminal also what is on stdin."""
    if output.stdin_is_tty():
        return topic
    prompt = "\n".join(filter(None, [topic, (sys.stdin.read() if sys.stdin is not None else "").strip()]))
    if not prompt:
        raise UsageError(f"{tool.name} needs a terminal or a message", hint="pipe the message in")
    return prompt
