"""A full disk: no receipt and a typed error; what was acknowledged stays, and writing resumes when there is room."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from segue.errors import DiskFullError
from segue.stores.journal import JournalStore
from tests.support.journals import CORPUS, goes_on, lay, metadata, snapshot, temporaries, turn
from tests.support.mounts import small_disk

SIZE_BYTES = 256 * 1024
LIMIT_BYTES = 64 * 1024


def fill_with_turns(root: Path) -> None:
    """The whole claim but for making room, on a disk that is nearly full or under a limit that is nearly reached."""
    store = JournalStore(str(root))
    acknowledged = ["m-1"]
    with store.open("talk", timeout_seconds=0) as writer:
        full: DiskFullError | None = None
        while full is None:
            event = turn(len(acknowledged), "x" * 3000)
            try:
                writer.append(event, ids_are_new=True)
            except DiskFullError as error:
                full = error
            else:
                acknowledged.append(event.id)
        for number in range(2000, 2010):  # no later receipt hides it, and none is given for half an append
            with pytest.raises(DiskFullError):
                writer.append(turn(number, "y" * 30_000), ids_are_new=True)
        with pytest.raises(DiskFullError):
            writer.put_blob(b"z" * (SIZE_BYTES + LIMIT_BYTES))
        assert [event.id for event in store.read("talk")] == acknowledged
        assert store.load("talk").seq == len(acknowledged)
        assert store.tail("talk", 1)[0].id == acknowledged[-1]
        assert {head.id: head.damage for head in store.heads()} == {"talk": "", "old": "", "torn": ""}
        assert temporaries(root) == []


def prepare(root: Path) -> None:
    store = JournalStore(str(root))
    for session_id in ("talk", "old"):
        store.create(session_id, [metadata(session_id)]).close()
    lay(root, "torn", (CORPUS / "small.jsonl").read_bytes()[:-30])


def test_a_full_disk_costs_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    place = tmp_path / "small"
    with small_disk(place, SIZE_BYTES) as is_mounted:
        if not is_mounted:
            test_a_limit_on_file_sizes_is_a_full_disk(tmp_path / "instead")
            return
        prepare(place)
        ballast = place / "ballast"
        ballast.write_bytes(b"b" * LIMIT_BYTES)
        fill_with_turns(place)
        with suppress(OSError), (place / "filler").open("wb", buffering=0) as file:  # to the last byte
            while file.write(b"b" * 1024):
                pass
        store = JournalStore(str(place))
        before = [event.id for event in store.read("talk")]
        with pytest.raises(DiskFullError):
            store.create("new", [metadata("new"), turn(1, "x" * 5000)])
        assert "new" not in list(store.ids())
        torn = snapshot(place)["torn.jsonl"].content
        with pytest.raises(DiskFullError):
            store.open("torn", timeout_seconds=0)
        assert snapshot(place)["torn.jsonl"].content == torn
        with store.open("talk", timeout_seconds=0) as writer:
            with pytest.raises(DiskFullError):
                writer.append(turn(3000, "x" * 5000), ids_are_new=True)
            store.delete("old")
            assert "old" not in list(store.ids())
            ballast.unlink()
            writer.append(turn(3001, "x" * 5000), ids_are_new=True)
        assert [event.id for event in store.read("talk")] == [*before, "t-3001"]
        goes_on(place, "torn")


def test_a_limit_on_file_sizes_is_a_full_disk(tmp_path: Path) -> None:
    tmp_path.mkdir(exist_ok=True)
    prepare(tmp_path)
    search = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    subprocess.run(
        [sys.executable, "-m", "tests.promises.test_disk_full", str(tmp_path)],
        check=True,
        env={**os.environ, "PYTHONPATH": search},
    )
    JournalStore(str(tmp_path)).delete("old")
    goes_on(tmp_path, "talk")
    goes_on(tmp_path, "torn")


def main() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))
    fill_with_turns(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
