"""Marks: what was agreed to here, for exactly this session in exactly this place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.durable.folder import Folder
from segue.errors import StorageError
from segue.trust import KEY, Trust

if TYPE_CHECKING:
    from pathlib import Path

URL = "journal:/somewhere"


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return Trust(Folder(str(tmp_path / "trust")))


def test_what_was_agreed_to_is_known_and_nothing_else(trust: Trust) -> None:
    trust.of(URL, "one").put("agent", "command:x")
    assert trust.of(URL, "one").has("agent", "command:x")
    for url, id, part, content, where in [
        (URL, "one", "agent", "command:y", ""),
        (URL, "one", "agent", ["command:x"], ""),
        (URL, "one", "tools", "command:x", ""),
        (URL, "one", "agent", "command:x", "there"),
        (URL, "two", "agent", "command:x", ""),
        ("journal:/elsewhere", "one", "agent", "command:x", ""),
        ("soleur:/somewhere", "one", "agent", "command:x", ""),
    ]:
        assert not trust.of(url, id).has(part, content, where=where)


def test_a_new_mark_takes_the_place_of_the_old(trust: Trust) -> None:
    marks = trust.of(URL, "one")
    marks.put("scope", {"paths": {"read": ["/**"]}})
    marks.put("scope", {"paths": {"read": []}})
    assert not marks.has("scope", {"paths": {"read": ["/**"]}})
    assert marks.has("scope", {"paths": {"read": []}})


def test_a_place_is_one_whichever_link_leads_there(trust: Trust, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    trust.of(f"journal:{tmp_path}/link", "one").put("agent", "x")
    assert trust.of(f"journal:{tmp_path}/real", "one").has("agent", "x")


def test_marks_cannot_be_made_without_the_key_nor_moved_to_another_session(trust: Trust, tmp_path: Path) -> None:
    trust.of(URL, "one").put("agent", "x")
    (mark,) = (path for path in (tmp_path / "trust").iterdir() if path.name != KEY)
    trust.of(URL, "two").put("agent", "y")
    (other,) = (path for path in (tmp_path / "trust").iterdir() if path.name not in {KEY, mark.name})
    other.write_bytes(mark.read_bytes())
    assert not trust.of(URL, "two").has("agent", "x")
    (tmp_path / "trust" / KEY).write_bytes(b"k" * 32)
    assert not trust.of(URL, "one").has("agent", "x")


def test_key_and_marks_are_for_the_user_alone(trust: Trust, tmp_path: Path) -> None:
    trust.of(URL, "one").put("agent", "x")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "trust").iterdir()} == {0o600}
    assert (tmp_path / "trust").stat().st_mode & 0o777 == 0o700
    assert len((tmp_path / "trust" / KEY).read_bytes()) == 32


def test_a_damaged_key_knows_nothing_and_says_so_when_something_is_to_be_kept(trust: Trust, tmp_path: Path) -> None:
    trust.of(URL, "one").put("agent", "x")
    (tmp_path / "trust" / KEY).write_bytes(b"")
    assert not trust.of(URL, "one").has("agent", "x")
    with pytest.raises(StorageError, match="is damaged"):
        trust.of(URL, "one").put("agent", "y")


def test_nothing_is_written_to_look(trust: Trust, tmp_path: Path) -> None:
    assert not trust.of(URL, "one").has("agent", "x")
    assert not (tmp_path / "trust").exists()


def test_without_a_folder_nothing_is_known() -> None:
    marks = Trust().of(URL, "one")
    marks.put("agent", "x")
    assert not marks.has("agent", "x")


@pytest.mark.parametrize("content", ["\ud800", "\0", {"a": [1, 2.5, None, True]}, "\u2028", {"b": 1, "a": 2}])
def test_any_content_can_be_agreed_to(trust: Trust, content: object) -> None:
    trust.of(URL, "\ud800").put("scope", content)
    assert trust.of(URL, "\ud800").has("scope", content)
