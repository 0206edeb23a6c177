"""Handing a conversation over to an AI tool, and importing the replies.

The tool holds no lock. The session is released while the tool runs. The replies are recorded when the tool has exited,
or at any later time: each turn once, by the id that the tool gave it.
"""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.errors import DamagedError, NotFoundError, SegueError, UsageError
from segue.integrations.format.losses import find_losses, format_count
from segue.integrations.format.transcript import Transcript
from segue.integrations.format.values import sendable
from segue.integrations.registry import launchable
from segue.integrations.shared.context_text import render_context
from segue.integrations.shared.integration import LONGEST_ARGUMENT_BYTES, HandoverContext, Launch
from segue.model import Turn
from segue.process import which
from segue.transfer.linked_session import LinkedSession, find_linked_session
from segue.transfer.replies import ReplyPlaces
from segue.transfer.stored_turn import load_newest_images, stored_turn
from segue.transfer.turn_identity import MORE, identify
from segue.transfer.window import MOST_CHARACTERS, handover_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.integrations.shared.integration import Integration, LaunchOptions
    from segue.library import Library
    from segue.session import LiveSession
    from segue.transfer.window import HandoverWindow
    from segue.trust import Marks

DEFAULT_PROMPT = "Continue where this conversation stopped."
PLACEHOLDER = "{}"
"""The argument of a command that is replaced by the conversation, if it is not to be the last one."""
_SYSTEM_TOKENS = 20_000
"""The limit for the system prompt: for most tools it has to be on a command line."""
_FEWEST_CHARACTERS = 500
_LARGEST_ORIGIN_BYTES = 64 << 20


class Handover(Struct, frozen=True, kw_only=True):
    """An AI tool ready to continue a conversation; `launch.run` starts it."""

    launch: Launch
    losses: tuple[str, ...] = ()
    """What is left out or changed; empty if nothing is."""
    is_return: bool = False
    """Whether it continues the session of the conversation that the tool already has."""


class ImportedReplies(Struct, frozen=True, kw_only=True):
    turns: tuple[Turn, ...] = ()
    """Those that were not recorded yet."""
    transcript: Transcript
    """The whole session of the tool."""


# ── To the tool ──────────────────────────────────────────────────────────────────────────────────────────────────────


def hand_over(
    session: LiveSession,
    integration: Integration,
    options: LaunchOptions,
    *,
    system: str | None = None,
    marks: Marks | None = None,
) -> Handover:
    """Prepare the tool: its own session of this conversation if that is up to date, else a new one.

    `system` is the system prompt; without it, that of the chat. NotFoundError if the tool is not installed,
    StorageError if its session cannot be written; the session here does not change.
    """
    system = system_prompt_of(session) if system is None else system
    native_id = handed_over_to(session, integration.name, marks) or _imported_from(session, integration, options, marks)
    if native_id and _is_up_to_date(session, integration, native_id, options):
        resumed = integration.resume(native_id, options, system=system)
        if resumed is not None:
            return Handover(launch=resumed, is_return=True)
    window = handover_window(session)
    turns = load_newest_images(window.turns, session.get_blob) if integration.carries else window.turns
    context = HandoverContext(turns=turns, system=system, title=session.title)
    launch = integration.launch(context, options)
    if launch.is_text:
        return Handover(launch=launch, losses=_losses_as_text(session, window))
    return Handover(launch=launch, losses=_losses(session, window, turns, integration.carries))


def hand_over_as_text(session: LiveSession, command: str, options: LaunchOptions) -> Handover:
    """Prepare any other command, which gets the conversation as text, as the first message of the user.

    The text replaces an argument `{}` of the command, or is its last argument; without a terminal, it is on its input.
    Replies cannot be imported.
    """
    arguments = _split(command)
    program = which(arguments[0], options.environ)
    if program is None:
        raise NotFoundError(
            f"{arguments[0]!r:.60} is not on the PATH", hint=f"use {', '.join(launchable())}, or any other command"
        )
    text, window = _render(session, options)
    if options.headless:
        argv = [program, *arguments[1:]]
    elif PLACEHOLDER in arguments[1:]:
        argv = [program, *(text if argument == PLACEHOLDER else argument for argument in arguments[1:])]
    else:
        argv = [program, *arguments[1:], text]
    launch = Launch(
        tool=arguments[0],
        argv=tuple(argv),
        cwd=str(options.cwd),
        native_id="",
        stdin=text if options.headless else None,
    )
    return Handover(launch=launch, losses=_losses_as_text(session, window))


