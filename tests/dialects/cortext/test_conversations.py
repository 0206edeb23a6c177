"""What people do in a workspace, over the real store and a real git."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import segue
from segue.chat.summary import summarize
from segue.dialects.cortext.conversations import Conversations
from segue.dialects.cortext.workspace import make_workspace
from segue.errors import NotFoundError, TransitionError, UsageError
from segue.git import find_repository

if TYPE_CHECKING:
    from pathlib import Path

    from segue.session import LiveSession

START = datetime(2025, 11, 22, 9, 0, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Room:
    """A workspace, and what was told beside what was asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock()
        self.told: list[str] = []
        self.servers: list[str] = []
        self.workspace = make_workspace(root)
        self.library = segue.open(self.workspace.url, clock=self.clock)

    @property
    def conversations(self) -> Conversations:
        return Conversations(
            self.workspace,
            self.library,
            clock=self.clock,
            repository=find_repository(self.root, environ=self.environ, trusted=True),
            summarize=summarize,
            mcp_tools=lambda _: self.servers,
            notify=self.told.append,
        )

    @property
    def environ(self) -> dict[str, str]:
        who = {f"GIT_{role}_{field}": "ada" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1", **who}

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self.environ, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def held(self, topic: str = "API design", type: str = "brainstorm", summary: str = "") -> str:
        """A conversation of two turns that was stopped; its id."""
        with self.conversations.start(type, topic) as session:
            say(session)
            self.conversations.stop(session, summary=summary)
        return session.id

    def document(self, id: str) -> Path:
        return self.conversations.document_of(self.library.overview(id))


def say(session: LiveSession, question: str = "REST or GraphQL?", answer: str = "REST is simpler.") -> None:
    session.add("user", question)
    session.add("assistant", answer)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


# ── Beginning ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_conversation_is_numbered_and_called_after_its_type_and_topic(room: Room) -> None:
    with room.conversations.start("brainstorm", " API \n design ") as first:
        assert first.id == "2025-11-22-001-brainstorm-api-design"
        assert first.title == "API design"
    with room.conversations.start("plan", "Größe") as second:
        assert second.id == "2025-11-22-002-plan-grosse"
    assert room.document(first.id).name == "brainstorm.md"
    assert b"<!-- segue:begin" in room.document(second.id).read_bytes()


def test_a_conversation_needs_a_topic_and_a_known_type(room: Room) -> None:
    with pytest.raises(UsageError, match="needs a topic"):
        room.conversations.start("plan", " \n")
    with pytest.raises(NotFoundError, match="no conversation type"):
        room.conversations.start("nonsense", "API design")
    assert room.library.list() == []


def test_what_the_agent_was_configured_with_is_recorded(room: Room) -> None:
    room.servers = ["files", "search"]
    with room.conversations.start("plan", "API", tool="codex", model="m-1", agent="openai") as session:
        pass
    config = json.loads((room.conversations.folder_of(session.id) / ".session" / "session.json").read_bytes())[
        "agent_config"
    ]
    assert config == {
        "command": "/workspace.plan",
        "system_prompt_hash": room.workspace.get_type("plan").hash,
        "model": "m-1",
        "tools": ["files", "search"],
        "tool": "codex",
    }


def test_going_on_in_another_tool_forgets_the_session_of_the_first(room: Room) -> None:
    with room.conversations.start("plan", "API", tool="codex", model="m-1") as session:
        room.conversations.note_tool(session, tool_session="native-1", tool_since=START)
        assert session.overview.overrides["tool_session"] == "native-1"
        room.conversations.note_tool(session, tool="segue")
        assert session.overview.overrides == {
            "tool": "segue",
            "mcp_tools": [],
            "model": "m-1",
            "command_tool": "codex",
        }


# ── Stopping ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_stopping_saves_the_summary_and_the_document(room: Room) -> None:
    id = room.held()
    about = room.library.overview(id)
    assert about.status == "paused"
    assert about.summary == "You asked: REST or GraphQL? Answer: REST is simpler."
    text = room.document(id).read_text(encoding="utf-8")
    assert text.index("## Summary") < text.index("REST or GraphQL?\n") < text.index("## 2. assistant")


def test_decisions_stand_in_the_document(room: Room) -> None:
    with room.conversations.start("plan", "API") as session:
        session.decide("Take\nREST")
        room.conversations.stop(session)
    assert "## Decisions\n\n- Take REST\n" in room.document(session.id).read_text(encoding="utf-8")


def test_stopping_again_changes_nothing(room: Room) -> None:
    id = room.held(summary="Where we were.")
    before, document = room.library.store.revision(id), room.document(id).read_bytes()
    with room.library.open(id) as session:
        room.conversations.stop(session, summary="Where we were.")
    assert (room.library.store.revision(id), room.document(id).read_bytes()) == (before, document)


def test_a_summary_stays_until_something_is_said(room: Room) -> None:
    """Whoever stops again, after going on without a word, has nothing to say that is better than a person's words."""
    id = room.held(summary="Waiting for Ada.")
    for _ in range(2):
        with room.library.resume(id) as session:
            assert room.conversations.stop(session).summary == "Waiting for Ada."
    with room.library.resume(id) as session:
        say(session, "What does Ada say?", "She says REST.")
        assert room.conversations.stop(session).summary == "You asked: What does Ada say? Answer: She says REST."


def test_a_summary_that_was_given_again_counts_for_all_that_was_said_before_it(room: Room) -> None:
    """A tool that was told to stop says a last word itself, which is taken over after the stop."""
    id = room.held(summary="Waiting for Ada.")
    with room.library.open(id) as session:
        session.add("assistant", "Session saved.")
        room.conversations.stop(session, summary="Waiting for Ada.")
        assert room.conversations.stop(session).summary == "Waiting for Ada."


def test_a_summary_that_a_person_wrote_into_the_file_stays(room: Room) -> None:
    id = room.held()
    path = room.document(id).parent / ".session" / "session.json"
    text = path.read_text(encoding="utf-8")
    found = json.loads(text)["context_summary"]
    path.write_text(text.replace(json.dumps(found), '"Ask Ada."', 1), encoding="utf-8")
    with room.library.open(id) as session:
        assert room.conversations.stop(session).summary == "Ask Ada."


def test_a_conversation_that_was_left_active_can_be_stopped(room: Room) -> None:
    session = room.conversations.start("plan", "API")
    session.release()
    assert room.conversations.entries()[0].status == "paused"
    with room.library.open(session.id) as again:
        room.conversations.stop(again)
    assert room.library.overview(session.id).status == "paused"


def test_what_is_completed_cannot_be_stopped(room: Room) -> None:
    id = room.held()
    with room.library.open(id) as session:
        assert room.conversations.complete(session).status == "completed"
        with pytest.raises(TransitionError, match="is completed and cannot become paused"):
            room.conversations.stop(session)
    assert room.library.overview(id).status == "completed"


def test_a_document_that_a_person_edited_is_left_alone_and_told(room: Room) -> None:
    id = room.held()
    path = room.document(id)
    edited = path.read_bytes().replace(b"REST is simpler.", b"REST is simpler!")
    path.write_bytes(edited)
    with room.library.open(id) as session:
        say(session)
        stopped = room.conversations.stop(session)
    assert path.read_bytes() == edited
    assert "between the two comments around the transcript was edited" in stopped.notes[0]
    assert room.library.load(id).turns[-1].content == "REST is simpler."


def test_what_a_person_wrote_around_the_block_stays(room: Room) -> None:
    id = room.held()
    path = room.document(id)
    path.write_bytes(b"Mine.\n" + path.read_bytes() + b"Mine, too.")
    with room.library.open(id) as session:
        say(session, "And then?")
        assert room.conversations.stop(session).notes == ()
    text = path.read_bytes()
    assert text.startswith(b"Mine.\n")
    assert text.endswith(b"Mine, too.")
    assert b"And then?" in text


def test_a_session_that_is_removed_leaves_the_document(room: Room) -> None:
    id = room.held()
    text = room.document(id).read_bytes()
    path = room.document(id)
    for file in sorted((path.parent / ".session").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    (path.parent / ".session").rmdir()
    assert room.conversations.entries() == []
    assert path.read_bytes() == text


# ── Finding ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_exact_id_wins_over_a_beginning_and_a_beginning_over_words(room: Room) -> None:
    short = room.held("API")
    long = room.held("API design")
    assert [entry.id for entry in room.conversations.find("001-brainstorm-api")] == [short]
    assert [entry.id for entry in room.conversations.find("002")] == [long]
    assert [entry.id for entry in room.conversations.find("2025-11-22")] == [long, short]
    assert [entry.id for entry in room.conversations.find("DESIGN api")] == [long]


def test_the_same_number_on_two_days_asks(room: Room) -> None:
    first = room.held("API")
    room.clock.now += timedelta(days=1)
    second = room.held("API")
    assert [entry.conversation_id for entry in room.conversations.find("001-brainstorm-api")] == [
        "001-brainstorm-api"
    ] * 2
    assert [entry.id for entry in room.conversations.find(second)] == [second]
    assert [entry.id for entry in room.conversations.entries()] == [second, first]


def test_all_words_are_looked_for_in_title_and_summary(room: Room) -> None:
    id = room.held("Login", summary="The token expires too early.")
    assert [entry.id for entry in room.conversations.find("login token")] == [id]
    assert room.conversations.find("login cookie") == []
    assert room.conversations.find(" ") == []


def test_a_search_sees_a_summary_that_has_changed(room: Room) -> None:
    id = room.held("Login", summary="The token.")
    conversations = room.conversations
    assert conversations.find("cookie") == []
    with room.library.open(id) as session:
        conversations.stop(session, summary="The cookie.")
    assert [entry.summary for entry in conversations.find("cookie")] == ["The cookie."]


def test_cards_are_chosen_by_type_and_status(room: Room) -> None:
    plan = room.held("API", "plan")
    room.held("API", "debug")
    with room.library.open(plan) as session:
        room.conversations.complete(session)
    assert [entry.id for entry in room.conversations.entries(type="plan")] == [plan]
    assert [entry.id for entry in room.conversations.entries(status="completed")] == [plan]
    assert room.conversations.entries(type="plan", status="paused") == []
    with pytest.raises(UsageError, match="no status 'done'"):
        room.conversations.entries(status="done")


def test_a_type_of_two_words_is_shown_whole(room: Room) -> None:
    types = room.root / ".workspace" / "types"
    types.mkdir()
    (types / "post-mortem.md").write_text("What went wrong?", encoding="utf-8")
    room.held("The outage", "post-mortem")
    assert [entry.type for entry in room.conversations.entries(type="post-mortem")] == ["post-mortem"]


def test_what_was_left_active_is_going_on_and_what_is_completed_is_not_unfinished(room: Room) -> None:
    left = room.conversations.start("plan", "Left")
    left.release()
    room.held("Paused")
    assert {entry.title: entry.is_unstopped for entry in room.conversations.unfinished()} == {
        "Left": True,
        "Paused": False,
    }
    with room.library.open(left.id) as session:
        room.conversations.complete(session)
    assert [entry.title for entry in room.conversations.unfinished()] == ["Paused"]


# ── Drift ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_told_where_nothing_has_changed(room: Room) -> None:
    with room.library.open(room.held()) as session:
        assert room.conversations.drift(session) == []


def test_missing_mcp_tools_are_named(room: Room) -> None:
    room.servers = ["files", "search"]
    id = room.held()
    room.servers = ["search", "more"]
    with room.library.open(id) as session:
        assert room.conversations.drift(session) == ["MCP tools that are no longer available: files"]


def test_a_command_that_is_gone_is_told(room: Room) -> None:
    types = room.root / ".workspace" / "types"
    types.mkdir()
    (types / "retro.md").write_text("Look back.", encoding="utf-8")
    id = room.held("The release", "retro")
    (types / "retro.md").unlink()
    with room.library.open(id) as session:
        assert "the command /workspace.retro does not exist any more" in room.conversations.drift(session)[0]
        assert room.conversations.prompt_of(session) == ""


# ── Git ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_our_files_are_committed(room: Room) -> None:
    room.git("init", "--quiet")
    (room.root / "other.txt").write_text("mine\n", encoding="utf-8")
    room.git("add", "other.txt")
    room.held()
    assert (
        room.git("log", "--format=%s")
        == "[session] Pause: API design\n[conversation] Initialize brainstorm: API design"
    )
    assert "other.txt" not in room.git("log", "--name-only", "--format=")
    assert room.git("status", "--porcelain", "other.txt") == "A  other.txt"
    assert ".lock" not in room.git("ls-files")


def test_a_title_cannot_become_an_option_of_git(room: Room) -> None:
    room.git("init", "--quiet")
    room.held("--amend -m \x1b[31m # hidden")
    assert room.git("log", "-1", "--format=%s") == "[session] Pause: --amend -m \\x1b[31m # hidden"


def test_a_commit_that_fails_costs_a_note_and_nothing_else(room: Room) -> None:
    room.git("init", "--quiet")
    hook = room.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not today' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    with room.conversations.start("plan", "API") as session:
        say(session)
        stopped = room.conversations.stop(session)
    assert stopped.commit is not None
    assert stopped.commit.status == "failed"
    assert "not today" in stopped.notes[-1]
    assert "not today" in room.told[0]
    assert room.library.overview(session.id).status == "paused"


def test_a_session_that_git_ignores_is_told_each_time_with_the_line_that_does(room: Room) -> None:
    room.git("init", "--quiet")
    (room.root / ".gitignore").write_text("*.bak\n.session/\n", encoding="utf-8")
    conversations = room.conversations
    with conversations.start("plan", "API") as session:
        say(session)
        stopped = conversations.stop(session)
    assert len(room.told) == 1
    assert ".session/session.json" in room.told[0]
    assert room.told[0].endswith("(.gitignore line 2: .session/)")
    assert stopped.notes == tuple(room.told)
    assert room.git("ls-files").endswith("001-plan-api/plan.md")
    with room.library.open(session.id) as session:
        (note,) = room.conversations.stop(session).notes  # another command, which has only the session to commit
    assert "not committed: git ignores " in note
    assert ".gitignore line 2: .session/" in note


def test_a_document_that_no_commit_has_yet_gets_into_the_next_one(room: Room) -> None:
    room.git("init", "--quiet")
    lock = room.root / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (1_700_000_000, 1_700_000_000))
    id = room.held()
    lock.unlink()
    with room.library.open(id) as session:
        room.conversations.stop(session)
    assert room.git("status", "--porcelain", "conversations") == ""


def test_where_only_the_session_changed_a_persons_edits_are_left_to_them(room: Room) -> None:
    room.git("init", "--quiet")
    id = room.held()
    path = room.document(id)
    path.write_bytes(b"Mine.\n" + path.read_bytes())
    with room.library.resume(id) as session:
        room.conversations.stop(session)
    assert room.git("log", "-1", "--format=%s") == "[session] session update: API design"
    assert room.git("status", "--porcelain").split() == ["M", str(path.relative_to(room.root)), "??", ".workspace/"]


def test_a_conversation_without_a_title_is_called_by_its_folder(room: Room) -> None:
    folder = room.root / "conversations" / "2026-01-05" / "001-plan-api" / ".session"
    folder.mkdir(parents=True)
    (folder / "session.json").write_text('{"conversation_id": "001-plan-api", "status": "active"}', encoding="utf-8")
    room.git("init", "--quiet")
    with room.library.open("2026-01-05-001-plan-api") as session:
        stopped = room.conversations.stop(session)
    assert 'Conversation "001-plan-api" has been paused.' in stopped.message
    assert room.git("log", "-1", "--format=%s").endswith(": 001-plan-api")
