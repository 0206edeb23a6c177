"""Scopes of real sessions, in every store and in a store that keeps them in a file."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import segue
from segue.durable.file_location import FileLocation
from segue.errors import SessionLockedError, UsageError
from segue.library import Library
from segue.permissions import Permissions, ResolvedScope
from segue.permissions.scope import Scope
from segue.stores.journal import JournalStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segue.store import Store

FILE = "scope.yml"
TEXT = "# mine\npaths:\n  read:\n    - docs/**  # the manual\n"
FALLBACK = ResolvedScope(Scope(read=("fallback",)), "profile", "x")


class Filing(JournalStore):
    """A journal whose sessions have a scope in a file beside it."""

    def scope_file(self, session_id: str) -> FileLocation:
        return FileLocation(self.folder, f"{session_id}.{FILE}")


def permissions_of(store: Store, tmp_path: Path, accept: Callable[[ResolvedScope], bool] | None = None) -> Permissions:
    return Permissions(
        store,
        "s",
        project_root=str(tmp_path),
        home=str(tmp_path),
        state=str(tmp_path / "state"),
        fallback=lambda: FALLBACK,
        accept=accept,
    )


@pytest.fixture(params=["journal", "soleur", "memory"])
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Library:
    kind: str = request.param
    library = segue.open("memory:" if kind == "memory" else f"{kind}:{tmp_path / 'sessions'}")
    library.create(id="s").close()
    return library


@pytest.fixture
def filing(tmp_path: Path) -> Filing:
    store = Filing(str(tmp_path / "sessions"))
    Library(store).create(id="s").close()
    return store


def scope_path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / f"s.{FILE}"


def test_in_any_store_a_session_has_the_scope_it_was_given(library: Library, tmp_path: Path) -> None:
    permissions = permissions_of(library.store, tmp_path)
    assert permissions.current() == FALLBACK
    with library.open("s") as live:
        live.set_scope({"paths": {"read": ["docs/**"]}})
    assert permissions.current() == ResolvedScope(Scope(read=("docs/**",)), "explicit")
    assert permissions.check("read", "docs/x").allowed
    assert not permissions.check("read", "fallback").allowed


def test_the_scope_is_read_again_each_time(library: Library, tmp_path: Path) -> None:
    permissions = permissions_of(library.store, tmp_path)
    assert not permissions.check("shell", "ls").allowed
    assert permissions.add("shell", "ls")
    assert permissions.check("shell", "ls").allowed
    permissions.set_scope("paths: {}")
    assert not permissions.check("shell", "ls").allowed


def test_adding_builds_on_what_held_before_and_adds_nothing_twice(library: Library, tmp_path: Path) -> None:
    permissions = permissions_of(library.store, tmp_path)
    assert permissions.add("write", "out/**")
    assert not permissions.add("write", "out/**")
    assert permissions.current() == ResolvedScope(Scope(read=("fallback",), write=("out/**",)), "explicit")
    assert library.overview("s").status == "paused"


def test_whoever_writes_the_session_records_the_scope_there(tmp_path: Path) -> None:
    library = segue.open(f"journal:{tmp_path}")
    with library.create(id="s") as live:
        with pytest.raises(SessionLockedError):
            permissions_of(library.store, tmp_path)._store.open("s", timeout_seconds=0)
        permissions = Permissions(
            library.store, "s", project_root="/", home="/", state=str(tmp_path / "state"), record=live.set_scope
        )
        assert permissions.add("read", "/a")
        assert permissions.check("read", "/a").allowed


def test_a_scope_that_makes_no_sense_denies_with_an_error_and_is_not_overwritten(
    library: Library, tmp_path: Path
) -> None:
    with library.open("s") as live:
        live.set_scope({"paths": {"read": "everything"}})
    permissions = permissions_of(library.store, tmp_path)
    for call in (
        lambda: permissions.check("read", "a"),
        lambda: permissions.add("read", "a"),
        lambda: permissions.allow_once("read", "a"),
    ):
        with pytest.raises(UsageError, match=r"the scope of session s: paths\.read must be a list"):
            call()
    assert library.overview("s").scope == {"paths": {"read": "everything"}}


@pytest.mark.parametrize("pattern", ["", "a/../b", "x\n"])
def test_a_pattern_that_means_nothing_is_not_added(library: Library, tmp_path: Path, pattern: str) -> None:
    with pytest.raises(UsageError, match="cannot be added"):
        permissions_of(library.store, tmp_path).add("read", pattern)
    assert library.overview("s").scope is None


# ── In a file ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_store_that_keeps_a_file_is_believed_there_and_comments_stay(filing: Filing, tmp_path: Path) -> None:
    permissions = permissions_of(filing, tmp_path)
    assert permissions.current() == FALLBACK
    scope_path(tmp_path).write_text(TEXT)
    assert permissions.check("read", "docs/x").allowed
    assert permissions.add("read", "src/**")
    assert not permissions.add("read", "src/**")
    assert scope_path(tmp_path).read_text() == f'{TEXT}    - "src/**"\n'
    assert permissions.check("read", "src/x").pattern == "src/**"


def test_where_the_file_is_missing_the_session_is_believed(filing: Filing, tmp_path: Path) -> None:
    with Library(filing).open("s") as live:
        live.set_scope({"paths": {"read": ["recorded"]}})
    permissions = permissions_of(filing, tmp_path)
    assert permissions.current().scope.read == ("recorded",)
    permissions.add("read", "more")
    assert permissions.current().scope.read == ("recorded", "more")


def test_without_a_file_one_is_made_of_what_held_before(filing: Filing, tmp_path: Path) -> None:
    permissions = permissions_of(filing, tmp_path)
    assert permissions.add("shell", "ls")
    assert permissions.current().scope == Scope(read=("fallback",), shell_allow=("ls",))


@pytest.mark.parametrize("data", [b"paths: [", b"paths:\n  read: 1", b"\xff", b"a: &x []\nb: *x"])
def test_a_file_that_is_wrong_is_shown_with_its_place_and_never_overwritten(
    filing: Filing, tmp_path: Path, data: bytes
) -> None:
    scope_path(tmp_path).write_bytes(data)
    permissions = permissions_of(filing, tmp_path)
    with pytest.raises(UsageError, match=r"s\.scope\.yml line \d: "):
        permissions.check("read", "a")
    with pytest.raises(UsageError):
        permissions.add("read", "a")
    assert scope_path(tmp_path).read_bytes() == data


def test_two_that_add_at_once_lose_nothing(filing: Filing, tmp_path: Path) -> None:
    def add(number: int) -> None:
        permissions_of(filing, tmp_path).add("read", f"/{number}")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(permissions_of(filing, tmp_path).current().scope.read) == {"fallback", *(f"/{n}" for n in range(8))}


# ── Once ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_allowed_once_is_allowed_once(library: Library, tmp_path: Path) -> None:
    permissions = permissions_of(library.store, tmp_path)
    assert not permissions.allow_once("write", "a").allowed
    first = permissions_of(library.store, tmp_path).check("write", "a")
    assert (first.allowed, first.is_once, first.reason) == (True, True, "allowed once")
    assert not permissions.check("write", "a").allowed


def test_a_grant_is_for_this_session_this_action_and_this_target(library: Library, tmp_path: Path) -> None:
    library.create(id="t").close()
    permissions = permissions_of(library.store, tmp_path)
    permissions.allow_once("write", "a")
    permissions.allow_once("shell", "make all")
    other = Permissions(library.store, "t", project_root=str(tmp_path), home="/", state=str(tmp_path / "state"))
    assert not other.check("write", "a").allowed
    for action, target in (("read", "a"), ("write", "b"), ("shell", "make")):
        assert not permissions.check(action, target).allowed  # type: ignore[arg-type]  # of the table above
    assert permissions.check("shell", "make all").allowed


def test_a_grant_is_not_used_up_by_what_is_allowed_anyway(library: Library, tmp_path: Path) -> None:
    permissions = permissions_of(library.store, tmp_path)
    permissions.allow_once("write", "a")
    permissions.add("write", "a")
    assert not permissions.check("write", "a").is_once
    permissions.set_scope("")
    assert permissions.check("write", "a").is_once


def test_a_link_made_later_does_not_lead_a_grant_elsewhere(library: Library, tmp_path: Path) -> None:
    permissions = permissions_of(library.store, tmp_path)
    permissions.allow_once("read", "note")
    (tmp_path / "note").symlink_to("/etc/passwd")
    assert not permissions.check("read", "note").allowed


def test_what_a_pattern_denies_cannot_be_allowed_once(library: Library, tmp_path: Path) -> None:
    permissions = permissions_of(library.store, tmp_path)
    permissions.allow_once("read", "keys/a")
    permissions.set_scope("paths: {deny: [keys]}")
    assert not permissions.check("read", "keys/a").allowed
    with pytest.raises(UsageError, match="cannot be allowed: denied by 'keys'"):
        permissions.allow_once("read", "keys/b")


def test_a_command_that_is_not_understood_can_be_allowed_by_its_letters(library: Library, tmp_path: Path) -> None:
    permissions = permissions_of(library.store, tmp_path)
    permissions.allow_once("shell", "cat <<EOF\nhi\nEOF")
    assert permissions.check("shell", "cat <<EOF\nhi\nEOF").is_once


def test_of_many_that_ask_at_once_as_many_get_it_as_grants_were_given(library: Library, tmp_path: Path) -> None:
    for _ in range(2):
        permissions_of(library.store, tmp_path).allow_once("write", "a")
    gate, got = threading.Barrier(8), list[bool]()

    def ask() -> None:
        permissions = permissions_of(library.store, tmp_path)
        gate.wait()
        got.append(permissions.check("write", "a").allowed)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 6 + [True] * 2


# ── Within a conversation ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("agrees", [True, False])
def test_a_scope_that_is_held_is_widened_only_by_whoever_holds_it(
    filing: Filing, tmp_path: Path, *, agrees: bool
) -> None:
    asked: list[tuple[str, ...]] = []

    def accept(found: ResolvedScope) -> bool:
        asked.append(found.scope.read)
        return agrees

    permissions = permissions_of(filing, tmp_path, accept=accept)
    path = scope_path(tmp_path)
    path.write_text("paths: {read: [notes/**]}")
    assert permissions.check("read", "notes/a").allowed
    path.write_text("paths: {read: ['**']}")  # as an agent would that can write the file
    assert permissions.check("read", "secret").allowed is agrees
    assert permissions.check("read", "notes/a").allowed
    assert asked == [("**",)]  # once, whatever was answered
    permissions.add("read", "more/**")  # by the person at the terminal
    assert permissions.check("read", "more/a").allowed


def test_a_scope_that_is_held_can_be_narrowed_by_anybody(filing: Filing, tmp_path: Path) -> None:
    permissions = permissions_of(filing, tmp_path, accept=lambda _: False)
    path = scope_path(tmp_path)
    path.write_text("paths: {read: ['**']}")
    assert permissions.check("read", "secret").allowed
    path.write_text("paths: {read: ['**'], deny: [secret]}")
    assert permissions.check("read", "secret").is_final
    assert permissions.check("read", "other").allowed
    path.write_text("paths: [")
    with pytest.raises(UsageError):
        permissions.check("read", "other")


def test_what_one_scope_denies_for_good_is_not_hidden_by_a_refusal_of_the_other(filing: Filing, tmp_path: Path) -> None:
    permissions = permissions_of(filing, tmp_path, accept=lambda _: False)
    path = scope_path(tmp_path)
    path.write_text("paths: {read: [notes/**]}")
    assert not permissions.check("read", "secret").is_final
    path.write_text("paths: {read: [notes/**], deny: [secret]}")
    with pytest.raises(UsageError):
        permissions.allow_once("read", "secret")
    assert permissions.check("read", "secret").is_final
