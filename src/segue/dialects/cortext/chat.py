"""Start, resume and stop a conversation, in the built-in chat or in an AI tool."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from segue.chat.agents.resolver import AgentResolver
from segue.chat.dialect import Dialect
from segue.chat.lifecycle import run
from segue.console import output
from segue.console.exit_codes import Exit
from segue.console.surface import open_surface
from segue.dialects.cortext.command_prompts import preset_of
from segue.dialects.cortext.context import STARTS
from segue.dialects.cortext.conversations import CHAT, command_of, title_of, type_of
from segue.dialects.cortext.hints import HINTS
from segue.dialects.cortext.integration import (
    confirm,
    detach,
    find_tool,
    import_replies,
    run_in_tool,
    surrounding_session,
)
from segue.dialects.cortext.selection import find_current
from segue.dialects.cortext.slash_commands import (
    create_conversation,
    format_resuming,
    stop_and_report,
    stop_unattended,
    workspace_commands,
)
from segue.dialects.cortext.workspace import BUILT_IN
from segue.dialects.resuming import check_resumable, release_on_failure, resume_conversation
from segue.errors import NotFoundError, UsageError
from segue.presets import PresetSources, project_folders
from segue.transfer.linked_session import LinkedSession

if TYPE_CHECKING:
    from segue.chat.conversation import Conversation
    from segue.dialects.cortext.context import WorkspaceContext
    from segue.dialects.cortext.conversation_list import ConversationEntry
    from segue.dialects.cortext.stop_result import StopResult
    from segue.model import Overview, Status
    from segue.session import LiveSession


class CortextChat:
    """The built-in chat, in a conversation of a workspace."""

    def __init__(self, context: WorkspaceContext) -> None:
        self._context = context
        self._conversations = context.conversations
        surface = open_surface(history=context.history)
        self.terminal = surface.terminal
        folders = (*context.workspace.type_folders, *project_folders("segue", context.workspace.root))
        self._resolver = AgentResolver(
            surface,
            sources=PresetSources(folders=folders, trusted=(BUILT_IN,)),
            preset_for=partial(preset_of, context.workspace),
        )

    def start(self, type: str, topic: str, *, agent: str, model: str) -> int:
        self._resolver.choose(agent, preset=type, model=model)  # an agent that cannot answer fails here
        session = self._conversations.start(type, topic, tool=CHAT, agent=agent, model=model)
        with release_on_failure(session):
            conversation = self._resolver.attach(session, agent, model)
        return self._run(conversation)

    def resume(self, before: Overview, *, agent: str, model: str) -> int:
        conversation = resume_conversation(
            self._context.library,
            self._resolver,
            before,
            agent=agent,
            model=model,
            heading=format_resuming(title_of(before)),
            changes=lambda conversation: self._conversations.drift(conversation.session),
        )
        with release_on_failure(conversation.session):
            self._conversations.note_tool(conversation.session, tool=CHAT, agent=agent, model=model)
        return self._run(conversation)

    def _run(self, conversation: Conversation) -> int:
        dialect = Dialect(
            name="cortext",
            greeting="conversation {id} · /help lists the commands, /workspace.stop-conversation saves and leaves",
            resume=HINTS.resume,
            hint_for=HINTS.hint_for,
            farewell="resume with: {resume}",
            settle=partial(stop_and_report, self._conversations, self.terminal),
            save=partial(stop_unattended, self._conversations),
            idle_seconds=self._context.workspace.config.idle_seconds,
            autorecord=True,
            create=create_conversation(self._conversations),
            extra=workspace_commands(lambda: self._conversations, resume_names=("resume", "load")),
            hidden=("resume",),
        )
        return run(self._context.library, conversation, self._resolver, dialect=dialect)


def start(context: WorkspaceContext, type: str, topic: str, *, tool: str, agent: str, model: str, as_json: bool) -> int:
    """Start a conversation and chat in it; with `as_json`, print what the AI tool that called needs for it."""
    context.workspace.get_type(type)
    name = tool or (context.workspace.config.tool or CHAT if as_json else _choose_tool(context))
    if as_json:
        session = context.conversations.start(type, topic, tool=name, agent=agent, model=model)
        return _print_for_tool(context, session, name, model=model)
    if name == CHAT:
        return CortextChat(context).start(type, topic, agent=agent, model=model)
    integration = find_tool(name, context.environ)
    session = context.conversations.start(type, topic, tool=name, model=model)
    _report(run_in_tool(context, session, integration, model=model, topic=session.title))
    return Exit.DONE


def resume(
    context: WorkspaceContext,
    entry: ConversationEntry,
    *,
    tool: str,
    agent: str,
    model: str,
    yes: bool,
    as_json: bool,
) -> int:
    """Resume a conversation in the AI tool that is named, or in the one it was last in, or in the built-in chat."""
    called = f'conversation "{entry.title}"'
    if as_json and entry.status == "completed" and not yes:
        raise UsageError(f"{called} was marked complete", hint="--yes resumes it")
    chat = CortextChat(context)
    before = check_resumable(
        context.library, entry.id, chat.terminal, called=called, recovery=f"cortext resume {entry.id}", reopen=yes
    )
    if isinstance(before, Exit):
        return before
    _import_missing_replies(context, before)
    name = tool or _choose_tool(context, (before.id, str(before.overrides.get("tool") or "")))
    if name == CHAT and not as_json:
        return chat.resume(before, agent=agent, model=model)
    is_completed = before.status == "completed"
    if as_json:
        return _print_for_tool(context, context.library.resume(before.id, force=is_completed), name, model=model)
    integration = find_tool(name, context.environ)
    output.line(format_resuming(title_of(before)))
    _report(run_in_tool(context, context.library.resume(before.id, force=is_completed), integration, model=model))
    return Exit.DONE


def stop(context: WorkspaceContext, words: str, status: Status, *, summary: str, as_json: bool) -> int:
    """Stop or complete a conversation from the command line."""
    entry = find_current(context, words, ask=not as_json)
    session = context.library.open(entry.id)
    try:
        import_replies(context, session)
        detach(session)
        verb = context.conversations.complete if status == "completed" else context.conversations.stop
        result = verb(session, summary=summary)
    finally:
        session.release()
    if as_json:
        output.data(_result_json(result))
    else:
        _report(result)
    return Exit.DONE


def _report(result: StopResult) -> None:
    """Print that a conversation is saved, and on stderr what else the user should know."""
    output.text(result.message)
    for note in result.notes:
        output.warn(note)
    if result.commit is not None and result.commit.status == "committed":
        output.note(result.commit.message)


def _print_for_tool(context: WorkspaceContext, session: LiveSession, tool: str, *, model: str) -> int:
    """Print the conversation as JSON for the AI tool that called; its next turns belong to the conversation."""
    conversations = context.conversations
    try:
        warnings = conversations.drift(session)
        native_id = surrounding_session(tool, context.environ)
        since = conversations.clock() if native_id else None
        conversations.note_tool(session, tool=tool, tool_session=native_id, tool_since=since, model=model)
        context.vouch(session, LinkedSession(tool, native_id), is_whole=False)
        output.data(_conversation_json(context, session, warnings=warnings))
    finally:
        session.release()
    return Exit.DONE


def _conversation_json(context: WorkspaceContext, session: LiveSession, *, warnings: list[str]) -> dict[str, object]:
    about, conversations = session.overview, context.conversations
    folder = conversations.folder_of(about.id)
    file = conversations.write_context(session) if about.turn_count else None
    return {
        "id": about.id,
        "conversation_id": folder.name,
        "type": type_of(about),
        "title": title_of(about),
        "status": about.status,
        "path": str(folder),
        "document": str(conversations.document_of(about)),
        "command": command_of(about),
        "tool": str(about.overrides.get("tool") or CHAT),
        "prompt": conversations.prompt_of(session),
        "context_file": str(file) if file is not None else "",
        "context_lines": file.read_bytes().count(b"\n") if file is not None else 0,
        "summary": about.summary,
        "warnings": warnings,
    }


def _import_missing_replies(context: WorkspaceContext, before: Overview) -> None:
    """Import what was said in an AI tool since: the terminal may have been closed while the tool ran."""
    if before.overrides.get("tool_session"):
        session = context.library.open(before.id)
        try:
            import_replies(context, session)
        finally:
            session.release()


def _choose_tool(context: WorkspaceContext, *recorded: tuple[str, str]) -> str:
    """The first AI tool of those recorded and the configured one that may be started here; else the built-in chat.

    Conversations and workspaces can come from other machines, so a tool that one of them names is started only if it
    was used here before, or if the user agrees.
    """
    for id, name in (*recorded, ("", context.workspace.config.tool)):
        if not name:
            continue
        if name == CHAT:
            break
        try:
            found = find_tool(name, context.environ).name
        except NotFoundError as error:
            output.warn(f"{error}; using another tool")
            continue
        marks = context.marks_of(id)
        if marks.has(STARTS, found):
            return found
        what = "conversation was last" if id else "workspace's conversations are"
        if confirm(f"This {what} in {found}, which was not used for it on this machine so far. Start {found}?"):
            marks.put(STARTS, found)
            return found
        output.warn(f"{found} was not started, since it was not chosen here; --tool {found} starts it")
    return CHAT


def _result_json(result: StopResult) -> dict[str, object]:
    commit = result.commit
    return {
        "id": result.id,
        "title": result.title,
        "status": result.status,
        "summary": result.summary,
        "message": result.message,
        "commit": {"status": commit.status, "hash": commit.commit, "words": commit.message} if commit else None,
        "notes": list(result.notes),
    }
