"""A workspace of conversations: where they are, what people and git see of them, and what is left alone."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.cortext.store import CortextStore
from segue.errors import NotFoundError, ReadOnlyError, SegueError, StorageError
from segue.model import Metadata
from segue.testing.conformance.chapter import create_and_close, create_session, event_ids
from segue.testing.events import metadata, status, turn, turns
from segue.testing.failing import ReadOnlyKernel, WatchedKernel
from segue.testing.harness import snapshot_of
from segue.testing.harness_cortext import CortextHarness
from segue.testing.power import KilledError

if TYPE_CHECKING:
    from collections.abc import Callable

ID = "2026-01-02-001-plan-login"
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


class CountingKernel(WatchedKernel):
    bytes_read = 0

    def pass_on(self, name: str, call: Callable[..., object], *args: object) -> object:
        given = super().pass_on(name, call, *args)
        if isinstance(given, bytes):
            self.bytes_read += len(given)
        return given


@pytest.fixture
def store(root: Path) -> CortextStore:
    return CortextStore(str(root))


def folder_of(root: Path) -> Path:
    return root / "conversations" / "2026-01-02" / "001-plan-login"


def test_a_conversation_lies_where_cortext_looks_for_it(root: Path, store: CortextStore) -> None:
    create_and_close(store, *turns(1, 2), status("paused"), session_id=ID)
    folder = folder_of(root)
    assert sorted(path.name for path in folder.iterdir()) == [".session", "plan.md"]
    assert sorted(path.name for path in (folder / ".session").iterdir()) == ["messages.jsonl", "session.json"]
    found = json.loads((folder / ".session" / "session.json").read_bytes())
    ours = found.pop("segue")
    assert found == {
        "version": "1.0",
        "conversation_id": "001-plan-login",
        "conversation_type": "plan",
        "title": "Login bug",
        "status": "paused",
        "created_at": "2026-01-02T03:04:05.678900Z",
        "last_active": "2026-01-02T03:04:07.678900Z",
        "message_count": 2,
        "agent_config": {
            "command": "/workspace.plan",
            "system_prompt_hash": "",
            "model": "",
            "tools": [],
            "tool": "",
        },
        "context_summary": "",
    }
    assert [event["id"] for event in ours["events"]] == [f"{ID}-begins", "paused-0"]
    lines = [json.loads(line) for line in (folder / ".session" / "messages.jsonl").read_text().splitlines()]
    assert [list(line) for line in lines] == [["role", "content", "timestamp", "segue"]] * 2


def test_numbers_restart_daily_and_go_on_behind_the_highest(root: Path, store: CortextStore) -> None:
    assert store.new_id("Plan: the login", NOON, b"") == "2026-01-02-001-plan-the-login"
    create_and_close(store, session_id="2026-01-02-007-plan-x")
    folder_of(root).with_name("012-notes").mkdir()
    folder_of(root).with_name("draft").mkdir()
    assert store.new_id("debug", NOON, b"") == "2026-01-02-013-debug"
    assert store.new_id("debug", NOON.replace(day=3), b"") == "2026-01-03-001-debug"
    assert store.new_id("…", NOON, b"") == "2026-01-02-013-conversation"


def test_the_library_makes_conversations_of_the_day(root: Path) -> None:
    library = segue.open(f"cortext:{root}", clock=lambda: NOON)
    ids = []
    for topic in ("first", "second"):
        with library.create(agent=topic) as session:
            session.add("user", "Hi")
            ids.append(session.id)
    assert [one[:14] for one in ids] == ["2026-01-02-001", "2026-01-02-002"]


def test_the_document_belongs_to_people(root: Path, store: CortextStore) -> None:
    document = folder_of(root) / "plan.md"
    create_and_close(store, session_id=ID)
    assert document.read_text() == "# Login bug\n\n- type: plan\n- date: 2026-01-02\n"
    document.write_text("# My notes\n")
    with store.open(ID) as writer:
        writer.append(turn(1), status("completed"))
    store.delete(ID)
    assert document.read_text() == "# My notes\n"
    assert list(folder_of(root).iterdir()) == [document]
    create_and_close(store, turn(2), session_id=ID)
    assert document.read_text() == "# My notes\n"


def test_deleting_takes_the_stub_along_and_leaves_no_empty_folder(root: Path, store: CortextStore) -> None:
    with create_session(store, turn(1), session_id=ID) as writer:
        writer.put_blob(b"an image")
    store.delete(ID)
    assert not (root / "conversations" / "2026-01-02").exists()
    assert list(store.ids()) == []


def test_deleting_the_hidden_folder_by_hand_removes_the_session_and_nothing_else(
    root: Path, store: CortextStore
) -> None:
    create_and_close(store, turn(1), session_id=ID)
    for path in (folder_of(root) / ".session").iterdir():
        path.unlink()
    assert [*store.ids(), *store.heads()] == []
    with pytest.raises(NotFoundError):
        store.load(ID)
    assert (folder_of(root) / "plan.md").exists()
    create_and_close(store, turn(2), session_id=ID)
    assert event_ids(store, ID) == ["turn-2"]


def test_turns_without_a_session_json_are_kept_when_a_session_takes_their_place(
    root: Path, store: CortextStore
) -> None:
    create_and_close(store, turn(1), session_id=ID)
    hidden = folder_of(root) / ".session"
    left = (hidden / "messages.jsonl").read_bytes()
    (hidden / "session.json").unlink()
    create_and_close(store, turn(2), session_id=ID)
    assert event_ids(store, ID) == ["turn-2"]
    assert [path.read_bytes() for path in (root / ".workspace" / "quarantine").glob("*.fragment")] == [left]


def test_git_sees_the_conversation_and_not_the_locks(root: Path, store: CortextStore) -> None:
    create_and_close(store, turn(1), session_id=ID)
    with (folder_of(root) / ".session" / "messages.jsonl").open("a") as file:
        file.write('{"role": "us')
    store.open(ID).close()
    for name in ("locks", "quarantine"):
        assert (root / ".workspace" / name / ".gitignore").read_text() == "*\n"
    assert not list((root / "conversations").rglob("*.lock"))


def test_folders_that_are_no_conversations_are_nobodys_session(root: Path, store: CortextStore) -> None:
    conversations = root / "conversations"
    for name in ("2026-01-02/001-notes", "2026-01-02/002-x/.session", "drafts/001-x/.session", "other/.hidden"):
        (conversations / name).mkdir(parents=True)
    (conversations / "drafts" / "001-x" / ".session" / "session.json").write_text("{}")
    misplaced = conversations / "other" / "2026-01-02-001-x" / ".session"
    misplaced.mkdir(parents=True)
    (misplaced / "session.json").write_text("{}")
    (conversations / "2026-01-02" / "README.md").write_text("")
    (conversations / "2026-01-02" / "003-file").write_text("")
    assert [*store.ids(), *store.heads()] == []
    create_and_close(store, turn(1), session_id="2026-01-02-001-notes")
    assert list(store.ids()) == ["2026-01-02-001-notes"]


@pytest.mark.parametrize("where", ["conversations", "2026-01-02", "001-plan-login", ".session", "session.json"])
def test_a_link_is_never_followed_out(root: Path, where: str) -> None:
    elsewhere, workspace = root / "elsewhere", root / "workspace"
    create_and_close(CortextStore(str(elsewhere)), turn(1), session_id=ID)
    path = Path("conversations/2026-01-02/001-plan-login/.session/session.json")
    cut = path.parts.index(where) + 1
    link = workspace.joinpath(*path.parts[:cut])
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere.joinpath(*path.parts[:cut]))
    before = snapshot_of(elsewhere)
    store = CortextStore(str(workspace))
    with suppress(StorageError):
        assert all(head.damage for head in store.heads())
    for attempt in (store.load, store.open, store.recover):
        with pytest.raises(SegueError):
            attempt(ID)
    with suppress(SegueError):
        store.delete(ID)
    with suppress(SegueError):
        store.create(ID, [metadata(ID)]).close()
    assert snapshot_of(elsewhere) == before


def test_a_link_in_the_place_of_the_turns_is_damage(root: Path, store: CortextStore) -> None:
    create_and_close(store, turn(1), session_id=ID)
    messages = folder_of(root) / ".session" / "messages.jsonl"
    messages.rename(root / "aside")
    messages.symlink_to(root / "aside")
    with pytest.raises(StorageError):
        store.load(ID)
    assert [bool(head.damage) for head in store.heads()] == [True]
    assert store.examine(ID).damages


@pytest.mark.parametrize("kind", ["../../x", "a/b", ".hidden", "x" * 300, "wörd", ""])
def test_a_type_that_is_no_file_name_gives_the_document_a_plain_one(root: Path, store: CortextStore, kind: str) -> None:
    first = Metadata(
        session_id=ID, agent="", created_at=NOON, status="active", id="m", extra={"conversation_type": kind}
    )
    store.create(ID, [first]).close()
    assert [path.name for path in folder_of(root).glob("*.md")] == ["conversation.md" if kind else "plan.md"]
    store.delete(ID)
    assert not folder_of(root).exists()


def test_the_last_turns_cost_those_turns_alone(root: Path) -> None:
    create_and_close(CortextStore(str(root)), *[turn(number, "x" * 2000) for number in range(500)], session_id=ID)
    kernel = CountingKernel()
    store = CortextStore(str(root), kernel=kernel)
    assert [one.id for one in store.tail(ID, 3)] == ["turn-497", "turn-498", "turn-499"]
    assert store.overview(ID).turn_count == 500
    assert kernel.bytes_read < 40_000


def test_interrupted_is_shown_as_paused(root: Path, store: CortextStore) -> None:
    create_and_close(store, status("interrupted"), session_id=ID)
    found = json.loads((folder_of(root) / ".session" / "session.json").read_bytes())
    assert found["status"] == "paused"
    assert store.load(ID).status == "interrupted"


def test_the_model_of_the_last_turn_that_names_one_is_shown(root: Path) -> None:
    library = segue.open(f"cortext:{root}")
    with library.create(id=ID) as session:
        session.add("assistant", "Hi", model="o4")
        session.add("user", "Hello")
    found = json.loads((folder_of(root) / ".session" / "session.json").read_bytes())
    assert found["agent_config"]["model"] == "o4"
    assert found["message_count"] == 2


def test_a_listing_that_was_made_before_sees_what_a_killed_writer_left(root: Path) -> None:
    harness = CortextHarness(root)
    create_and_close(harness.make(), turn(1), session_id=ID)
    session = harness.file(ID, "session.json")
    os.utime(session, ns=(0, session.stat().st_mtime_ns - 10**9))  # long enough ago to be remembered
    listing = CortextStore(str(harness.root))
    assert [head.turn_count for head in listing.heads()] == [1]
    writer = harness.make().open(ID)
    harness.kernel.die_at(harness.kernel.calls + 3)
    with pytest.raises(KilledError):
        writer.append(turn(2))
    harness.kill()
    assert event_ids(harness.make(), ID) == ["turn-1", "turn-2"]
    assert [head.turn_count for head in listing.heads()] == [2]


def test_a_read_only_workspace_can_be_listed_and_read_and_nothing_is_attempted(root: Path) -> None:
    sound = CortextStore(str(root))
    create_and_close(sound, *turns(1, 3), session_id=ID)
    before = snapshot_of(root)
    kernel = ReadOnlyKernel()
    store = CortextStore(str(root), kernel=kernel)
    assert store.load(ID) == sound.load(ID)
    assert store.tail(ID, 2) == sound.tail(ID, 2)
    assert list(store.heads()) == list(sound.heads())
    assert list(store.ids()) == [ID]
    assert store.examine(ID).damages == ()
    assert store.owner(ID) is None
    assert kernel.attempts == []
    for refused in (store.open, store.delete, lambda name: store.create(f"{name}-2", [metadata(f"{name}-2")])):
        with pytest.raises(ReadOnlyError):
            refused(ID)
    assert snapshot_of(root) == before


def test_all_revisions_in_one_look_are_those_of_each(store: CortextStore) -> None:
    for name in ("2026-11-15-001-plan-a", "elsewhere"):
        create_and_close(store, *turns(1, 2), session_id=name)
    assert dict(store.revisions()) == {name: store.revision(name) for name in store.ids()}
