"""What the proofs are made of: events that are the same on every run, folders as they are, the golden journals."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from segue.model import Metadata, Turn
from segue.stores.journal import JournalStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model import Event, Session

CORPUS = Path(__file__).parent.parent / "corpus" / "journal"
START = datetime(2024, 5, 1, 12, tzinfo=UTC)
ODD_TEXT = (
    'line\u2028separator, next\x85line, lone \ud800 surrogate, NUL \0, tab \t, 😀, quote " and ,"sum":"00000000"}'
)


def metadata(session_id: str) -> Metadata:
    return Metadata(session_id=session_id, agent="qa-test", created_at=START, status="active", version=1, id="m-1")


def turn(number: int, content: str = "", *, id: str = "", branch: str = "main") -> Turn:
    return Turn(
        role="user" if number % 2 else "assistant",
        content=content or f"turn {number}",
        timestamp=START + timedelta(seconds=number),
        tokens=None,
        branch=branch,
        id=id or f"t-{number}",
    )


class Entry(NamedTuple):
    mode: int
    mtime: int
    inode: int
    content: bytes | str | None


def snapshot(root: Path) -> dict[str, Entry]:
    """A folder as it is: names, modes, times and bytes of all that is in it."""
    return {
        path.relative_to(root).as_posix(): Entry(
            (found := path.lstat()).st_mode, found.st_mtime_ns, found.st_ino, _content(path, found.st_mode)
        )
        for path in [root, *root.rglob("*")]
    }


def _content(path: Path, mode: int) -> bytes | str | None:
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    return path.read_bytes() if stat.S_ISREG(mode) else None


def lay(root: Path, session_id: str, data: bytes) -> Path:
    """A journal as some crash or some accident left it."""
    path = root / f"{session_id}.jsonl"
    path.write_bytes(data)
    path.chmod(0o600)
    return path


class Complete(NamedTuple):
    """What of a journal is complete up to some byte."""

    events: int
    end: int


def complete_at_each_byte(data: bytes) -> list[Complete]:
    """For every place where a journal can be cut, what is complete then; found by a reader of its own."""
    found, events = [Complete(0, 0)], 0
    for line in data.split(b"\n")[:-1]:
        record = json.loads(line)
        events += record["type"] != "checkpoint"
        goes_on = record.get("sum", "").endswith("+")
        found += [found[-1]] * (len(line) - 1)
        for _ in (line, b"\n"):  # a line that lacks only its newline is whole
            found.append(found[-1] if goes_on else Complete(events, len(found)))
    return found


def ids_of(session: Session) -> set[str]:
    """The ids of all that a session holds by id."""
    kept: list[Event] = [turn for turns in session.own_turns.values() for turn in turns]
    kept += [*session.decisions, *session.learnings, *session.patterns, *session.tasks_done, *session.attachments]
    kept += session.unknown
    return {event.id for event in kept}


def held_by(data: bytes) -> Iterator[tuple[int, str, str]]:
    """The line, type and id of every event of a journal that Segue wrote."""
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        record = json.loads(line)
        if record["type"] != "checkpoint":
            yield number, record["type"], record["id"]


def goes_on(root: Path, session_id: str, *, number: int = 900) -> None:
    """The claim behind every fault: a new writer gets the lock at once, its append is there, and so is all that was."""
    store = JournalStore(str(root))
    before = [event.id for event in store.read(session_id)]
    added = turn(number)
    with store.open(session_id, timeout_seconds=0) as writer:
        writer.append(added, ids_are_new=True)
    assert [event.id for event in store.read(session_id)] == [*before, added.id]
    store.load(session_id)


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))


def temporaries(root: Path) -> list[str]:
    return [path.name for path in root.rglob(".new-*")]