def system_prompt_of(session: LiveSession) -> str:
    """The system prompt of the chat: the prompt of the preset, the summary, the decisions and the attachments."""
    from segue.chat.context.system_prompt import SystemPrompt

    recorded = session.overview.preset
    try:
        prompt = session.get_blob(recorded.hash).decode("utf-8", "replace") if recorded and recorded.hash else ""
    except (NotFoundError, DamagedError, UsageError):
        prompt = ""
    return SystemPrompt(session, budget=_SYSTEM_TOKENS).text(prompt, ())


def record_handover(session: LiveSession, tool: str, native_id: str, marks: Marks | None = None) -> None:
    """Record which session of the tool continues the conversation, so that replies can be imported later."""
    known = session.overview.overrides
    values = {name: value for name, value in known.items() if name != "tool_since"}
    values |= {"tool": tool, "tool_session": native_id, "tool_branch": session.branch}
    values["tool_sessions"] = {**_by_tool(session, "tool_sessions"), tool: native_id}
    values["tool_turns"] = {**_by_tool(session, "tool_turns"), tool: _last_turn(session)}
    if values != known:
        session.set_overrides(values)
    LinkedSession(tool, native_id).record(marks, session.overview.created_at)


def handed_over_to(session: LiveSession, tool: str, marks: Marks | None = None) -> str:
    """The tool's session of this conversation; empty if it has none, or this user did not hand it over."""
    linked = find_linked_session(session.overview, tool)
    return linked.native_id if linked is not None and linked.is_ours(marks) else ""


def _imported_from(session: LiveSession, integration: Integration, options: LaunchOptions, marks: Marks | None) -> str:
    """The tool's own session of which this one is a copy, made on this machine; empty if it is too large to compare."""
    about = session.overview
    origin, tool = about.extra.get("origin"), integration.name
    if marks is None or about.extra.get("tool") != tool or not isinstance(origin, str):
        return ""
    if not marks.is_import_of(tool, origin, about.created_at):
        return ""
    try:
        path = integration.find_session(origin, options.home, options.environ).path
        return origin if Path(path).stat().st_size <= _LARGEST_ORIGIN_BYTES else ""
    except (SegueError, OSError):
        return ""


def _is_up_to_date(session: LiveSession, integration: Integration, native_id: str, options: LaunchOptions) -> bool:
    """Whether the tool's session ends where ours does: with its last reply, or with the last turn handed over."""
    if "tool_since" in session.overview.overrides:
        return False
    replies = integration.read_back(native_id, options).turns
    end = replies[-1].id if replies else _by_tool(session, "tool_turns").get(integration.name)
    return bool(end) and end == _last_turn(session).partition(MORE)[0]


def _last_turn(session: LiveSession) -> str:
    return next((turn.id for turn in session.tail(1)), "")


def _by_tool(session: LiveSession, name: str) -> dict[str, object]:
    """What the session records for each tool under this name."""
    found = session.overview.overrides.get(name)
    return found if isinstance(found, dict) else {}


# ── And back ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def import_replies(
    library: Library,
    session: LiveSession,
    integration: Integration,
    native_id: str,
    options: LaunchOptions,
    *,
    since: datetime | None = None,
) -> ImportedReplies:
    """Record the turns of the tool that are not recorded yet, on the branch that was handed over.

    If the user rewound the conversation in the tool, what was said then is on a branch of its own.

    What cannot be read is in the damages of the transcript; SegueError if nothing can.
    """
    transcript = integration.read_back(native_id, options)
    if _is_recorded(session, transcript):
        return ImportedReplies(transcript=transcript)
    branch = str(session.overview.overrides.get("tool_branch") or "")
    branch = branch if branch in session.overview.branches else session.branch
    places = ReplyPlaces(library.store.read(session.id), branch)
    follows_tool = _is_at_end(session, integration.name)
    new = places.place(transcript, lambda turn: since is None or turn.timestamp >= since)
    if new:
        session.record(*(stored_turn(event, session.put_blob) if isinstance(event, Turn) else event for event in new))
        if follows_tool and (active := places.branch_of(_end(transcript))):
            session.switch(active)
    return ImportedReplies(turns=tuple(event for event in new if isinstance(event, Turn)), transcript=transcript)


