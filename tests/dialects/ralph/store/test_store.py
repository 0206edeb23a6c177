"""The store in a place that others may write to: the folder must be ours, and what is in it is not lost."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

import segue
from segue.dialects.ralph.store import RalphStore
from segue.errors import StorageError
from segue.testing.events import metadata, turn

if TYPE_CHECKING:
    from pathlib import Path

ID = "s1"


def refused(root: Path, why: str) -> None:
    with pytest.raises(StorageError, match=why) as caught:
        RalphStore(str(root))
    assert caught.value.hint == "make it a folder of your own with mode 0700, or name another folder"


def test_the_folder_is_made_for_us_alone(tmp_path: Path) -> None:
    root = tmp_path / "ralph" / "sessions"
    RalphStore(str(root)).create(ID, [metadata(ID)]).close()
    assert {path.stat().st_mode & 0o777 for path in (root, root.parent)} == {0o700}
    assert (root / f"{ID}.json").stat().st_mode & 0o777 == 0o600


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "sessions").symlink_to(tmp_path / "elsewhere")
    refused(tmp_path / "sessions", "symbolic link")


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions").chmod(mode)
    refused(tmp_path / "sessions", f"other users may enter it .mode {mode:04o}.")


def test_a_folder_above_that_anybody_may_change_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ralph").mkdir()
    (tmp_path / "ralph").chmod(0o777)
    refused(tmp_path / "ralph" / "sessions", "all users may change what is in")


def test_a_shared_temporary_folder_above_is_fine(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    RalphStore(str(tmp_path / "tmp" / "sessions")).create(ID, [metadata(ID)]).close()


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ralph" / "sessions").mkdir(parents=True, mode=0o700)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)  # seen from another user, it belongs to somebody else
    if owner == 0:  # what root owns above is trusted; the folder itself is not
        refused(tmp_path / "ralph" / "sessions", "it belongs to user 0")
    else:
        refused(tmp_path / "ralph" / "sessions", f"belongs to user {owner}")


def test_a_folder_that_is_swapped_later_is_refused_then(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    store = RalphStore(str(root))
    store.create(ID, [metadata(ID)]).close()
    root.rename(tmp_path / "moved")
    root.symlink_to(tmp_path / "moved")
    for call in (
        lambda: store.load(ID),
        lambda: store.open(ID),
        lambda: list(store.ids()),
        lambda: list(store.heads()),
    ):
        with pytest.raises(StorageError, match="symbolic link"):
            call()
    with pytest.raises(StorageError, match="symbolic link"):
        store.create("s2", [metadata("s2")])


def test_a_session_of_any_kind_is_kept_whole(tmp_path: Path) -> None:
    lib = segue.open(f"ralph:{tmp_path / 'sessions'}")
    with lib.create(agent="qa-test", title="Login bug", id=ID) as session:
        session.add("user", "Why?")
        session.learn("Tokens last an hour", task_id="1.1")
        session.fork(at=0, name="other")
    found = json.loads((tmp_path / "sessions" / f"{ID}.json").read_bytes())
    assert (found["change_name"], found["current_story_id"]) == ("", None)
    assert [one["description"] for one in found["learnings"]] == ["Tokens last an hour"]
    assert [one.content for one in lib.load(ID).path("main")] == ["Why?"]


def test_a_change_by_another_program_stops_the_writer(tmp_path: Path) -> None:
    store = RalphStore(str(tmp_path / "sessions"))
    with store.create(ID, [metadata(ID)]) as writer:
        file = tmp_path / "sessions" / f"{ID}.json"
        found = {**json.loads(file.read_bytes()), "completed_tasks": ["1.1"]}
        file.write_text(json.dumps(found))
        with pytest.raises(segue.ConflictError, match="changed by another program"):
            writer.append(turn(1))
    assert [task.task_id for task in store.load(ID).tasks_done] == ["1.1"]
