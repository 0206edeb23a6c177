"""What is peculiar to the store: names, the project context, other programs in the same folder."""

from __future__ import annotations

import errno
import json
import os
import re
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

import segue
from segue.dialects.soleur.store import SoleurStore
from segue.errors import ConflictError, DamagedError, ReadOnlyError, StorageError, UsageError, WriterStoppedError
from segue.store import Durability
from segue.testing.conformance.chapter import ID, create_and_close, create_session, event_ids
from segue.testing.events import turn, turns
from segue.testing.failing import FailingKernel, Fault

if TYPE_CHECKING:
    from pathlib import Path

    from segue.library import Library


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return segue.open(f"soleur:{tmp_path}")


def shown(root: Path, session_id: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((root / f"{session_id}.json").read_bytes())
    return found


# ── Names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_session_without_an_id_gets_a_random_uuid(library: Library, tmp_path: Path) -> None:
    with library.create(agent="brainstormer") as session:
        assert UUID(session.id).version == 4
        assert str(UUID(session.id)) == session.id
    assert shown(tmp_path, session.id)["id"] == session.id
    with library.create(agent="brainstormer") as other:
        assert other.id != session.id


def test_other_files_in_the_folder_are_nobodys_sessions(library: Library, tmp_path: Path) -> None:
    for name in ("notes.txt", ".hidden.json", "a b.json", "x.json.corrupt", ".json"):
        (tmp_path / name).write_text("{}")
    assert library.list() == []


def test_a_folder_is_not_made_by_looking(tmp_path: Path) -> None:
    assert segue.open(f"soleur:{tmp_path}/new").list() == []
    assert not (tmp_path / "new").exists()
    with pytest.raises(UsageError, match="does not name a folder"):
        segue.open("soleur:")


def test_every_append_is_synced_whatever_is_asked_for(tmp_path: Path) -> None:
    with segue.open(f"soleur:{tmp_path}", durability=Durability.WRITTEN).create() as session:
        assert session.add("user", "Hello").durability == Durability.SYNCED


# ── The project context ──────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_attached_is_shown_as_project_context(library: Library, tmp_path: Path) -> None:
    with library.create() as session:
        assert shown(tmp_path, session.id)["project_context"] is None
        session.attach("README.md", "# Login ü\n".encode())
        assert shown(tmp_path, session.id)["project_context"] == "# Login ü\n"
        session.add("user", "Hello")
        session.attach("logo.png", b"\xff\xfe")
        assert shown(tmp_path, session.id)["project_context"] == "# Login ü\n"
        session.attach("TODO.md", b"all")
        session.attach("README.md", b"# Logout\n")
        assert shown(tmp_path, session.id)["project_context"] == "# README.md\n\n# Logout\n\n\n# TODO.md\n\nall"
    assert len(library.load(session.id).attachments) == 4


def test_context_that_soleur_gave_can_be_had_as_an_attachment(library: Library, tmp_path: Path) -> None:
    with library.create(id="s1") as session:
        session.add("user", "Hello")
    found = shown(tmp_path, "s1")
    found["project_context"] = "# Login\n"
    (tmp_path / "s1.json").write_text(json.dumps(found))
    before = (tmp_path / "s1.json").read_bytes()
    (attached,) = library.load("s1").attachments
    assert library.store.get_blob("s1", attached.hash) == b"# Login\n"
    assert (tmp_path / "s1.json").read_bytes() == before
    assert not (tmp_path / ".blobs").exists()
    with library.open("s1") as session:
        session.attach("TODO.md", b"all")
    assert shown(tmp_path, "s1")["project_context"] == "# project_context\n\n# Login\n\n\n# TODO.md\n\nall"
    assert library.store.get_blob("s1", attached.hash) == b"# Login\n"
    assert len(library.load("s1").attachments) == 2


# ── Other programs ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_others_added_is_kept_by_whoever_writes_on(library: Library, tmp_path: Path) -> None:
    with library.create(id="s1") as session:
        session.add("user", "One", tokens=1)
    found = shown(tmp_path, "s1")
    assert isinstance(found["messages"], list)
    found["messages"].append(
        {"role": "assistant", "content": "Two", "timestamp": "2026-01-05T09:30:00", "mood": "calm"}
    )
    found["theme"] = "dark"
    (tmp_path / "s1.json").write_text(json.dumps(found))
    assert library.list()[0].turn_count == 2
    with library.resume("s1") as session:
        session.add("user", "Three")
    after = shown(tmp_path, "s1")
    assert isinstance(after["messages"], list)
    assert [message["content"] for message in after["messages"]] == ["One", "Two", "Three"]
    assert after["messages"][1] == found["messages"][1]
    assert after["theme"] == "dark"
    loaded = library.load("s1")
    assert [one.tokens for one in loaded.turns] == [1, None, None]
    assert [event.type for event in loaded.unknown] == ["edited"]


def test_a_writer_notices_another_program_and_overwrites_nothing(tmp_path: Path) -> None:
    store = SoleurStore(str(tmp_path))
    with create_session(store, turn(1)) as writer:
        found = shown(tmp_path, ID)
        found["agent_type"] = "other"
        (tmp_path / f"{ID}.json").write_text(json.dumps(found))
        with pytest.raises(ConflictError):
            writer.append(turn(2))
        with pytest.raises(WriterStoppedError):
            writer.append(turn(2))
    assert shown(tmp_path, ID) == found
    with store.open(ID) as writer:
        assert writer.overview.agent == "other"
        assert writer.append(turn(2)).seqs == (3,)


def test_a_writer_whose_file_is_gone_makes_no_new_one(tmp_path: Path) -> None:
    with create_session(SoleurStore(str(tmp_path)), turn(1)) as writer:
        (tmp_path / f"{ID}.json").unlink()
        with pytest.raises(ConflictError):
            writer.append(turn(2))
    assert not (tmp_path / f"{ID}.json").exists()


def test_a_correction_of_one_letter_is_an_edit_once_the_sum_is_emptied(tmp_path: Path) -> None:
    store = SoleurStore(str(tmp_path))
    create_and_close(store, turn(1, "teh token"))
    path = tmp_path / f"{ID}.json"
    path.write_bytes(path.read_bytes().replace(b"teh token", b"tea token"))
    with pytest.raises(DamagedError, match="one byte changed: 'h' became 'a'"):
        store.load(ID)
    path.write_bytes(re.sub(rb'"sum": "[0-9a-f]+-.*"', b'"sum": ""', path.read_bytes()))
    assert [one.content for one in store.load(ID).turns] == ["tea token"]


def test_a_file_with_a_newer_layout_can_be_read_and_not_written(tmp_path: Path) -> None:
    store = SoleurStore(str(tmp_path))
    create_and_close(store, turn(1))
    found = shown(tmp_path, ID)
    assert isinstance(found["segue"], dict)
    found["segue"]["version"] = 2
    (tmp_path / f"{ID}.json").write_text(json.dumps(found))
    assert event_ids(store) == ["turn-1"]
    with pytest.raises(ReadOnlyError):
        store.open(ID)


def test_what_can_be_read_of_a_file_that_was_cut_off_is_recovered(tmp_path: Path) -> None:
    store = SoleurStore(str(tmp_path))
    create_and_close(store, *turns(1, 5))
    path = tmp_path / f"{ID}.json"
    whole = path.read_bytes()
    cut = whole[: whole.index(b"turn 5")]
    path.write_bytes(cut)
    recovery = store.recover(ID)
    assert [one.content for one in recovery.session.turns] == [one.content for one in turns(1, 4)]
    assert (tmp_path / f"{ID}.json.corrupt").read_bytes() == cut


def test_what_is_no_session_at_all_is_listed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"theme": "dark"}')
    store = SoleurStore(str(tmp_path))
    assert [(head.id, head.damage) for head in store.heads()] == [("config", "config.json: it has no messages")]
    with pytest.raises(DamagedError):
        store.recover("config")
    assert sorted(os.listdir(tmp_path)) == [".locks", "config.json"]


