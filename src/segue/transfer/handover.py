"""A conversation that goes on in an AI tool: begun there with all that was said here, and taken back afterwards.

The tool holds no lock. The session is let go of while it runs, and what was said there is recorded when it has ended,
or whenever somebody asks: each turn once, by the id that the tool gave it.
"""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from segue.chat.context.system_prompt import SystemPrompt
from segue.errors import DamagedError, NotFoundError, UsageError
from segue.integrations import INTEGRATIONS, HandoverContext, Launch
from segue.integrations.as_text import in_words
from segue.integrations.format.losses import counted, losses
from segue.integrations.format.outgoing import sendable
from segue.integrations.format.transcript import Transcript
from segue.integrations.integration import LONGEST_ARGUMENT_BYTES
from segue.integrations.link import Link, link_of
from segue.model import Turn
from segue.process import which
from segue.transfer.window import CHARACTERS, window

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segue.integrations import Integration
    from segue.library import Library
    from segue.session import LiveSession
    from segue.trust import Marks

EVER = datetime.min.replace(tzinfo=UTC)
GO_ON = "Go on where this conversation stopped."
DOCUMENT = "{}"
"""Where a command wants the document, if not behind all its words."""
_BUDGET_TOKENS = 20_000
"""For the system prompt: with most tools it has to stand on a command line."""
_SHORTEST = 500


class How(TypedDict):
    """How a tool is to be started, as `Tool` takes it."""

    cwd: Path
    environ: Mapping[str, str]
    prompt: str
    headless: bool
    model: str


class Handover(Struct, frozen=True, kw_only=True):
    """A tool ready to go on with a conversation; `tools.run` starts it."""

    launch: Launch
    losses: tuple[str, ...] = ()
    """What stays behind, or arrives as something else; empty where all of it is carried."""
    is_return: bool = False
    """Whether it goes on in the session that the tool has of it already."""


class ReturnedTurns(Struct, frozen=True, kw_only=True):
    """What came back."""

    turns: tuple[Turn, ...] = ()
    """Those that were not recorded yet."""
    transcript: Transcript
    """All that was said in the tool."""


# ── There ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def hand_over(
    session: LiveSession, tool: Integration, how: How, *, system: str | None = None, marks: Marks | None = None
) -> Handover:
    """Prepare the tool: its own session of this conversation if nothing was said elsewhere since, else a new one.

    `system` is what it is told beside the turns; without it, what the chat would tell. NotFoundError if the tool is
    not installed, StorageError if its session cannot be written; the session here is as it was.
    """
    system = system_of(session) if system is None else system
    native_id = handed_to(session, tool.name, marks)
    if native_id and "tool_since" not in session.overview.overrides:
        said = tool.read_back(native_id, cwd=how["cwd"], environ=how["environ"]).turns
        if said and [turn.id for turn in session.tail(1)] == [said[-1].id]:
            going_on = tool.resume(native_id, system=system, **how)
            if going_on is not None:
                return Handover(launch=going_on, is_return=True)
    opening, left_out, last = window(session)
    turns = (*opening, *last)
    launch = tool.launch(HandoverContext(turns=turns, system=system, title=session.title, origin=session.id), **how)
    return Handover(launch=launch, losses=_losses(session, turns, left_out))


def hand_document(session: LiveSession, command: str, how: How) -> Handover:
    """Prepare any other command: it is told the conversation in words, as what the user says first.

    In place of a word `{}` of the command, or behind its last word; without a screen, on its input. Nothing that is
    said there comes back.
    """
    words = _words(command)
    program = which(words[0], how["environ"])
    if program is None:
        raise NotFoundError(
            f"there is no {words[0]!r:.60} on the PATH", hint=f"Segue knows {', '.join(INTEGRATIONS)}, and any command"
        )
    document, turns, left_out = _document(session, how["prompt"] or GO_ON, fits=not how["headless"])
    if how["headless"]:
        argv = [program, *words[1:]]
    elif DOCUMENT in words[1:]:
        argv = [program, *(document if word == DOCUMENT else word for word in words[1:])]
    else:
        argv = [program, *words[1:], document]
    launch = Launch(
        tool=words[0],
        argv=tuple(argv),
        cwd=str(how["cwd"]),
        native_id="",
        stdin=document if how["headless"] else None,
    )
    structure = counted(sum(map(_call_count, turns)), "tool call", "tool calls", "are told in words")
    return Handover(launch=launch, losses=tuple(filter(None, [*_losses(session, turns, left_out), structure])))


def system_of(session: LiveSession) -> str:
    """What the chat would tell before the conversation: the prompt, the summary, the decisions, the attachments."""
    recorded = session.overview.preset
    try:
        prompt = session.get_blob(recorded.hash).decode("utf-8", "replace") if recorded and recorded.hash else ""
    except (NotFoundError, DamagedError, UsageError):
        prompt = ""
    return SystemPrompt(session, budget=_BUDGET_TOKENS).text(prompt, ())


