"""Which project a session belongs to: the same after a move, in a clone and in a worktree, with the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.project import address_of, origin_of, project_of, relink
from segue.stores.memory import MemoryStore
from segue.testing.conformance.chapter import create_and_close
from segue.testing.events import metadata, turn

if TYPE_CHECKING:
    from segue.model import JsonObject

ENVIRON = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    **{f"GIT_{who}_{what}": "me@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=folder, env=ENVIRON, check=True, capture_output=True, text=True
    ).stdout.strip()


def project(folder: Path) -> str:
    return project_of(folder, ENVIRON)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "first"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "begin")
    return folder


def test_a_folder_without_git_is_its_own_project(tmp_path: Path) -> None:
    assert origin_of(tmp_path, ENVIRON) == {"cwd": str(tmp_path), "project": str(tmp_path)}


def test_a_repository_is_known_by_its_first_commit_wherever_it_moves(repository: Path, tmp_path: Path) -> None:
    found = project(repository)
    assert found == f"git:{git(repository, 'rev-list', '--max-parents=0', 'HEAD')}"
    git(repository, "commit", "-q", "--allow-empty", "-m", "more")
    repository.rename(tmp_path / "moved")
    (tmp_path / "moved" / "src").mkdir()
    assert project(tmp_path / "moved" / "src") == found


def test_git_is_asked_where_the_log_of_the_beginning_is_gone(repository: Path) -> None:
    found = project(repository)
    (repository / ".git" / "logs" / "HEAD").unlink()
    assert project(repository) == found
    assert project_of(repository, {"PATH": "/nonexistent"}) == str(repository)


def test_a_worktree_and_a_clone_on_this_machine_are_the_same_project(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", str(repository), "clone")
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    git(tmp_path, "clone", "-q", f"file://{tmp_path}/bare.git", "of-bare")
    places = ("tree", "clone", "of-bare")
    assert [project(tmp_path / place) for place in places] == [project(repository)] * len(places)


def test_a_clone_whose_source_is_gone_is_still_the_same_project(repository: Path, tmp_path: Path) -> None:
    found = project(repository)
    git(tmp_path, "clone", "-q", str(repository), "clone")
    repository.rename(tmp_path / "away")
    assert project(tmp_path / "clone") == found


def test_a_remote_names_the_project_and_shows_no_secret(repository: Path) -> None:
    git(repository, "remote", "add", "fork", "git@example.org:somebody/login.git")
    assert project(repository) == "example.org/somebody/login"
    git(repository, "remote", "add", "origin", "https://me:secret@example.org/team/login.git")
    assert project(repository) == "example.org/team/login"


def test_a_remote_is_read_as_git_reads_it(repository: Path) -> None:
    config = '[Remote "origin"] url = "https://example.org/team"/\\\nlogin.git ; mine\n'
    (repository / ".git" / "config").write_text(config, encoding="utf-8")
    assert project(repository) == "example.org/team/login"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://Example.org/team/login", "example.org/team/login"),
        ("https://me:secret@example.org:8443/team/login.git/", "example.org/team/login"),
        ("ssh://git@example.org:22/team/login.git", "example.org/team/login"),
        ("git@example.org:team/login.git", "example.org/team/login"),
        ("example.org:login", "example.org/login"),
        ("/srv/git/login.git", ""),
        ("../login", ""),
        ("file:///srv/git/login.git", ""),
        ("https://[bad/login", ""),
        ("", ""),
    ],
)
def test_all_ways_to_write_a_remote_are_one_address(url: str, address: str) -> None:
    assert address_of(url) == address


@pytest.mark.parametrize(
    "marker", [b"", b"gitdir: /nowhere", b"gitdir:", b"\xff\xfe", b"gitdir: " + b"a" * 2000, b"x" * (2 << 20)]
)
def test_a_marker_that_leads_nowhere_is_a_project_by_its_folder(tmp_path: Path, marker: bytes) -> None:
    (tmp_path / ".git").write_bytes(marker)
    assert project(tmp_path) == str(tmp_path)


def test_a_marker_that_nobody_ends_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert project(tmp_path) == str(tmp_path)


def test_a_clone_of_itself_ends(repository: Path) -> None:
    found = project(repository)
    git(repository, "remote", "add", "origin", ".")
    assert project(repository) == found


def test_a_folder_whose_name_is_no_text_is_told_as_text(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    assert project(folder) == f"{tmp_path}/\ufffd"


# ── Relinking ────────────────────────────────────────────────────────────────────────────────────────────────────────


def begun(*places: str) -> MemoryStore:
    store = MemoryStore()
    for number, cwd in enumerate(places):
        extra: JsonObject = {"cwd": cwd, "project": cwd}
        store.create(f"s{number}", [replace(metadata(f"s{number}", status="paused"), extra=extra)]).close()
    create_and_close(store, turn(1), session_id="elsewhere")
    return store


def test_what_began_in_a_folder_or_below_follows_it_and_nothing_else() -> None:
    store = begun("/old", "/old/src", "/older", "/")
    found = [(one.session_id, one.cwd) for one in relink(store, "/old", "/new", str)]
    assert found == [("s0", "/new"), ("s1", "/new/src")]
    assert store.overview("s1").overrides == {"cwd": "/new/src", "project": "/new/src"}
    assert store.overview("s1").extra["cwd"] == "/old/src"
    assert list(relink(store, "/old", "/new", str)) == []


def test_a_folder_may_move_again_and_back() -> None:
    store = begun("/old")
    for old, new in (("/old", "/new"), ("/new", "/newer"), ("/newer", "/old")):
        assert [one.cwd for one in relink(store, old, new, str)] == [new]


def test_a_folder_may_move_into_itself_and_is_relinked_once() -> None:
    store = begun("/old")
    assert [one.cwd for one in relink(store, "/old", "/old/now", str)] == ["/old/now"]
    assert list(relink(store, "/old", "/old/now", str)) == []


def test_a_session_in_use_stays_and_is_named() -> None:
    store = begun("/old", "/old")
    with store.open("s0"):
        first, second = relink(store, "/old", "/new", str)
    assert first.error is not None
    assert (second.session_id, second.error) == ("s1", None)