def _is_recorded(session: LiveSession, transcript: Transcript) -> bool:
    """Whether our last turns are all that the tool has, so that the others need not be read."""
    turns = {turn.id: turn for turn in transcript.turns}
    turns |= {turn.id: turn for branch in transcript.branches for turn in branch.turns}
    known = {turn.id: turn for turn in session.tail(len(turns))} if turns else {}
    return all(id in known and identify(known[id]).is_same(turn) for id, turn in turns.items())


def _is_at_end(session: LiveSession, tool: str) -> bool:
    """Whether nothing was said here since the tool: the end is its own, or what was handed over."""
    last = _last_turn(session)
    return not last or last.startswith(f"{tool}:") or last == _by_tool(session, "tool_turns").get(tool)


def _end(transcript: Transcript) -> str:
    return transcript.turns[-1].id if transcript.turns else ""


def import_latest_replies(
    library: Library, session: LiveSession, options: LaunchOptions, *, marks: Marks | None = None
) -> ImportedReplies | None:
    """Import the replies of the tool to which the conversation was handed over last; None if there is none."""
    linked = find_linked_session(session.overview)
    integration = launchable().get(linked.tool) if linked is not None else None
    if integration is None or linked is None or not linked.is_ours(marks):
        return None
    found = import_replies(library, session, integration, linked.native_id, options, since=handed_over_since(session))
    if found.transcript.native_id not in {"", linked.native_id}:  # the tool continued it under another id
        record_handover(session, integration.name, found.transcript.native_id, marks)
    return found


def handed_over_since(session: LiveSession) -> datetime | None:
    """When the session of the tool became part of this conversation; None if all of it is."""
    try:
        return datetime.fromisoformat(str(session.overview.overrides.get("tool_since")))
    except ValueError:
        return None


# ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _losses(
    session: LiveSession, window: HandoverWindow, turns: Sequence[Turn], carries: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    overview = session.overview
    files = sum(_is_lost(session, item.hash) for item in overview.attachments)
    learnings = len(overview.learnings) + len(overview.patterns)
    left_out = "are left out; a summary stands for them" if window.has_summary else "are left out"
    found = [
        format_count(window.left_out, "turn in the middle", "turns in the middle", left_out),
        *find_losses(turns, carries, shortened=window.shortened_results),
        format_count(window.shortened_texts, "text", "texts", "are shortened"),
        format_count(window.shortened_calls, "call", "calls", "have shortened arguments"),
        format_count(files, "attached file that is not text", "attached files that are not text", "are left out"),
        format_count(learnings, "learning", "learnings", "are left out"),
        format_count(len(overview.branches) - 1, "other branch", "other branches", "are left out"),
    ]
    return tuple(filter(None, found))


def _losses_as_text(session: LiveSession, window: HandoverWindow) -> tuple[str, ...]:
    calls = format_count(sum(map(_call_count, window.turns)), "tool call", "tool calls", "are handed over as text")
    return tuple(filter(None, [*_losses(session, window, window.turns, frozenset({"failed"})), calls]))


def _is_lost(session: LiveSession, name: str) -> bool:
    try:
        session.get_blob(name).decode("utf-8")
    except (NotFoundError, DamagedError, UsageError, UnicodeDecodeError):
        return True
    return False


def _render(session: LiveSession, options: LaunchOptions) -> tuple[str, HandoverWindow]:
    """The conversation as text, shortened to the limit of a command line unless it goes to the input."""
    prompt, system = sendable(options.prompt or DEFAULT_PROMPT), system_prompt_of(session)
    limit = MOST_CHARACTERS if options.headless else LONGEST_ARGUMENT_BYTES
    while True:
        window = handover_window(session, limit)
        text = render_context(HandoverContext(turns=window.turns, system=system), prompt)
        if options.headless or len(text.encode()) <= LONGEST_ARGUMENT_BYTES:
            return text, window
        if limit < _FEWEST_CHARACTERS:
            raise UsageError(
                "the conversation is too long for a command line", hint="pipe in your message, to hand it over as input"
            )
        limit //= 2


def _split(command: str) -> list[str]:
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r:.60} is not a command: {error}", hint="close the quotes") from None
    if not arguments:
        raise UsageError("no tool is named", hint=f"use one of {', '.join(launchable())}, or a command")
    return arguments


def _call_count(turn: Turn) -> int:
    return sum(part.get("type") == "tool_call" for part in turn.parts)
