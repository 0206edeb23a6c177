from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from segue.console import options
from segue.console.paths import origin_here
from segue.console.recent import RecentSession, record_list, record_session
from segue.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.chat.agents.resolved import ResolvedAgent
    from segue.chat.agents.resolver import AgentResolver
    from segue.chat.dialect import Dialect
    from segue.chat.repl import Chat
    from segue.index import IndexEntry
    from segue.library import Library
    from segue.model import JsonObject, Overview
    from segue.session import LiveSession


@options.verb(
    "segue chat",
    'segue chat "Why does login fail?"',
    "segue chat --agent reviewer",
    "segue chat --agent ollama/qwen3 --preset reviewer",
    "segue chat --preset executor",
    "segue chat --agent 'command:claude -p' --title \"Login bug\"",
    "printf 'Why does login fail?\\n/exit\\n' | segue chat --agent offline",
)
@click.argument("message", metavar="[MESSAGE]...", nargs=-1, type=options.text)
@options.agent
@click.option(
    "--preset", metavar="NAME", default="", type=options.text, help="Preset whose prompt is used, with any agent."
)
@options.model
@click.option("--title", metavar="TEXT", default="", type=options.text, help="Title of the session.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, type=options.text, help="Tag; can be repeated.")
@click.option("--id", metavar="ID", type=options.text, help="ID of the session. [default: generated]")
@options.yes_to_tools
@options.library
def command(
    *,
    library: Library,
    message: tuple[str, ...],
    agent: str,
    preset: str,
    model: str,
    title: str,
    tags: tuple[str, ...],
    id: str | None,
    yes: bool,
) -> int:
    """Chat in a new session; every turn is saved at once.

    MESSAGE is sent first. /help lists the commands, /exit or Ctrl-D leaves, and segue resume continues later.

    Without --agent, the preset, the configuration, or an API key or AI tool on this machine decides which agent
    answers; without any of them, the offline agent does.

    Without a terminal, lines are read from standard input, answers go to standard output, and everything else to
    standard error.
    """
    from segue.chat.lifecycle import run, start
    from segue.console.surface import open_agents, open_surface
    from segue.dialects.cortext.slash_commands import preset_by_type
    from segue.tools.approval import TerminalApprover

    surface = open_surface()
    resolver = open_agents(
        surface,
        approver=TerminalApprover(surface.terminal, yes=yes),
        preset_for=preset_by_type(surface.cwd),
    )
    resolved = _choose(resolver, agent, preset, model)
    began = origin_here(surface.cwd)
    conversation = start(library, resolver, resolved, title=title, tags=tags, id=id, extra=began)
    record_session(library.store.url, conversation.session.id)
    return run(library, conversation, resolver, dialect=dialect(library, resolver), first=" ".join(message))


def _choose(resolver: AgentResolver, agent: str, preset: str, model: str) -> ResolvedAgent:
    """The agent that answers; where its SDK is missing, it can be installed first."""
    from segue.console.extras import offer

    try:
        resolved = resolver.choose(agent, preset=preset, model=model)
    except MissingExtraError as error:
        if not offer(resolver.surface, error.extra, remembers=False):
            raise
        return resolver.choose(agent, preset=preset, model=model)
    if not resolved.missing_extra:
        return resolved
    if offer(resolver.surface, resolved.missing_extra):
        return resolver.choose(agent, preset=preset, model=model)
    resolver.surface.notify(f"to use a model, run: segue setup {resolved.missing_extra}")
    return resolved


def _create(chat: Chat, like: Overview, title: str, extra: JsonObject) -> LiveSession:
    """A session that records where it starts; a copy stays in the project of its source."""
    origin = origin_here(chat.surface.cwd)
    return chat.library.create(agent=like.agent, title=title, extra=origin | extra)


def dialect(library: Library, resolver: AgentResolver) -> Dialect:
    """Segue's own dialect, as configured. The farewell repeats a store that resuming needs to be named."""
    from msgspec.structs import replace

    from segue.chat.dialect import SEGUE
    from segue.cli._chat_sessions import ListedSessions
    from segue.console.error_messages import SEGUE_HINTS
    from segue.dialects.cortext.slash_commands import find_conversations, workspace_commands

    def dialect_of(current: Library) -> Dialect:
        if current is library and not options.is_store_option_given():
            return found
        store = shlex.quote(current.store.url).replace("{", "{{").replace("}", "}}")
        return replace(found, resume=f"{SEGUE.resume} --store {store}")

    sessions = ListedSessions(library, dialect_of)
    found = replace(
        SEGUE,
        hint_for=SEGUE_HINTS.hint_for,
        idle_seconds=resolver.settings.idle_minutes * 60,
        create=_create,
        finder=lambda _: sessions,
        listed=_record_lines,
        entered=record_session,
        extra=workspace_commands(lambda: find_conversations(resolver.surface)),
    )
    return dialect_of(library)


def _record_lines(entries: Sequence[IndexEntry]) -> None:
    record_list(RecentSession(entry.source, entry.id) for entry in entries)
