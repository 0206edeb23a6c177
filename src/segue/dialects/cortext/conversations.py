"""What people do in a workspace: begin a conversation, find one, stop it, complete it, and tell what it is about.

Free of terminals: the command `cortext` and the slash commands of the chat call the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.clock import utc_now
from segue.dialects.cortext.briefing import context_block, introduction, transcript
from segue.dialects.cortext.conversation_list import ConversationList, ConversationSummary
from segue.dialects.cortext.document import Written, write_block
from segue.dialects.cortext.format.names import CONVERSATION, split_id
from segue.dialects.cortext.format.stub import conversation_type
from segue.dialects.cortext.workspace import MARKER
from segue.durable.folder import Folder
from segue.durable.kernel import KERNEL
from segue.durable.lock import WriterLock
from segue.errors import ConflictError, DamagedError, NotFoundError, SegueError, UsageError
from segue.git import CommitResult
from segue.ids import is_id
from segue.model import Status, SummaryWritten, Turn, check_transition
from segue.presets import describe_drift
from segue.presets.drift import normalize_prompt
from segue.store import WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from segue.dialects.cortext.workspace import Workspace
    from segue.durable.kernel import Kernel
    from segue.git import Repository
    from segue.library import Library
    from segue.model import Overview
    from segue.session import LiveSession

CHAT = "segue"
"""The tool that is no tool: the built-in chat."""

_NUMBERS = ".numbers.lock"
"""The name of no session's lock."""
_LOOKED_AT = 12
"""Turns that a summary is made of."""
_CLOSED = "the hooks of this repository did not run, since it was neither made nor trusted here"
_VERBS: dict[Status, str] = {"paused": "Pause", "completed": "Complete"}


class Stopped(Struct, frozen=True, kw_only=True):
    """What came of stopping a conversation. It is saved whatever the notes say."""

    id: str
    title: str
    summary: str
    status: Status
    commit: CommitResult | None = None
    """None where nothing is committed here."""
    notes: tuple[str, ...] = ()
    """What else the person should know: of the document, and of git."""


