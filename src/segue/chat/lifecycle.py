"""What every command that chats does: `start` a session or `resume` one, `show_recap`, then `run` the conversation."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING

from segue import process
from segue.chat.repl import Chat
from segue.chat.summary import summarize
from segue.chat.terminal.first_line import with_first_line
from segue.errors import DamagedError, NotFoundError
from segue.presets import describe_drift
from segue.tools.recorded_calls import format_turn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.chat.agent import Agent
    from segue.chat.agents.resolved import ResolvedAgent
    from segue.chat.agents.resolver import AgentResolver
    from segue.chat.conversation import Conversation
    from segue.chat.dialect import Dialect
    from segue.library import Library
    from segue.model import JsonObject, Turn
    from segue.session import LiveSession
    from segue.surface import Terminal

LAST_TURNS = 4
_PATIENCE_SECONDS = 0.5
"""How long to wait for another writer, which usually is a conversation that lasts."""
_SHOWN_LINES, _SHOWN_LENGTH = 12, 1200
"""Of a turn that is shown again: enough to recognize it."""


def start(
    library: Library,
    resolver: AgentResolver,
    resolved: ResolvedAgent,
    *,
    title: str = "",
    tags: Iterable[str] = (),
    id: str | None = None,
    extra: JsonObject | None = None,
) -> Conversation:
    """A new session that records its agent, and the conversation in it.

    A session without an id, a title or tags of its own is discarded if it stays empty.
    """
    tags = tuple(tags)
    session = library.create(agent=resolved.label, title=title, tags=tags, id=id, extra=extra)
    conversation = _open(session, resolver, resolved, record=True)
    conversation.initial = None if id or title or tags else session.overview
    return conversation


def resume(
    library: Library, resolver: AgentResolver, id: str, *, agent: str = "", model: str = "", force: bool = False
) -> Conversation:
    """The conversation of a session that exists, made active: a completed one only with `override`.

    First the session is held, then it is settled who answers: if nobody can, or somebody else is at it, it stays as it
    is. What is read does not grow with the session.
    """
    session = library.open(id, timeout_seconds=_PATIENCE_SECONDS)
    try:
        resolved = resolver.recall(session, agent, model=model)
        session.resume(force=force)
    except BaseException:
        session.release()
        raise
    return _open(session, resolver, resolved, record=bool(agent or model))


def find_drift(conversation: Conversation) -> str | None:
    """What has changed in the prompt since the session used it; None if nothing has, or if it is unknown."""
    session, preset = conversation.session, conversation.preset
    recorded = session.overview.preset
    if preset is None or recorded is None or recorded.name != preset.name:
        return None
    try:
        before = session.get_blob(recorded.hash).decode("utf-8", "surrogatepass") if recorded.hash else None
    except (NotFoundError, DamagedError, UnicodeDecodeError):
        before = None
    return describe_drift(recorded.hash, before, preset)


def show_recap(session: LiveSession, terminal: Terminal, *, when: str, was: str, count: int = LAST_TURNS) -> None:
    """Show the last turns, and where and when the conversation stopped; `was` is its status then."""
    about = session.overview
    turns = session.tail(max(count, LAST_TURNS))
    shown = turns[len(turns) - min(count, len(turns)) :]
    if shown and len(shown) < about.turn_count:
        terminal.note(f"… {about.turn_count - len(shown):,} earlier turns; /history N shows more")
    for turn in shown:
        _show(turn, terminal)
    total = f"{about.turn_count:,} turn{'' if about.turn_count == 1 else 's'}"
    facts = [
        about.title,
        total,
        *([f"branch {about.branch}"] if len(about.branches) > 1 else []),
        f"{was}, last active {when}",
    ]
    terminal.note(" · ".join(fact for fact in facts if fact))
    if stopped := about.summary or summarize(turns):
        terminal.note(f"Where it stopped: {stopped}")


def run(
    library: Library, conversation: Conversation, resolver: AgentResolver, *, dialect: Dialect, first: str = ""
) -> int:
    """Chat until the user leaves; `first` is handled as if it were typed first. Returns the exit code."""
    surface = replace(resolver.surface, terminal=with_first_line(resolver.surface.terminal, first))
    chat = Chat(library, conversation, surface=surface, agents=resolver, dialect=dialect)
    if resolver.surface.terminal.is_interactive:
        Thread(target=_prepare, args=(conversation.agent,), daemon=True).start()
    with process.exit_on_signal(), closing(resolver):
        return chat.run()


def _prepare(agent: Agent) -> None:
    """Load what the first question needs while it is typed; an error here is reported when it occurs again."""
    prepare = getattr(agent, "prepare", None)
    if prepare is not None:
        with suppress(Exception):
            prepare()


def _open(session: LiveSession, resolver: AgentResolver, resolved: ResolvedAgent, *, record: bool) -> Conversation:
    try:
        conversation = resolver.converse(session, resolved)
        if record:
            _record(session, resolved)
            resolver.vouch(session, resolved)
    except BaseException:
        session.release()
        raise
    return conversation


def _record(session: LiveSession, resolved: ResolvedAgent) -> None:
    about, preset = session.overview, resolved.preset
    if preset is not None and (about.preset is None or about.preset.name != preset.name):  # a new hash is for who asks
        session.use_preset(preset.name, hash=preset.hash)
    others = {name: value for name, value in about.overrides.items() if name not in {"agent", "model"}}
    if about.overrides != others | resolved.named:
        session.set_overrides(others | resolved.named)


def _show(turn: Turn, terminal: Terminal) -> None:
    """Show a turn at a terminal, and as a note elsewhere. Only answers are Markdown; all else is shown as it was."""
    whole = format_turn(turn)
    lines = whole[:_SHOWN_LENGTH].split("\n")
    text = "\n".join(lines[:_SHOWN_LINES])
    facts = [turn.role, *(["cut off"] if turn.partial else []), *(["shortened"] if text != whole else [])]
    terminal.note(f"{' · '.join(facts)}")
    if not terminal.is_interactive:
        terminal.note(text)
    elif turn.role == "assistant":
        terminal.show([text])
    else:
        terminal.say(f"{text}\n")
