"""What cannot be stored or read: what the caller is told, and what the SDK makes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, cast

import anyio
import pytest
from claude_agent_sdk import ClaudeAgentOptions
from claude_agent_sdk._internal.session_resume import materialize_resume_session
from claude_agent_sdk._internal.transcript_mirror_batcher import TranscriptMirrorBatcher
from msgspec.structs import replace

import segue
from segue.bridges.claude_agent_sdk import SegueSessionStore
from segue.errors import DamagedError, DiskFullError, SessionLockedError, StorageError, UsageError
from segue.model import EPOCH, Record, Turn
from tests.bridges.claude_agent_sdk.conversations import KEY, SUBAGENT, append, load
from tests.support.mounts import make_read_only, small_disk

if TYPE_CHECKING:
    from pathlib import Path

    from claude_agent_sdk import SessionKey

    from tests.bridges.claude_agent_sdk.conversations import Entry

ENTRY: Entry = {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"content": "hi"}}


@pytest.mark.parametrize("size", [10_000, 1_000_000])
def test_keys_may_be_any_text(tmp_path: Path, size: int) -> None:
    store = SegueSessionStore(f"journal:{tmp_path}")
    texts = ["x" * size, "../../etc", "a/b", "A/B", "", "\ud800", "ü\x00\n"]
    keys: list[SessionKey] = [{"project_key": text, "session_id": text, "subpath": f"{text}/"} for text in texts]
    keys += [{"project_key": text, "session_id": text} for text in texts]
    for number, key in enumerate(keys):
        append(store, [{"type": "x", "n": number}], key)
    for number, key in enumerate(keys):
        assert load(store, key) == [{"type": "x", "n": number}]
    assert anyio.run(store.list_subkeys, keys[-1]) == [f"{texts[-1]}/"]


@pytest.mark.parametrize(
    "entry",
    [{"type": "x", "y": object()}, {"type": "x", "y": {1, 2}}, {"type": "x", "y": b""}, [], "x", None],
    ids=["object", "set", "bytes", "list", "text", "none"],
)
def test_what_is_not_json_is_named_and_nothing_of_the_append_is_stored(tmp_path: Path, entry: object) -> None:
    store = SegueSessionStore(f"journal:{tmp_path}")
    with pytest.raises(UsageError, match=r"an entry of the transcript is not JSON.*only what json.dumps accepts"):
        append(store, [ENTRY, cast("Entry", entry)])
    assert list(tmp_path.iterdir()) == []
    append(store, [ENTRY])
    assert load(store) == [ENTRY]


def test_what_refers_to_itself_is_named(tmp_path: Path) -> None:
    loop: Entry = {"type": "x"}
    loop["loop"] = loop
    with pytest.raises(UsageError, match="not JSON"):
        append(SegueSessionStore(f"journal:{tmp_path}"), [loop])


def test_a_session_in_use_elsewhere_is_an_error_in_time_that_says_what_to_do(tmp_path: Path) -> None:
    library = segue.open(f"journal:{tmp_path}")
    store = SegueSessionStore(library, wait_seconds=0.1)
    append(store, [ENTRY])
    (head,) = library.list()
    with library.open(head.id):
        with pytest.raises(SessionLockedError, match=f"{os.getpid()}.*wait"):
            append(store, [{"type": "x"}])
        assert load(store) == [ENTRY]
        with pytest.raises(SessionLockedError):
            anyio.run(store.delete, KEY)
    append(store, [{"type": "x"}])
    assert load(store) == [ENTRY, {"type": "x"}]


def test_a_damaged_session_is_named_and_stays_as_it_is(tmp_path: Path) -> None:
    library = segue.open(f"journal:{tmp_path}")
    store = SegueSessionStore(library)
    append(store, [ENTRY])
    append(store, [{"type": "x"}])
    (file,) = tmp_path.glob("*.jsonl")
    broken = file.read_bytes().replace(b'"hi"', b'"ho"', 1)
    file.write_bytes(broken)
    for act in (lambda: load(store), lambda: append(SegueSessionStore(library), [{"type": "y"}])):
        with pytest.raises(DamagedError, match=r"is damaged at.*recover"):
            act()
    assert file.read_bytes() == broken


def test_a_record_that_the_bridge_did_not_write_is_named(tmp_path: Path) -> None:
    library = segue.open(f"journal:{tmp_path}")
    store = SegueSessionStore(library)
    append(store, [ENTRY])
    (head,) = library.list()
    (state,) = library.overview(head.id).records.values()
    with library.open(head.id) as session:
        session.record(replace(state, id="other", seq=0, data={"count": "many"}))
    for act in (lambda: append(store, [{"type": "x"}]), lambda: anyio.run(store.list_sessions, "p")):
        with pytest.raises(DamagedError, match="record 'transcript'"):
            act()
    assert load(store) == [ENTRY]


@pytest.mark.parametrize(
    "forged",
    [
        Record(kind="claude-entry", data={"at": 0, "json": "{"}, timestamp=EPOCH, id="x"),
        Record(kind="claude-entry", data={"at": 0, "json": "[" * 5000}, timestamp=EPOCH, id="x"),
        Turn(role="user", content="", timestamp=EPOCH, tokens=None, native={"at": [0, 1], "records": [{}]}, id="x"),
    ],
    ids=["torn", "deep", "fewer"],
)
def test_an_event_that_has_no_entry_is_named(tmp_path: Path, forged: Record | Turn) -> None:
    library = segue.open(f"journal:{tmp_path}")
    append(SegueSessionStore(library), [ENTRY])
    (head,) = library.list()
    with library.open(head.id) as session:
        session.record(forged)
    with pytest.raises(DamagedError, match=r"is damaged at event \d"):
        load(SegueSessionStore(library))
    if isinstance(forged, Record):
        with pytest.raises(DamagedError, match=r"is damaged at event \d"):
            append(SegueSessionStore(library), [{"type": "x"}])


def test_what_hostile_events_claim_about_themselves_is_read_without_an_error(tmp_path: Path) -> None:
    library = segue.open(f"journal:{tmp_path}")
    append(SegueSessionStore(library), [ENTRY])
    (head,) = library.list()
    odd: list[object] = [None, 1, "x", [], {}, [1], {"a": 1}, [[{}]], True]
    stamp = {"timestamp": EPOCH, "tokens": None, "role": "user", "content": ""}
    natives = [{"at": at, "records": records, "links": links} for at in odd for records in odd for links in odd[:4]]
    natives = [native for native in natives if native["at"] not in ([1], [True])]  # which do not fit
    with library.open(head.id) as session:
        session.record(*(Turn(native=native, id=f"t{at}", **stamp) for at, native in enumerate(natives)))  # type: ignore[arg-type]
        records = [{"at": at, "entry": entry, "links": entry} for at in odd[:3] for entry in odd]
        session.record(
            *(Record(kind="claude-entry", data=data, timestamp=EPOCH, id=f"r{at}") for at, data in enumerate(records))
        )
    more = {"type": "x", "uuid": "u2", "parentUuid": "u1"}
    append(SegueSessionStore(library), [more])
    assert [entry for entry in load(SegueSessionStore(library)) if "uuid" in entry] == [ENTRY, more]


@pytest.mark.needs("mounting")
def test_a_store_that_is_read_only_is_named(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with small_disk(place, 8 << 20):
        store = SegueSessionStore(f"journal:{place}/agents")
        append(store, [ENTRY])
        make_read_only(place)
        with pytest.raises(StorageError, match=r"(?i)read-only"):
            append(store, [{"type": "x"}])
        assert load(store) == [ENTRY]


@pytest.mark.needs("mounting")
def test_a_full_disk_is_named_and_the_same_append_is_stored_when_there_is_room(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with small_disk(place, 4 << 20):
        store = SegueSessionStore(f"journal:{place}/agents")
        append(store, [ENTRY])
        filler = place / "filler"
        free = os.statvfs(place)
        filler.write_bytes(bytes(free.f_bavail * free.f_frsize))
        with pytest.raises(DiskFullError, match="make room"):
            append(store, [{"type": "y", "uuid": "u2", "text": "z" * 50_000}])
        filler.unlink()
        append(store, [{"type": "y", "uuid": "u2", "text": "z" * 50_000}])
        assert [entry["uuid"] for entry in load(store)] == ["u1", "u2"]


def test_the_sdk_tries_again_and_then_reports_what_the_store_said(tmp_path: Path) -> None:
    """The agent goes on; the next append is stored."""
    library = segue.open(f"journal:{tmp_path}/agents")
    store = SegueSessionStore(library, wait_seconds=0.01)
    append(store, [ENTRY])
    reports: list[tuple[object, str]] = []

    async def report(key: SessionKey | None, error: str) -> None:
        reports.append((key, error))

    async def mirror(number: int) -> None:
        batcher = TranscriptMirrorBatcher(store=store, projects_dir="/projects", on_error=report)
        batcher.enqueue("/projects/p/s.jsonl", [{"type": "x", "uuid": f"n{number}"}])
        await batcher.flush()

    (head,) = library.list()
    with library.open(head.id):
        anyio.run(mirror, 1)
    ((key, error),) = reports
    assert key == KEY
    assert "is in use" in error
    assert "wait until it is released" in error
    anyio.run(mirror, 2)
    assert [entry["uuid"] for entry in load(store)] == ["u1", "n2"]
    assert len(reports) == 1


def test_a_damaged_session_stops_a_resume_with_what_to_do(tmp_path: Path) -> None:
    session = "0b0f0a43-9a3c-4d67-8a43-5c1b0c0a0d0e"
    store = SegueSessionStore(f"journal:{tmp_path}", project="p")
    append(store, [ENTRY], {"project_key": "p", "session_id": session})
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b'"hi"', b'"ho"', 1))
    options = ClaudeAgentOptions(session_store=store, resume=session)
    with pytest.raises(RuntimeError, match=r"load\(\).* is damaged at .*recover"):
        anyio.run(materialize_resume_session, options)


def test_a_subagent_of_a_session_that_is_not_there_is_deleted_with_it(tmp_path: Path) -> None:
    library = segue.open(f"journal:{tmp_path}")
    store = SegueSessionStore(library)
    append(store, [ENTRY], SUBAGENT)
    assert anyio.run(store.list_sessions, "p") == []
    anyio.run(store.delete, KEY)
    assert library.list() == []


def test_without_the_sdk_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['claude_agent_sdk'] = None\n"
        "from segue.errors import MissingExtraError\n"
        "try: import segue.bridges.claude_agent_sdk\n"
        "except MissingExtraError as error: print(error, '|', error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "claude-agent-sdk is not installed | pip install 'segue[claude-agent-sdk]'\n"