class Conversations:
    """Those of one workspace.

    `repository` is None where nothing is to be committed. `summarise` says where a conversation stopped, in words of
    its own turns. `mcp_tools` names the MCP servers that a tool has. `tell` is told what went wrong beside what was
    asked for. `cache` is where the index of all sessions is.
    """

    def __init__(
        self,
        workspace: Workspace,
        library: Library,
        *,
        repository: Repository | None = None,
        clock: Callable[[], datetime] = utc_now,
        summarise: Callable[[Sequence[Turn]], str] = lambda _: "",
        mcp_tools: Callable[[str], Sequence[str]] = lambda _: (),
        notify: Callable[[str], None] = lambda _: None,
        cache: Folder | None = None,
        kernel: Kernel = KERNEL,
    ) -> None:
        self.workspace = workspace
        self.library = library
        self.clock = clock
        self._repository = repository
        self._summarise = summarise
        self._mcp_tools = mcp_tools
        self._notify = notify
        self._kernel = kernel
        self._cards = ConversationList(library, cache)
        self._settled: dict[str, int] = {}
        self._warned: set[str] = set()

    # ── Finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def cards(self, *, type: str = "", status: str = "") -> list[ConversationSummary]:
        """What there is, the last active first."""
        return self._cards.all(type=type, status=status)

    def find(self, words: str, *, type: str = "", status: str = "") -> list[ConversationSummary]:
        """By exact id, else by the beginning of one, else by all these words in title or summary."""
        return self._cards.find(words, type=type, status=status)

    def unfinished(self) -> list[ConversationSummary]:
        """Those that are not completed, and can be read, the last active first."""
        return self._cards.unfinished()

    def folder_of(self, id: str) -> Path:
        day, name = split_id(id)
        return self.workspace.root / "conversations" / day / name

    def document_of(self, about: Overview) -> Path:
        type = type_of(about)
        return self.folder_of(about.id) / f"{type if is_id(type) else CONVERSATION}.md"

    # ── Beginning and ending ─────────────────────────────────────────────────────────────────────────────────────────

    def begin(
        self,
        type: str,
        topic: str,
        *,
        tool: str = "",
        agent: str = "",
        model: str = "",
        mcp_tools: Sequence[str] | None = None,
    ) -> LiveSession:
        """A new conversation with its document, committed; the caller is its writer."""
        preset = self.workspace.get_type(type)
        title = " ".join(topic.split())
        if not title:
            raise UsageError("a conversation needs a topic", hint=f'as in: cortext new {type} "API design"')
        session = self._create(type, title)
        try:
            session.put_blob(normalize_prompt(preset.system_prompt).encode("utf-8", "surrogatepass"))
            session.use_preset(preset.name, hash=preset.hash)
            self.note_tool(session, tool=tool, agent=agent, model=model, mcp_tools=mcp_tools)
            written = self._write_document(session, add=True)
            outcome = self._commit(session, f"[conversation] Initialize {type}: {title}")
        except BaseException:
            session.release()
            raise
        for note in self._notes(written, outcome):
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
        """Record in which tool the conversation goes on, and with what; what is not said stays as it was.

        `tool_session` is the tool's own name for it. Where that session held other things before, `tool_since` says
        from when on it is ours.
        """
        known = session.overview.overrides
        tool = tool or str(known.get("tool") or "") or CHAT
        servers = self._mcp_tools(tool) if mcp_tools is None else mcp_tools
        values = dict(known) | {"tool": tool, "mcp_tools": list(servers)}
        if tool != known.get("tool") or tool_session not in {"", known.get("tool_session")}:
            values = {name: value for name, value in values.items() if name not in {"tool_session", "tool_since"}}
        since = tool_since.isoformat() if tool_since is not None else ""
        said = {"tool_session": tool_session, "tool_since": since, "agent": agent, "model": model}
        values |= {name: text for name, text in said.items() if text}
        if values != known:
            session.set_overrides(values)

    def stop(self, session: LiveSession, *, summary: str = "") -> Stopped:
        """Pause it, and bring document and repository up to date. Doing it again is doing it once."""
        return self._leave(session, "paused", summary)

    def complete(self, session: LiveSession, *, summary: str = "") -> Stopped:
        return self._leave(session, "completed", summary)

    def is_settled(self, session: LiveSession) -> bool:
        """Whether it was stopped here, and nothing has happened to it since."""
        return self._settled.get(session.id) == session.overview.seq

    def is_summed_up(self, session: LiveSession) -> bool:
        """Whether nothing was said after its summary was given: then it stays, whoever gave it."""
        summed, said = 0, 0
        for event in session.store.read(session.id):
            if isinstance(event, Turn):
                said = event.seq
            elif isinstance(event, SummaryWritten):
                summed = event.seq if event.content.strip() else 0
        return summed > said

    # ── Going on ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def prompt_of(self, session: LiveSession) -> str:
        """What the command of the conversation says now; empty if there is no such command any more."""
        preset = self.workspace.types().find(type_of(session.overview))
        return preset.system_prompt if preset is not None else ""

    def context_of(self, session: LiveSession) -> str:
        """What the conversation is, where it stopped, what was decided and what was said."""
        about = session.overview
        _, name = split_id(about.id)
        return context_block(session, conversation_id=name, type=type_of(about), command=command_of(about))

    def instructions_of(self, session: LiveSession) -> str:
        """What the command says now, then the context without the turns, for a tool that has these."""
        about = session.overview
        _, name = split_id(about.id)
        context = introduction(about, conversation_id=name, type=type_of(about), command=command_of(about))
        return "\n\n".join(filter(None, [self.prompt_of(session), context]))

    def drift(self, session: LiveSession) -> list[str]:
        """What is not as it was when the conversation was held last: its prompt, its MCP tools."""
        about, found = session.overview, list[str]()
        preset = self.workspace.types().find(type_of(about))
        if preset is None:
            found.append(f"the command {command_of(about)} is not here any more, so its instructions are missing")
        elif about.preset is not None and (changed := describe_drift(about.preset.hash, _old_prompt(session), preset)):
            found.append(changed)
        had = about.overrides.get("mcp_tools")
        now = self._mcp_tools(str(about.overrides.get("tool") or CHAT))
        missing = [str(name) for name in had if name not in now] if isinstance(had, list) else []
        if missing:
            found.append(f"MCP tools that are not available any more: {', '.join(missing)}")
        return found

    # ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _create(self, type: str, title: str) -> LiveSession:
        """Numbers are found by looking, so whoever begins a conversation keeps the others from looking meanwhile."""
        locks = Folder(os.path.realpath(self.workspace.root), self._kernel).sub(MARKER).sub("locks")
        lock = WriterLock.acquire(locks, _NUMBERS, timeout_seconds=WAIT_SECONDS, since=self.clock())
        if not isinstance(lock, WriterLock):
            raise ConflictError("many conversations are being begun at once", hint="try again")
        try:
            id = self.library.store.new_id(f"{type} {title}", self.clock(), os.urandom(16))
            extra: dict[str, object] = {"conversation_type": type, "command": f"/workspace.{type}"}
            return self.library.create(agent=type, title=title, id=id, extra=extra)
        finally:
            lock.release()

    def _leave(self, session: LiveSession, status: Status, summary: str) -> Stopped:
        is_left = session.status == "interrupted"  # by a tool that held no lock, or by a crash
        check_transition(session.id, "active" if is_left else session.status, status)
        given, is_summed_up = summary.strip(), self.is_summed_up(session)
        text = given or ("" if is_summed_up else self._summarise(session.tail(_LOOKED_AT)))
        if text and (text != session.overview.summary or not is_summed_up):
            session.summarize(text)
        if is_left:
            session.resume()
        if status == "completed":
            session.complete()
        else:
            session.pause()
        written = self._write_document(session)
        if written.changed or status == "completed":
            outcome = self._commit(session, f"[session] {_VERBS[status]}: {session.title}")
        else:  # whatever a person wrote into the document meanwhile is theirs to commit
            outcome = self._commit(session, f"[session] session update: {session.title}", ".session")
        self._settled[session.id] = session.overview.seq
        return Stopped(
            id=session.id,
            title=session.title,
            summary=session.overview.summary,
            status=status,
            commit=outcome,
            notes=self._notes(written, outcome),
        )

    def _write_document(self, session: LiveSession, *, add: bool = False) -> Written:
        """The session is the record; a document that cannot be written costs a note."""
        about = session.overview
        path = self.document_of(about)
        sections = [
            f"## Summary\n\n{about.summary}" if about.summary else "",
            "\n".join(["## Decisions", "", *(f"- {' '.join(one.content.split())}" for one in about.decisions)])
            if about.decisions
            else "",
            transcript(about, session.turns),
        ]
        body = "\n\n".join(section for section in sections if section)
        try:
            return write_block(Folder(os.fspath(path.parent), self._kernel), path.name, body, add=add)
        except SegueError as error:
            return Written(problem=f"{path.name} was left as it is: {error}")

    def _commit(self, session: LiveSession, message: str, part: str = "") -> CommitResult | None:
        if self._repository is None:
            return None
        folder = self.folder_of(session.id)
        kept = [folder / ".session" / name for name in ("session.json", "messages.jsonl")]
        needed = [*kept, self.document_of(session.overview)]
        return self._repository.commit([folder / part], message, needed=needed)

    def _notes(self, written: Written, outcome: CommitResult | None) -> tuple[str, ...]:
        """What a person should know; of what is so for every commit here, once."""
        notes = [written.problem]
        if outcome is not None:
            closed = f"{_CLOSED}; cortext init asks whether they may" if outcome.hooks_skipped else ""
            lasting = [note for note in (*outcome.warnings, closed) if note not in self._warned]
            self._warned.update(lasting)
            notes += lasting
            if outcome.status == "failed":
                notes.append("; ".join(filter(None, [outcome.message, outcome.hint])))
        return tuple(note for note in notes if note)


def type_of(about: Overview) -> str:
    return conversation_type(about.extra, split_id(about.id)[1])


def command_of(about: Overview) -> str:
    said = about.extra.get("command")
    return said if isinstance(said, str) and said else f"/workspace.{type_of(about)}"


def _old_prompt(session: LiveSession) -> str | None:
    recorded = session.overview.preset
    try:
        return session.get_blob(recorded.hash).decode("utf-8", "surrogatepass") if recorded and recorded.hash else None
    except (NotFoundError, DamagedError, UnicodeDecodeError):
        return None