# ── And back ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def record_handover(session: LiveSession, tool: str, native_id: str, marks: Marks | None = None) -> None:
    """Record where the conversation goes on, so that what is said there can be taken back later."""
    known = session.overview.overrides
    others = known.get("tool_sessions")
    values = {name: value for name, value in known.items() if name != "tool_since"}
    values |= {"tool": tool, "tool_session": native_id, "tool_branch": session.branch}
    values["tool_sessions"] = {**(others if isinstance(others, dict) else {}), tool: native_id}
    if values != known:
        session.set_overrides(values)
    Link(tool, native_id).vouch(marks)


def handed_to(session: LiveSession, tool: str, marks: Marks | None = None) -> str:
    """The session that a tool has of this conversation; empty if it has none, or nobody here handed it over."""
    link = link_of(session.overview, tool)
    return link.native_id if link is not None and link.is_ours(marks) else ""


def take_back(
    library: Library,
    session: LiveSession,
    tool: Integration,
    native_id: str,
    *,
    cwd: Path,
    environ: Mapping[str, str],
    since: datetime = EVER,
) -> ReturnedTurns:
    """Record what was said in the tool and is not recorded yet, on the branch that was handed over.

    What cannot be read is in the damages of the transcript; SegueError if nothing can.
    """
    transcript = tool.read_back(native_id, cwd=cwd, environ=environ)
    known = {event.id for event in library.store.read(session.id) if isinstance(event, Turn)}
    branch = str(session.overview.overrides.get("tool_branch") or "")
    branch = branch if branch in session.overview.branches else session.branch
    new = [replace(turn, branch=branch) for turn in transcript.after(known) if turn.timestamp >= since]
    if new:
        session.record(*new)
    return ReturnedTurns(turns=tuple(new), transcript=transcript)


def catch_up(
    library: Library, session: LiveSession, *, cwd: Path, environ: Mapping[str, str], marks: Marks | None = None
) -> ReturnedTurns | None:
    """Take back what was said in the tool that the conversation was handed to last; None if there is none."""
    link = link_of(session.overview)
    tool = INTEGRATIONS.get(link.tool) if link is not None else None
    if tool is None or link is None or not link.is_ours(marks):
        return None
    since = handed_over_since(session.overview.overrides.get("tool_since"))
    found = take_back(library, session, tool, link.native_id, cwd=cwd, environ=environ, since=since)
    if found.transcript.native_id not in {"", link.native_id}:  # the tool went on under another name
        record_handover(session, tool.name, found.transcript.native_id, marks)
    return found


def handed_over_since(value: object) -> datetime:
    """When the tool's session became ours; ever since, where nobody said."""
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return EVER


# ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _losses(session: LiveSession, turns: tuple[Turn, ...], left_out: int) -> tuple[str, ...]:
    about = session.overview
    files = sum(_is_lost(session, item.hash) for item in about.attachments)
    notes = len(about.learnings) + len(about.patterns)
    found = [
        counted(left_out, "turn in between", "turns in between", "are left out"),
        *losses(turns),
        counted(files, "attached file that is no text", "attached files that are no text", "stay behind"),
        counted(notes, "learning", "learnings", "stay behind"),
        counted(len(about.branches) - 1, "other branch", "other branches", "stay behind"),
    ]
    return tuple(filter(None, found))


def _is_lost(session: LiveSession, name: str) -> bool:
    try:
        session.get_blob(name).decode("utf-8")
    except (NotFoundError, DamagedError, UsageError, UnicodeDecodeError):
        return True
    return False


def _document(session: LiveSession, prompt: str, *, fits: bool) -> tuple[str, tuple[Turn, ...], int]:
    """In words; as much of it as a command line takes, if it has to fit there."""
    system, limit = system_of(session), CHARACTERS
    while True:
        opening, left_out, last = window(session, limit)
        turns = (*opening, *last)
        document = in_words(HandoverContext(turns=turns, system=system), sendable(prompt))
        if not fits or len(document.encode()) <= LONGEST_ARGUMENT_BYTES:
            return document, turns, left_out
        if limit < _SHORTEST:
            raise UsageError(
                "the conversation is too long to start a command with", hint="pipe in what you want to say there"
            )
        limit //= 2


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r:.60} is no command: {error}", hint="close the quotes") from None
    if not words:
        raise UsageError("there is no tool", hint=f"say one of {', '.join(INTEGRATIONS)}, or a command")
    return words


def _call_count(turn: Turn) -> int:
    return sum(part.get("type") == "tool_call" for part in turn.parts)
