"""A listing of many sessions over bare system calls on the same files: once cold, and again with the same library."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import segue
from bench.measure import Row, compare, interleaved
from segue.dialects.cortext.store import CortextStore

if TYPE_CHECKING:
    from pathlib import Path

    from bench.workload import Workplace

COLD, AGAIN = 2.0, 1.5
WORKSPACE_COLD = 4.0
_HEAD_BYTES = 4096


def measure(place: Workplace) -> list[Row]:
    count = place.sizes.sessions
    rows: list[Row] = []
    for crashed, what in ((False, "closed"), (True, "half of them left by a crash")):
        rows += _list(place.sessions(crashed=crashed), count, what, place.sizes.rounds)
    return [*rows, _among_many(place), *_workspace(place)]


def _list(root: Path, count: int, what: str, rounds: int) -> list[Row]:
    known = segue.open(f"journal:{root}")
    assert len(known.list()) == count
    cold, opened, again, looked_at = interleaved(
        [
            lambda: segue.open(f"journal:{root}").list(),
            lambda: _open_each(root),
            known.list,
            lambda: _look_at_each(root),
        ],
        rounds,
    )
    return [
        compare("list", f"{count:,} sessions, {what}, cold / open + read 4 KB", cold, opened, COLD),
        compare("list", f"{count:,} sessions, {what}, again / scandir + stat", again, looked_at, AGAIN),
    ]


def _open_each(root: Path) -> int:
    size_bytes = 0
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.name.endswith(".jsonl"):
                fd = os.open(entry.path, os.O_RDONLY)
                size_bytes += len(os.read(fd, _HEAD_BYTES))
                os.close(fd)
    return size_bytes


def _look_at_each(root: Path) -> list[os.stat_result]:
    with os.scandir(root) as entries:
        return [entry.stat(follow_symlinks=False) for entry in entries if entry.name.endswith(".jsonl")]


def _among_many(place: Workplace) -> Row:
    """What one session costs among many: its name is looked for, and that must not read all the others."""
    many, one = place.sessions(crashed=False), place.session(1_000)
    crowd, alone = segue.open(f"journal:{many}"), segue.open(f"journal:{one}")
    ours, theirs = interleaved([lambda: crowd.tail("s-00001", 10), lambda: alone.tail("s", 10)], 20)
    return compare("list", f"tail(10) among {place.sizes.sessions:,} sessions / alone", ours, theirs)


def _workspace(place: Workplace) -> list[Row]:
    """Conversations in folders by the day: over the bare names of those folders, which is the least a listing reads."""
    root = place.workspace()
    count = place.sizes.conversations
    known = CortextStore(str(root))
    assert len(list(known.heads())) == count
    again, looked_at, named, cold, looked_into = interleaved(
        [
            lambda: list(known.heads()),
            lambda: _look_at_each_conversation(root),
            lambda: _name_each(root),
            lambda: list(CortextStore(str(root)).heads()),
            lambda: _read_each(root),
        ],
        place.sizes.rounds,
    )
    what = f"{count:,} conversations of a workspace"
    return [
        compare("list", f"{what}, cold / open + read both files", cold, looked_into, WORKSPACE_COLD),
        compare("list", f"{what}, again / scandir + stat", again, looked_at, AGAIN),
        compare("list", f"{what}, again / the names of their folders", again, named),
    ]


def _look_at_each_conversation(root: Path) -> list[os.stat_result]:
    found: list[os.stat_result] = []
    with os.scandir(root / "conversations") as days:
        for day in days:
            with os.scandir(day.path) as folders:
                found += [os.lstat(f"{folder.path}/.session/session.json") for folder in folders]
    return found


def _name_each(root: Path) -> list[str]:
    names: list[str] = []
    with os.scandir(root / "conversations") as days:
        for day in days:
            with os.scandir(day.path) as folders:
                names += [folder.name for folder in folders]
    return names


def _read_each(root: Path) -> int:
    size_bytes = 0
    for day in os.scandir(root / "conversations"):
        for folder in os.scandir(day.path):
            for name in ("session.json", "messages.jsonl"):
                fd = os.open(f"{folder.path}/.session/{name}", os.O_RDONLY)
                size_bytes += len(os.read(fd, _HEAD_BYTES))
                os.close(fd)
    return size_bytes
