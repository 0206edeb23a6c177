"""Sessions of AI tools that are read in place: the same as an import of them, turn by turn and with flat memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import segue
from segue.durable.folder import Folder
from segue.errors import ReadOnlyError
from segue.integrations import INTEGRATIONS
from segue.model import Turn, overview_of
from segue.transfer.import_sessions import import_session
from segue.transfer.in_place import InPlaceLibrary, InPlaceStore, NothingReadableError
from segue.transfer.stored_turn import blob_name, stored_turn
from tests.support.integration_homes import CORPUS, PLACES, later, move_in, sessions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.integrations.shared.history import ExternalSession, OpenedTranscript
    from segue.model import Session

AT = "2026-01-05T09:30:00.000Z"
HOMES = sorted(path for path in (CORPUS / "homes").iterdir() if path.is_dir() and path.name != "truth")


def said(name: str, after: str | None, text: str, role: str = "user") -> dict[str, object]:
    message = {"role": role, "content": text, **({"id": f"m-{name}"} if role == "assistant" else {})}
    return {"type": role, "uuid": name, "parentUuid": after, "timestamp": AT, "message": message}


def write(home: Path, *records: dict[str, object]) -> None:
    path = home / PLACES["claude"]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def talk(count: int, *, first: int = 0) -> list[dict[str, object]]:
    """A conversation in which every message follows the one before it."""
    return [
        said(f"u{n}", f"u{n - 1}" if n else None, f"text {n}", "assistant" if n % 2 else "user")
        for n in range(first, first + count)
    ]


def opened(home: Path, tool: str = "claude") -> InPlaceLibrary:
    return InPlaceLibrary(InPlaceStore(INTEGRATIONS[tool], sessions(tool, home)[-1]))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions that are read, one entry for each time."""
    found: list[str] = []
    module = INTEGRATIONS["claude"].history
    original = module.read

    def read(session: ExternalSession) -> OpenedTranscript:
        found.append(session.id)
        return original(session)

    monkeypatch.setattr(module, "read", read)
    return found


def plain(session: Session) -> tuple[object, ...]:
    """What must be the same, whether it was imported, as a store has it, or is read in place."""
    turns = {
        name: [stored_turn(replace(turn, seq=0), blob_name) for turn in own] for name, own in session.own_turns.items()
    }
    return session.id, session.title, session.branch, session.branches, session.extra, session.created_at, turns


def homes(tmp_path: Path) -> Iterator[tuple[str, ExternalSession]]:
    move_in(tmp_path)
    for home in (tmp_path, *HOMES):
        for tool in INTEGRATIONS:
            yield from ((tool, session) for session in sessions(tool, home))


def test_every_session_of_the_corpus_reads_in_place_as_it_is_imported(tmp_path: Path) -> None:
    count = 0
    for tool, session in homes(tmp_path):
        memory = segue.open("memory:").store
        imported = import_session(INTEGRATIONS[tool], session, memory, clock=later)
        store = InPlaceStore(INTEGRATIONS[tool], session)
        if not imported.session_id:
            with pytest.raises(NothingReadableError):
                store.overview(store.id)
            continue
        count += 1
        found, copy = store.load(store.id), memory.load(imported.session_id)
        assert plain(found) == plain(copy), session.path
        assert replace(store.overview(store.id), seq=0) == replace(overview_of(found), seq=0)
        assert (*store.damages, *store.limits) == imported.damages
        for branch in found.branches:
            for size in (1, 3, 1000):
                assert store.tail(store.id, size, branch=branch) == found.tail(size, branch=branch), session.path
    assert count > len(INTEGRATIONS)


def test_one_pass_gives_the_overview_and_the_last_turns_and_the_second_all_turns(
    tmp_path: Path, reads: list[str]
) -> None:
    write(tmp_path, *talk(100))
    library = opened(tmp_path)
    name = library.store.id
    assert library.overview(name).turn_count == 100
    assert [turn.content for turn in library.tail(name, 2)] == ["text 98", "text 99"]
    assert len(reads) == 1
    assert sum(1 for _ in library.stream(name).path("main")) == 100
    assert len(reads) == 2


def test_turns_are_read_while_they_are_taken_and_none_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *talk(3_000))
    alive = most = 0

    class CountedTurn(Turn, frozen=True, kw_only=True):
        def __post_init__(self) -> None:
            nonlocal alive, most
            alive += 1
            most = max(most, alive)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    monkeypatch.setattr("segue.integrations.format.transcript.Turn", CountedTurn)
    library = opened(tmp_path)
    assert library.overview(library.store.id).turn_count == 3_000
    assert all(turn.native for turn in library.stream(library.store.id).path("main"))
    assert 0 < most < 700  # those of the first pass that are not counted yet


def test_the_last_turns_of_a_branch_that_were_not_the_last_in_the_file_are_found(tmp_path: Path) -> None:
    write(tmp_path, *talk(40), said("other", "u9", "another way"), *talk(60, first=40))
    library = opened(tmp_path)
    about = library.overview(library.store.id)
    (other,) = set(about.branches) - {"main"}
    assert [turn.content for turn in library.tail(about.id, 2, branch=other)] == ["text 9", "another way"]
    assert [turn.content for turn in library.tail(about.id, 70)][:1] == ["text 30"]


def test_what_a_tool_adds_to_a_session_and_to_its_last_turn_is_followed(tmp_path: Path) -> None:
    write(tmp_path, *talk(2))
    library = opened(tmp_path)
    store = library.store
    follower = library.follower(store.id)
    assert follower.poll() == []
    more = {
        **said("u1b", "u1", "and more", "assistant"),
        "message": {"role": "assistant", "id": "m-u1", "content": "!"},
    }
    write(tmp_path, more, said("u2", "u1b", "new"))
    store.update(sessions("claude", tmp_path)[-1])
    found = follower.poll()
    assert found is not None
    assert [event.id for event in found] == ["claude:u1", "claude:u2"]
    assert follower.poll() == []


def test_it_cannot_be_written(tmp_path: Path) -> None:
    write(tmp_path, *talk(1))
    library = opened(tmp_path)
    with pytest.raises(ReadOnlyError):
        library.open(library.store.id)
    with pytest.raises(ReadOnlyError):
        library.delete(library.store.id)


def test_the_folder_of_a_large_session_is_found_at_its_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from segue.cli._external import ExternalMatch

    write(tmp_path, *({**record, "cwd": "/work"} for record in talk(20_000)))
    (session,) = sessions("claude", tmp_path)
    read_bytes = 0
    original = Folder.open

    class Kernel:
        def __init__(self, kernel: object) -> None:
            self._kernel = kernel

        def __getattr__(self, name: str) -> object:
            return getattr(self._kernel, name)

        def pread(self, fd: int, size: int, offset: int) -> bytes:
            nonlocal read_bytes
            data: bytes = self._kernel.pread(fd, size, offset)  # type: ignore[attr-defined]
            read_bytes += len(data)
            return data

    def open_counted(folder: Folder, name: str) -> int:
        fd = original(folder, name)
        folder.kernel = Kernel(folder.kernel)  # type: ignore[assignment]
        return fd

    monkeypatch.setattr(Folder, "open", open_counted)
    assert ExternalMatch(INTEGRATIONS["claude"], session).folder == "/work"
    assert 0 < read_bytes < 1 << 20 < (tmp_path / PLACES["claude"]).stat().st_size
