"""An import that has nothing to do reads nothing; and whenever that is not certain, it reads everything."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import segue
from segue.clock import datetime_at
from segue.durable.folder import Folder
from segue.integrations import INTEGRATIONS
from segue.model import Turn
from segue.transfer import import_position
from segue.transfer.import_position import ImportPositions
from segue.transfer.import_sessions import import_session
from segue.trust import Trust
from tests.support.integration_homes import CLAUDE, PLACES, later, sessions

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from segue.integrations.shared.history import ExternalSession, OpenedTranscript
    from segue.library import Library
    from segue.transfer.import_sessions import Imported

ID = f"claude-{CLAUDE}"
AT = "2026-01-05T09:30:00.000Z"


class ImportMachine:
    """A session of Claude Code, a store, and what was read of the session."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = folder / "home"
        self.path = self.home / PLACES["claude"]
        self.path.parent.mkdir(parents=True)
        self.library: Library = segue.open(f"journal:{folder / 'sessions'}")
        self.positions = ImportPositions(Folder(str(folder / "cache")))
        self.cache = folder / "cache"
        self.reads = 0
        module = INTEGRATIONS["claude"].history
        original = module.read

        def read(session: ExternalSession) -> OpenedTranscript:
            self.reads += 1
            return original(session)

        monkeypatch.setattr(module, "read", read)

    def write(self, *texts: str, first: int = 0) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            for n, text in enumerate(texts, first):
                role = "assistant" if n % 2 else "user"
                message = {"role": role, "content": text, **({"id": f"m{n}"} if n % 2 else {})}
                record = {"type": role, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "timestamp": AT}
                file.write(json.dumps({**record, "message": message}) + "\n")

    def copy(self, *, clock: Callable[[], datetime] = later, trust: Trust | None = None) -> Imported:
        (session,) = sessions("claude", self.home)
        return import_session(
            INTEGRATIONS["claude"], session, self.library.store, clock=clock, trust=trust, positions=self.positions
        )

    def said(self) -> list[str]:
        return [turn.content for turn in self.library.load(ID).turns]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImportMachine:
    found = ImportMachine(tmp_path, monkeypatch)
    found.write("zero", "one")
    assert (found.copy().turns, found.reads) == (2, 1)
    return found


def test_a_session_that_has_not_changed_is_not_read_again_also_after_the_copy_went_on(machine: ImportMachine) -> None:
    with machine.library.open(ID) as live:
        live.add("user", "ours")
    again = machine.copy()
    assert (again.session_id, again.title, again.turns, again.is_new) == (ID, "zero", 0, False)
    assert machine.reads == 1


def test_what_was_added_is_imported_and_then_nothing_is_read_again(machine: ImportMachine) -> None:
    machine.write("two", "three", first=2)
    assert machine.copy().turns == 2
    assert (machine.copy().turns, machine.reads) == (0, 2)
    assert machine.said() == ["zero", "one", "two", "three"]


def test_both_stay_one_conversation(machine: ImportMachine, tmp_path: Path) -> None:
    trust = Trust(Folder(str(tmp_path / "trust")))
    machine.copy(trust=trust)
    assert machine.reads == 1
    assert [link.native_id for link in trust.links.read()] == [CLAUDE]


def changed_in_place(machine: ImportMachine) -> None:
    """The same size and time, other words."""
    state = machine.path.stat()
    machine.path.write_bytes(machine.path.read_bytes().replace(b"one", b"two"))
    os.utime(machine.path, ns=(state.st_atime_ns, state.st_mtime_ns))


def deleted_copy(machine: ImportMachine) -> None:
    machine.library.delete(ID)


def shorter_copy(machine: ImportMachine) -> None:
    """As a recovery makes it: the last turn is lost, and others follow."""
    path = Path(machine.library.store.path_of(ID))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b'"claude:u1"' not in line and b'"checkpoint"' not in line))
    with machine.library.open(ID) as live:
        live.record(*(Turn(role="user", content="ours", timestamp=later(), tokens=None, id=f"ours-{n}") for n in "123"))


def damaged_position(machine: ImportMachine) -> None:
    (path,) = (machine.cache / "imports").iterdir()
    path.write_bytes(path.read_bytes()[:-9])


def lost_cache(machine: ImportMachine) -> None:
    (path,) = (machine.cache / "imports").iterdir()
    path.unlink()


@pytest.mark.parametrize("change", [changed_in_place, deleted_copy, shorter_copy, damaged_position, lost_cache])
def test_in_any_doubt_it_is_read_whole(machine: ImportMachine, change: Callable[[ImportMachine], None]) -> None:
    change(machine)
    machine.copy()
    assert machine.reads == 2
    assert {"one", "zero"} <= {turn.content for own in machine.library.load(ID).own_turns.values() for turn in own}


def test_another_release_may_read_more(machine: ImportMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_position, "__version__", "another")
    machine.copy()
    assert machine.reads == 2


def test_damages_are_reported_every_time(machine: ImportMachine) -> None:
    with machine.path.open("ab") as file:
        file.write(b"{broken\n")
    assert [len(machine.copy().damages) for _ in range(2)] == [1, 1]


def test_an_answer_that_was_held_is_read_when_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = ImportMachine(tmp_path, monkeypatch)
    machine.write("zero", "one")
    (session,) = sessions("claude", machine.home)
    assert machine.copy(clock=lambda: datetime_at(session.changed_at)).is_growing
    assert machine.copy().turns == 1
    assert machine.said() == ["zero", "one"]


def test_the_cache_has_no_text_and_no_name_of_the_session(machine: ImportMachine) -> None:
    (path,) = (machine.cache / "imports").iterdir()
    assert CLAUDE not in path.name + path.read_text(encoding="ascii")
    assert "zero" not in path.read_text(encoding="ascii")
