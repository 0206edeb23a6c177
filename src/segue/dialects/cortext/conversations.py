"""What users do in a workspace: start a conversation, find one, stop it, complete it, and describe it to an agent.

It needs no terminal: the command `cortext` and the slash commands of the chat call the same functions.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from segue.chat.summary import summarize
from segue.clock import utc_now
from segue.console.paths import trust_folder
from segue.dialects.cortext.command_prompts import COMMAND_TOOL, preset_of
from segue.dialects.cortext.conversation_list import ConversationEntry, ConversationList
from segue.dialects.cortext.document import BlockResult, render_body, render_context, render_introduction, write_block
from segue.dialects.cortext.format.names import CONVERSATION, conversation_type, split_id
from segue.dialects.cortext.stop_result import StopResult
from segue.dialects.cortext.store.store import CONTEXT, CONTEXT_SUFFIX, exclude_from_git
from segue.dialects.cortext.workspace import MARKER
from segue.durable.folder import Folder
from segue.durable.kernel import KERNEL
from segue.durable.lock import WriterLock
from segue.errors import ConflictError, DamagedError, NotFoundError, SegueError, UsageError
from segue.git import find_repository, is_trusted
from segue.ids import is_id
from segue.integrations import INTEGRATIONS
from segue.integrations.shared.mcp_config import find_mcp_servers
from segue.model import SummaryWritten, Turn, check_transition
from segue.presets import describe_drift
from segue.presets.drift import normalize_prompt
from segue.store import WAIT_SECONDS
from segue.trust import Trust
from segue.user_folders import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from segue.dialects.cortext.workspace import Workspace
    from segue.durable.kernel import Kernel
    from segue.git import CommitResult, Repository
    from segue.library import Library
    from segue.model import Overview, Status
    from segue.session import LiveSession

CHAT = "segue"
"""The name of the built-in chat, where an AI tool can be named."""

_NUMBERS_LOCK = ".numbers.lock"
"""It has a dot in front, so that it is never the lock of a session."""
_SUMMARIZED_TURNS = 12
_HURRY_SECONDS = 3.0
"""For git, when the process must end soon: a machine that shuts down kills it some seconds later."""
_HOOKS_SKIPPED = "the hooks of this repository were not run, since it was neither made nor trusted here"
_VERBS: dict[str, str] = {"paused": "Pause", "completed": "Complete"}


def open_conversations(
    workspace: Workspace,
    library: Library,
    *,
    environ: Mapping[str, str],
    home: Path,
    notify: Callable[[str], None],
    commit: bool = True,
) -> Conversations:
    """The conversations of a workspace, with the git repository and the MCP servers of this machine.

    Without `commit`, nothing is committed, regardless of the configuration of the workspace.
    """

    def mcp_tools(tool: str) -> Sequence[str]:
        found = find_mcp_servers(INTEGRATIONS.get(tool), workspace.root, home, environ)
        for problem in found.problems:
            notify(str(problem))
        return found.names

    repository = find_repository(workspace.root, environ=environ) if commit and workspace.config.commit else None
    if repository is not None:
        repository = replace(repository, trusted=is_trusted(repository.location, Trust(trust_folder())))
    return Conversations(
        workspace,
        library,
        repository=repository,
        summarize=summarize,
        mcp_tools=mcp_tools,
        notify=notify,
        cache=cache_folder(),
    )


class Conversations:
    """The conversations of one workspace.

    `repository` is None where nothing is committed. `summarize` describes where a conversation stopped from its last
    turns. `mcp_tools` lists the MCP servers of an AI tool. `notify` receives problems that do not stop an operation.
    `cache` is the folder of the index.
    """

    def __init__(
        self,
        workspace: Workspace,
        library: Library,
        *,
        repository: Repository | None = None,
        clock: Callable[[], datetime] = utc_now,
        summarize: Callable[[Sequence[Turn]], str] = lambda _: "",
        mcp_tools: Callable[[str], Sequence[str]] = lambda _: (),
        notify: Callable[[str], None] = lambda _: None,
        cache: Folder | None = None,
        kernel: Kernel = KERNEL,
    ) -> None:
        self.workspace = workspace
        self.library = library
        self.clock = clock
        self._repository = repository
        self._summarize = summarize
        self._mcp_tools = mcp_tools
        self._notify = notify
        self._kernel = kernel
        self._list = ConversationList(library, cache)
        self._stopped_at: dict[str, int] = {}
        """The last event of each conversation that was stopped here."""
        self._reported: set[str] = set()

    # ── Finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def entries(self, *, type: str = "", status: str = "") -> list[ConversationEntry]:
        """All conversations of this type and status, the last active first."""
        return self._list.all(type=type, status=status)

    def find(self, words: str, *, type: str = "", status: str = "") -> list[ConversationEntry]:
        """The one with this id, else those whose id begins so, else those with all words in title or summary."""
        return self._list.find(words, type=type, status=status)

    def unfinished(self) -> list[ConversationEntry]:
        """Those that are not completed, and can be read, the last active first."""
        return [entry for entry in self.entries() if entry.status != "completed" and not entry.damage]

    def folder_of(self, id: str) -> Path:
        day, name = split_id(id)
        return self.workspace.root / "conversations" / day / name

    def document_of(self, about: Overview) -> Path:
        type = type_of(about)
        return self.folder_of(about.id) / f"{type if is_id(type) else CONVERSATION}.md"

    # ── Starting and stopping ────────────────────────────────────────────────────────────────────────────────────────

    def start(
        self,
        type: str,
        topic: str,
        *,
        tool: str = "",
        agent: str = "",
        model: str = "",
        mcp_tools: Sequence[str] | None = None,
    ) -> LiveSession:
        """Create a conversation with its document, and commit both. The caller is its writer."""
        self.workspace.get_type(type)
        title = " ".join(topic.split())
        if not title:
            raise UsageError("a conversation needs a topic", hint=f'as in: cortext new {type} "API design"')
        session = self._create(type, title)
        try:
            self.note_tool(session, tool=tool, agent=agent, model=model, mcp_tools=mcp_tools)
            written = self._write_document(session, add=True)
            committed = self._commit(session, f"[conversation] Initialize {type}: {title}")
        except BaseException:
            session.release()
            raise
        for note in self._notes(written, committed):
            self._notify(note)
        return session

    def note_tool(
        self,
        session: LiveSession,
        *,
        tool: str = "",
        tool_session: str = "",
        tool_since: datetime | None = None,
        agent: str = "",
        model: str = "",
        mcp_tools: Sequence[str] | None = None,
    ) -> None:
        """Record in which AI tool the conversation continues, and with which instructions and settings.

        Empty settings stay unchanged.

        `tool_session` is the id of the tool's own session. If that session was used for something else before,
        `tool_since` is when our part of it begins.
        """
        known = session.overview.overrides
        tool = tool or str(known.get("tool") or "") or CHAT
        servers = self._mcp_tools(tool) if mcp_tools is None else mcp_tools
        values = dict(known) | {"tool": tool, "mcp_tools": list(servers)}
        if "tool" not in known:  # it starts here
            values[COMMAND_TOOL] = tool
        if tool != known.get("tool") or tool_session not in {"", known.get("tool_session")}:
            values = {name: value for name, value in values.items() if name not in {"tool_session", "tool_since"}}
        since = tool_since.isoformat() if tool_since is not None else ""
        given = {"tool_session": tool_session, "tool_since": since, "agent": agent, "model": model}
        values |= {name: text for name, text in given.items() if text}
        if values != known:
            session.set_overrides(values)
        preset, recorded = preset_of(self.workspace, session.overview), session.overview.preset
        if preset is not None and (recorded is None or recorded.hash != preset.hash):
            session.put_blob(normalize_prompt(preset.system_prompt).encode("utf-8", "surrogatepass"))
            session.use_preset(preset.name, hash=preset.hash)

    def stop(self, session: LiveSession, *, summary: str = "", is_hurried: bool = False) -> StopResult:
        """Pause a conversation, and bring its document and the repository up to date. Repeating it changes nothing.

        With `is_hurried`, since the process must end soon, git gets a few seconds instead of a minute.
        """
        return self._stop(session, "paused", summary, is_hurried=is_hurried)

    def complete(self, session: LiveSession, *, summary: str = "") -> StopResult:
        """Mark a conversation as completed, and bring its document and the repository up to date."""
        return self._stop(session, "completed", summary)

    def is_stopped(self, session: LiveSession) -> bool:
        """Whether it was stopped here, and nothing has happened to it since."""
        return self._stopped_at.get(session.id) == session.overview.seq

    def has_current_summary(self, session: LiveSession) -> bool:
        """Whether its summary is newer than its last turn: then the summary stays."""
        summarized, last_turn = 0, 0
        for event in session.store.read(session.id):
            if isinstance(event, Turn):
                last_turn = event.seq
            elif isinstance(event, SummaryWritten):
                summarized = event.seq if event.content.strip() else 0
        return summarized > last_turn

    # ── Resuming ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def prompt_of(self, session: LiveSession) -> str:
        """The current prompt of its command; empty if the command does not exist any more."""
        preset = preset_of(self.workspace, session.overview)
        return preset.system_prompt if preset is not None else ""

    def write_context(self, session: LiveSession) -> Path:
        """Write where the conversation stopped, what was decided, and its turns into a file for an AI tool.

        A tool cuts long output of a command, and its file goes when the conversation is stopped.
        """
        about = session.overview
        _, name = split_id(about.id)
        summary = about.summary or self._summarize(session.tail(_SUMMARIZED_TURNS))
        text = render_context(
            session, conversation_id=name, type=type_of(about), command=command_of(about), summary=summary
        )
        folder = self._contexts
        exclude_from_git(folder)
        folder.replace(f"{about.id}{CONTEXT_SUFFIX}", text.encode("utf-8", "backslashreplace"))
        return Path(folder.path_of(f"{about.id}{CONTEXT_SUFFIX}"))

    def instructions_of(self, session: LiveSession) -> str:
        """The current prompt of its command, then the context without the turns, for an AI tool that has them."""
        about = session.overview
        _, name = split_id(about.id)
        context = render_introduction(about, conversation_id=name, type=type_of(about), command=command_of(about))
        return "\n\n".join(filter(None, [self.prompt_of(session), context]))

    def drift(self, session: LiveSession) -> list[str]:
        """What has changed since the conversation was last active: its prompt, its MCP tools."""
        about, found = session.overview, list[str]()
        preset = preset_of(self.workspace, about)
        if preset is None:
            found.append(f"the command {command_of(about)} does not exist any more, so its instructions are missing")
        elif about.preset is not None and (changed := describe_drift(about.preset.hash, _old_prompt(session), preset)):
            found.append(changed)
        had = about.overrides.get("mcp_tools")
        now = self._mcp_tools(str(about.overrides.get("tool") or CHAT))
        missing = [str(name) for name in had if name not in now] if isinstance(had, list) else []
        if missing:
            found.append(f"MCP tools that are no longer available: {', '.join(missing)}")
        return found

    # ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _own_folder(self) -> Folder:
        return Folder(os.path.realpath(self.workspace.root), self._kernel).sub(MARKER)

    @property
    def _contexts(self) -> Folder:
        return self._own_folder.sub(CONTEXT)

    def _create(self, type: str, title: str) -> LiveSession:
        """Under a lock, since the next free number is found by listing the folders."""
        locks = self._own_folder.sub("locks")
        lock = WriterLock.acquire(locks, _NUMBERS_LOCK, timeout_seconds=WAIT_SECONDS, since=self.clock())
        if not isinstance(lock, WriterLock):
            raise ConflictError("other processes are starting conversations at this moment", hint="try again")
        try:
            id = self.library.store.new_id(f"{type} {title}", self.clock(), os.urandom(16))
            extra: dict[str, object] = {"conversation_type": type, "command": f"/workspace.{type}"}
            return self.library.create(agent=type, title=title, id=id, extra=extra)
        finally:
            lock.release()

    def _stop(self, session: LiveSession, status: Status, summary: str, *, is_hurried: bool = False) -> StopResult:
        is_interrupted = session.status == "interrupted"  # by a tool that held no lock, or by a crash
        check_transition(session.id, "active" if is_interrupted else session.status, status)
        given, has_summary = summary.strip(), self.has_current_summary(session)
        text = given or ("" if has_summary else self._summarize(session.tail(_SUMMARIZED_TURNS)))
        if text and (text != session.overview.summary or not has_summary):
            session.summarize(text)
        if is_interrupted:
            session.resume()
        if status == "completed":
            session.complete()
        else:
            session.pause()
        self._contexts.discard(f"{session.id}{CONTEXT_SUFFIX}")
        written, title = self._write_document(session), title_of(session.overview)
        if written.changed or status == "completed":
            committed = self._commit(session, f"[session] {_VERBS[status]}: {title}", is_hurried=is_hurried)
        else:  # what the user wrote into the document meanwhile is theirs to commit
            message = f"[session] session update: {title}"
            committed = self._commit(session, message, ".session", is_hurried=is_hurried)
        self._stopped_at[session.id] = session.overview.seq
        return StopResult(
            id=session.id,
            title=title,
            summary=session.overview.summary,
            status=status,
            commit=committed,
            notes=self._notes(written, committed),
        )

    def _write_document(self, session: LiveSession, *, add: bool = False) -> BlockResult:
        """Failing to write the document is only a note: the session is the record."""
        about = session.overview
        path = self.document_of(about)
        body = render_body(about, session.turns)
        try:
            return write_block(Folder(os.fspath(path.parent), self._kernel), path.name, body, add=add)
        except SegueError as error:
            return BlockResult(problem=f"{path.name} was left unchanged: {error}")

    def _commit(
        self, session: LiveSession, message: str, part: str = "", *, is_hurried: bool = False
    ) -> CommitResult | None:
        repository = self._repository
        if repository is None:
            return None
        if is_hurried:
            repository = replace(repository, timeout_seconds=_HURRY_SECONDS, wait_seconds=_HURRY_SECONDS)
        folder = self.folder_of(session.id)
        files = [folder / ".session" / name for name in ("session.json", "messages.jsonl")]
        needed = [*files, self.document_of(session.overview)]
        return repository.commit([folder / part], message, needed=needed)

    def _notes(self, written: BlockResult, committed: CommitResult | None) -> tuple[str, ...]:
        """What the user should know; that hooks are skipped is reported once, what is not committed each time."""
        notes = [written.problem]
        if committed is not None:
            skipped = f"{_HOOKS_SKIPPED}; cortext init asks whether to run them" if committed.hooks_skipped else ""
            notes += [*committed.warnings, "" if skipped in self._reported else skipped]
            self._reported.add(skipped)
            if committed.status == "failed":
                notes.append("; ".join(filter(None, [committed.message, committed.hint])))
        return tuple(note for note in notes if note)


def type_of(about: Overview) -> str:
    return conversation_type(about.extra, split_id(about.id)[1])


def title_of(about: Overview) -> str:
    """Its title; the name of its folder if it has none, as in files of other programs."""
    return " ".join(about.title.split()) or split_id(about.id)[1]


def command_of(about: Overview) -> str:
    command = about.extra.get("command")
    return command if isinstance(command, str) and command else f"/workspace.{type_of(about)}"


def _old_prompt(session: LiveSession) -> str | None:
    recorded = session.overview.preset
    try:
        return session.get_blob(recorded.hash).decode("utf-8", "surrogatepass") if recorded and recorded.hash else None
    except (NotFoundError, DamagedError, UnicodeDecodeError):
        return None