# ── The machine ──────────────────────────────────────────────────────────────────────────────────────────────────────


def calls_of_an_append(root: Path) -> list[str]:
    kernel = FailingKernel()
    with create_session(SoleurStore(str(root), kernel=kernel)) as writer:
        kernel.calls.clear()
        writer.append(turn(1))
        return list(kernel.calls)


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_whichever_call_of_an_append_fails_it_is_all_or_nothing(tmp_path: Path, error: int) -> None:
    calls = calls_of_an_append(tmp_path / "counted")
    for at in range(1, len(calls) + 1):
        kernel = FailingKernel()
        root = tmp_path / str(at)
        store = SoleurStore(str(root), kernel=kernel)
        with create_session(store, turn(1)) as writer:
            kernel.arm(Fault(at=at, error=error))
            try:
                writer.append(turn(2))
            except StorageError:
                expected = ["turn-1"]
            else:
                expected = ["turn-1", "turn-2"]
            kernel.mend()
            assert event_ids(store) == expected
        assert event_ids(SoleurStore(str(root))) == expected
        with store.open(ID) as writer:
            writer.append(turn(3))
        assert event_ids(store) == [*expected, "turn-3"]


def test_an_append_makes_one_sync_of_the_file_and_one_of_the_folder(tmp_path: Path) -> None:
    calls = calls_of_an_append(tmp_path)
    assert [call for call in calls if call in {"fdatasync", "rename", "fsync"}] == ["fdatasync", "rename", "fsync"]


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    store = SoleurStore(str(tmp_path / "sessions"))
    with create_session(store, turn(1)) as writer:
        writer.append(turn(2))
    assert (tmp_path / "sessions").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "sessions" / f"{ID}.json").stat().st_mode & 0o777 == 0o600
