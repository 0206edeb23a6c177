"""Finding among many sessions: the index over a plain read of the files, ripgrep over the same files, and `llm logs`.

The index is opened anew for each search, in this process; ripgrep and llm are processes, and their start counts.
"""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import segue
from bench.measure import Row, compare, elapsed, in_words, interleaved
from bench.workload import TURNS_OF_A_SMALL_SESSION, role, text
from segue.durable.folder import Folder
from segue.index import Index, StoreSource
from segue.index.database import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.workload import Workplace

AGAIN = 4.0
"""An unchanged look at every session, over `scandir` and `stat` of the same files."""
RARE = "zebra"
COMMON = "token"
_NEWEST = 20


def measure(place: Workplace) -> list[Row]:
    root = place.sessions(crashed=False)
    _plant(root)
    count = place.sizes.sessions
    folder = Folder(str(place.folder / "catalog"))
    shutil.rmtree(folder.path, ignore_errors=True)
    sources = [StoreSource(segue.open(f"journal:{root}").store)]
    rows = [_build(folder, root, count)]
    with Index(folder) as index:
        again, looked_at, newest, everything = interleaved(
            [
                lambda: index.refresh(sources),
                lambda: _look_at_each(root),
                lambda: index.entries(limit=_NEWEST),
                lambda: segue.open(f"journal:{root}").list(limit=_NEWEST),
            ],
            place.sizes.rounds,
        )
    rows += [
        compare("find", f"{count:,} sessions looked at again / scandir + stat", again, looked_at, AGAIN),
        compare("find", f"newest {_NEWEST} of {count:,} / list without an index", newest, everything, 1.0),
    ]
    for word, what in ((RARE, "rare"), (COMMON, "common")):
        rows += _search(place, folder, root, word, what)
    return rows


def _build(folder: Folder, root: Path, count: int) -> Row:
    """In a process of its own, whose memory is then that of the index."""
    command = [sys.executable, "-m", "bench.finding", folder.path, str(root)]
    taken, grown = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    plain = elapsed(lambda: _read_each(root))
    size = Path(folder.path_of(NAME)).stat().st_size / _read_each(root)
    note = f"{count / taken * 1e9:,.0f} sessions a second; memory grew by {grown / 1024:.0f} MB; {size:.1f}x the files"
    turns = TURNS_OF_A_SMALL_SESSION
    return compare("find", f"index of {count:,} sessions x {turns} turns / read of the files", taken, plain, None, note)


def build(folder: str, root: str) -> None:
    """Print the nanoseconds that a first index takes, and the kilobytes by which the process grew meanwhile."""
    sources = [StoreSource(segue.open(f"journal:{root}").store)]
    with Index(Folder(folder)) as index:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(elapsed(lambda: index.refresh(sources)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def _search(place: Workplace, folder: Folder, root: Path, word: str, what: str) -> list[Row]:
    calls: list[Callable[[], object]] = [lambda: _found(folder, word)]
    rivals = {"ripgrep": _ripgrep(root, word), "llm logs -q": _llm(place, word)}
    calls += [call for call in rivals.values() if call is not None]
    times = interleaved(calls, min(place.sizes.rounds, 3))
    ours, others = times[0], iter(times[1:])
    rows: list[Row] = []
    for name, call in rivals.items():
        title = f"search for a {what} word / {name}"
        if call is None:
            rows.append(
                Row(
                    section="find",
                    name=title,
                    ratio=None,
                    ours=in_words(ours),
                    note=f"there is no {name.split()[0]} here",
                )
            )
        else:
            rows.append(compare("find", title, ours, next(others), None, f"{len(_found(folder, word))} sessions shown"))
    return rows


def _found(folder: Folder, word: str) -> list[str]:
    with Index(folder) as index:
        return [hit.entry.id for hit in index.search(word)]


def _ripgrep(root: Path, word: str) -> Callable[[], object] | None:
    program = shutil.which("rg")
    return None if program is None else lambda: _run([program, "-il", "-w", word, str(root)])


def _llm(place: Workplace, word: str) -> Callable[[], object] | None:
    program = Path(sys.executable).with_name("llm")
    if not program.exists():
        return None
    home = place.folder / "llm"
    if not home.exists():
        home.mkdir()
        _fill_llm(home, place.sizes.sessions)
    return lambda: _run([str(program), "logs", "-q", word, "-n", "20", "--short"], LLM_USER_PATH=str(home))


def _fill_llm(home: Path, count: int) -> None:
    """Its own code makes the tables, and their triggers index what is put in; a question and its answer are one row."""
    migrate = "import sys, sqlite_utils, llm.migrations as m; m.migrate(sqlite_utils.Database(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", migrate, str(home / "logs.db")], check=True)
    with sqlite3.connect(home / "logs.db") as database:
        for session in range(count):
            database.execute("INSERT INTO conversations (id, name, model) VALUES (?, ?, 'm')", (f"c{session}", "bench"))
            for turn in range(0, TURNS_OF_A_SMALL_SESSION, 2):
                words = f"{RARE} {text(turn)}" if session == 7 and turn == 4 else text(turn)
                values = (f"r{session:05}-{turn:02}", words, text(turn + 1), f"c{session}")
                database.execute(
                    "INSERT INTO responses (id, model, prompt, response, conversation_id, datetime_utc)"
                    " VALUES (?, 'm', ?, ?, ?, '2026-01-01T00:00:00')",
                    values,
                )
    database.close()


def _plant(root: Path) -> None:
    """One session says the rare word, once."""
    library = segue.open(f"journal:{root}")
    if not any(RARE in turn.content for turn in library.tail("s-00007", 1)):
        with library.open("s-00007") as session:
            session.add(role(0), f"A {RARE} {text(7)}")


def _run(command: Sequence[str], **env: str) -> int:
    quiet = subprocess.DEVNULL
    return subprocess.run(
        command, check=False, env=os.environ | env, stdin=quiet, stdout=quiet, stderr=quiet
    ).returncode


def _look_at_each(root: Path) -> list[os.stat_result]:
    with os.scandir(root) as entries:
        return [entry.stat(follow_symlinks=False) for entry in entries if entry.name.endswith(".jsonl")]


def _read_each(root: Path) -> int:
    return sum(len(one.read_bytes()) for one in root.glob("*.jsonl"))


if __name__ == "__main__":
    build(*sys.argv[1:])
