"""kill -9 at every moment: what was acknowledged is there, once and in order, and the next append just works."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from segue.stores.journal import JournalStore
from segue.testing.failing import WatchedKernel
from tests.support.journal_operations import BLOB, BLOB_NAME, FIRST, OTHERS, WRITING, copy, create, prepare
from tests.support.journals import goes_on, metadata
from tests.support.processes import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KILLED = -9
KILLS_PER_SESSION = 25


@pytest.fixture
def crew() -> Iterator[Crew]:
    with Crew() as crew:
        yield crew


@pytest.mark.parametrize("kills", [300, pytest.param(5000, marks=pytest.mark.long)])
def test_killing_a_writer_loses_nothing_that_it_acknowledged(tmp_path: Path, seed: int, kills: int, crew: Crew) -> None:
    """On a real file system, and at moments that nobody chose."""
    chance = random.Random(seed)
    store = JournalStore(str(tmp_path))
    recorded: list[str] = []
    for kill in range(kills):
        session_id = f"killed-{kill // KILLS_PER_SESSION}"
        if kill % KILLS_PER_SESSION == 0:
            store.create(session_id, [metadata(session_id)]).close()
            recorded = ["m-1"]
        number = chance.randrange(1 << 48)
        answer = crew.ask("kill_while_writing", root=str(tmp_path), session_id=session_id, seed=number)
        told = f"--seed {seed}: kill {kill} of {session_id}"
        assert answer["signal"] == KILLED, told
        acknowledged = [id for line in list_of(answer["acknowledged"]) for id in line.split()]
        found = [event.id for event in store.read(session_id)]
        assert found[: len(recorded)] == recorded, told
        new = found[len(recorded) :]
        assert new[: len(acknowledged)] == acknowledged, told
        assert is_one_append(new[len(acknowledged) :], number, acknowledged), told
        assert len(found) == len(set(found)), told
        assert store.owner(session_id) is None, told
        assert store.head(session_id).status == "interrupted", told
        recorded = found
    for session_id in store.ids():
        assert store.load(session_id).status == "interrupted"
        goes_on(tmp_path, session_id)


def list_of(value: object) -> list[str]:
    assert isinstance(value, list)
    return value


def is_one_append(ids: list[str], seed: int, acknowledged: list[str]) -> bool:
    """Nothing, or all of the append that was under way."""
    if not ids:
        return True
    last = re.fullmatch(rf"{seed}\.(\d+)\..*", acknowledged[-1]) if acknowledged else None
    number = int(last[1]) + 1 if last else 0
    return ids == [f"{seed}.{number}.{at}of{len(ids)}" for at in range(1, len(ids) + 1)]


def each_death(root: Path, prepared: Path, name: str) -> Iterator[tuple[int, int]]:
    """Every call of an operation; of a write, with nothing, one byte, some and all but one byte written."""
    kernel = WatchedKernel()
    store = JournalStore(str(copy(prepared, root / "counted")), kernel=kernel)
    before = 0
    if name in WRITING:
        with store.open("sound") as writer:
            before = len(kernel.calls)
            WRITING[name](writer)
            calls = kernel.calls[before:]
    else:
        OTHERS[name][1](store)
        calls = kernel.calls
    for at, call in enumerate(calls, start=1):
        yield from ((at, torn) for torn in ((0, 1, 60, 200) if call == "write" else (0,)))


@pytest.mark.parametrize("name", [*WRITING, "create", "open with a torn tail", "delete", "recover"])
def test_dying_at_any_call_of_an_operation_leaves_the_old_or_the_new(root: Path, crew: Crew, name: str) -> None:
    prepared = root / "prepared"
    prepare(prepared)
    damaged = (prepared / "damaged.jsonl").read_bytes()
    for at, torn in each_death(root, prepared, name):
        told = f"{name}: call {at}, {torn} bytes written"
        folder = copy(prepared, root / f"{at}-{torn}")
        answer = crew.ask("kill_at_call", root=str(folder), operation=name, at=at, torn=torn)
        is_done = answer["acknowledged"] == ["done"]
        assert answer["signal"] == KILLED, told
        store = JournalStore(str(folder))
        match name:
            case "create":
                assert not is_done or "new" in list(store.ids()), told
                if "new" not in list(store.ids()):
                    create(store)
                assert ids(store, "new") == FIRST, told
                goes_on(folder, "new")
            case "open with a torn tail":
                assert ids(store, "torn") == ids(JournalStore(str(prepared)), "torn"), told
                goes_on(folder, "torn")
                assert len(list((folder / ".quarantine").glob("*.fragment"))) == 1, told
            case "delete":
                assert not is_done, told
                if "sound" in list(store.ids()):
                    assert ids(store, "sound") == FIRST, told
                    assert store.get_blob("sound", BLOB_NAME) == BLOB, told
                    store.delete("sound")
                store.create("sound", [metadata("sound")]).close()
            case "recover":
                if store.examine("damaged").damages:
                    store.recover("damaged")
                assert [path.read_bytes() for path in folder.glob("damaged.jsonl.corrupt*")] == [damaged], told
                goes_on(folder, "damaged")
            case _:
                many = 3 if name == "append many" else 1
                found = ids(store, "sound")
                assert found[:3] == FIRST, told
                assert len(found) == 3 + many if is_done else len(found) in (3, 3 + many), told
                goes_on(folder, "sound")
        assert {path.stem for path in prepared.glob("*.jsonl")} - set(store.ids()) == set(), told
        assert ids(store, "other") == FIRST, told


def ids(store: JournalStore, session_id: str) -> tuple[str, ...]:
    return tuple(event.id for event in store.read(session_id))
