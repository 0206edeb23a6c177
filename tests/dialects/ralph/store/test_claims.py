"""A claim outlives the process that made it, and never has two holders."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.store.claims import ChangeLockedError, Claim, Claims
from segue.errors import InvalidIdError, StorageError

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
CHANGE = "login"
RIVALS = 12


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    (tmp_path / "sessions").mkdir()
    return tmp_path / "sessions"


@pytest.fixture
def claims(tmp_path: Path, sessions: Path) -> Claims:
    (tmp_path / "project").mkdir()
    return Claims(str(tmp_path / "project"), sessions=str(sessions))


def begin(sessions: Path, *names: str) -> None:
    for name in names:
        (sessions / f"{name}.json").touch()


def file(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".ralph" / "locks" / f"{CHANGE}.lock"


def test_a_claim_says_who_where_and_since_when(claims: Claims, sessions: Path, tmp_path: Path) -> None:
    begin(sessions, "s1")
    assert claims.take(CHANGE, "s1", since=NOW) is None
    expected = Claim(
        change=CHANGE,
        session="s1",
        host=socket.gethostname(),
        pid=os.getpid(),
        since=NOW,
        sessions=str(sessions),
    )
    assert claims.find(CHANGE) == expected
    assert claims.list() == [expected]
    assert file(tmp_path).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "project" / ".ralph" / ".gitignore").read_text() == "*\n"


def test_the_second_session_learns_who_has_it(claims: Claims, sessions: Path) -> None:
    begin(sessions, "s1", "s2")
    claims.take(CHANGE, "s1", since=NOW)
    with pytest.raises(ChangeLockedError) as caught:
        claims.take(CHANGE, "s2", since=NOW)
    assert str(caught.value) == (
        f"change login is locked by session s1 (process {os.getpid()} on {socket.gethostname()}) "
        "since 2026-01-05 09:30:00 UTC"
    )
    assert caught.value.claim.session == "s1"


def test_the_same_session_may_claim_again(claims: Claims, sessions: Path) -> None:
    begin(sessions, "s1")
    claims.take(CHANGE, "s1", since=NOW)
    assert claims.take(CHANGE, "s1", since=NOW) is None


def test_a_claim_without_its_session_is_stale_and_taken_over(claims: Claims, sessions: Path) -> None:
    begin(sessions, "s1", "s2")
    claims.take(CHANGE, "s1", since=NOW)
    (sessions / "s1.json").unlink()
    taken = claims.take(CHANGE, "s2", since=NOW)
    assert taken is not None
    assert taken.session == "s1"
    found = claims.find(CHANGE)
    assert found is not None
    assert found.session == "s2"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        b"[]",
        b'{"change": "login", "session": "s1", "host": "elsewhere", "pid": 1, "sessions": "/nowhere"}',
        b'{"change": "login", "session": "../s1", "sessions": "/nowhere"}',
    ],
)
def test_a_claim_of_which_nobody_can_tell_is_taken_on_purpose_only(
    claims: Claims, sessions: Path, tmp_path: Path, content: bytes
) -> None:
    begin(sessions, "s2")
    claims.locks.make()
    file(tmp_path).write_bytes(content)
    with pytest.raises(ChangeLockedError, match="is locked by"):
        claims.take(CHANGE, "s2", since=NOW)
    assert file(tmp_path).read_bytes() == content
    assert claims.take(CHANGE, "s2", since=NOW, takeover=True) is not None
    assert claims.release(CHANGE, "s2", now=NOW)


def test_only_the_holder_releases(claims: Claims, sessions: Path) -> None:
    begin(sessions, "s1")
    claims.take(CHANGE, "s1", since=NOW)
    assert not claims.release(CHANGE, "s2", now=NOW)
    assert claims.release(CHANGE, "s1", now=NOW)
    assert not claims.release(CHANGE, "s1", now=NOW)
    assert claims.list() == []


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden"])
def test_the_name_of_a_change_is_no_path(claims: Claims, name: str) -> None:
    with pytest.raises(InvalidIdError):
        claims.take(name, "s1", since=NOW)


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path, sessions: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project" / ".ralph").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="symbolic link"):
        Claims(str(tmp_path / "project"), sessions=str(sessions)).take(CHANGE, "s1", since=NOW)
    assert list((tmp_path / "elsewhere").iterdir()) == []


RIVAL = """
import sys
from segue.clock import utc_now
from segue.dialects.ralph.store.claims import ChangeLockedError, Claims
project, sessions, session = sys.argv[1:]
sys.stdin.readline()
try:
    taken = Claims(project, sessions=sessions).take("login", session, since=utc_now())
except ChangeLockedError as error:
    print("lost to", error.claim.session)
else:
    print("won", taken and taken.session)
"""


@pytest.mark.parametrize("stale", [False, True])
def test_of_many_processes_one_wins(claims: Claims, sessions: Path, tmp_path: Path, *, stale: bool) -> None:
    rivals = [f"r{number}" for number in range(RIVALS)]
    begin(sessions, *rivals)
    if stale:
        claims.take(CHANGE, "gone", since=NOW)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = {
        name: subprocess.Popen(
            [sys.executable, "-c", RIVAL, str(tmp_path / "project"), str(sessions), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for name in rivals
    }
    for process in running.values():  # all are ready, or nearly so, before the first is let go
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = {name: process.communicate()[0].strip() for name, process in running.items()}
    (winner,) = (name for name, words in said.items() if words == f"won {'gone' if stale else None}")
    assert {words for name, words in said.items() if name != winner} == {f"lost to {winner}"}
    found = claims.find(CHANGE)
    assert found is not None
    assert found.session == winner
