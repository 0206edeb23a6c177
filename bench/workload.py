"""What is measured: the same texts in every run, and the sessions made of them."""

from __future__ import annotations

import os
import random
import signal
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

import segue
from segue import Durability
from segue.dialects.cortext.format import encode_turns, new_document
from segue.model import Metadata, Turn, fold, overview_of

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import Event

SEED = 7
CONTENT_BYTES = 250
"""Of a turn, on average: 200 to 300."""
TURNS_OF_A_SMALL_SESSION = 20
TURNS_OF_A_CONVERSATION = 6

_SAMPLE = (
    "the token expires before refresh so login fails and retry waits while cache holds stale keys because clock drifts "
    "under load when worker restarts; we should check “scope”, naïve parsing, path\\name and line\nbreaks too"
)
_WORDS = _SAMPLE.split(" ")
_OPEN_AT_ONCE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    prior: tuple[int, ...]
    """Turns already there when the appends are measured."""
    appends: int
    sessions: int
    conversations: int
    """In a workspace, ten a day."""
    rounds: int
    starts: int
    bridge_prior: tuple[int, ...]
    peer_prior: tuple[int, ...]
    peer_loads: tuple[int, ...]
    peer_appends: int
    peer_budget_seconds: float
    """For one cell of the table of peers; what is slow is measured fewer times."""


FULL = Sizes(
    prior=(0, 1_000, 10_000, 100_000),
    appends=1_000,
    sessions=10_000,
    conversations=5_000,
    rounds=7,
    starts=30,
    bridge_prior=(0, 1_000, 10_000),
    peer_prior=(0, 1_000, 10_000),
    peer_loads=(10_000, 100_000),
    peer_appends=200,
    peer_budget_seconds=5.0,
)
QUICK = Sizes(
    prior=(0, 1_000, 10_000, 100_000),
    appends=200,
    sessions=1_000,
    conversations=5_000,
    rounds=3,
    starts=10,
    bridge_prior=(0, 1_000),
    peer_prior=(0, 1_000),
    peer_loads=(1_000,),
    peer_appends=40,
    peer_budget_seconds=1.0,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Workplace:
    """The folder of one run. What a section needs is built when it is first asked for."""

    folder: Path
    sizes: Sizes
    large: bool = False
    """Whether sessions of AI tools of 500 MB are measured, too."""

    def session(self, turns: int) -> Path:
        """A folder with one session `s` of so many turns."""
        root = self.folder / f"one-{turns}"
        if not root.exists():
            build_session(root, "s", turns)
        return root

    def sessions(self, *, crashed: bool) -> Path:
        """A folder of many small sessions; with `crashed`, half of them as a killed process leaves them."""
        root = self.folder / ("many-crashed" if crashed else "many")
        if not root.exists():
            count = self.sizes.sessions
            whole = count // 2 if crashed else count
            for number in range(whole):
                build_session(root, f"s-{number:05}", TURNS_OF_A_SMALL_SESSION, sync=False)
            for first in range(whole, count, _OPEN_AT_ONCE):
                _crash_while_writing(root, range(first, min(first + _OPEN_AT_ONCE, count)))
            os.sync()
        return root

    def workspace(self) -> Path:
        """Conversations in folders by the day, each of a few turns."""
        root = self.folder / "workspace"
        if not root.exists():
            for number in range(self.sizes.conversations):
                build_conversation(root, number)
            os.sync()
        return root


@cache
def texts() -> tuple[str, ...]:
    """A thousand texts of the same kind; turn number n says the text n modulo 1000."""
    chance = random.Random(SEED)
    made: list[str] = []
    for _ in range(1_000):
        wanted = chance.randint(CONTENT_BYTES - 50, CONTENT_BYTES + 50)
        text = ""
        while len(text.encode()) < wanted:
            text += f"{chance.choice(_WORDS)} "
        made.append(text.rstrip())
    return tuple(made)


def text(number: int) -> str:
    return texts()[number % 1_000]


def role(number: int) -> str:
    return "assistant" if number % 2 else "user"


def build_session(root: Path, session_id: str, turns: int, *, sync: bool = True) -> Path:
    """Written turn by turn, as in life, but without waiting for the disk each time."""
    library = segue.open(f"journal:{root}", durability=Durability.WRITTEN)
    with library.create(agent="bench", id=session_id) as session:
        for number in range(turns):
            session.add(role(number), text(number), tokens=60)
    path = root / f"{session_id}.jsonl"
    if sync:
        sync_file(path)
    return path


def build_conversation(root: Path, number: int) -> None:
    day = date(2026, 1, 1) + timedelta(days=number // 10)
    name = f"{number % 10 + 1:03}-plan-{number}"
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    first = Metadata(session_id=f"{day}-{name}", agent="bench", created_at=moment, status="paused", version=1, id="m")
    turns = [
        Turn(role=role(turn), content=text(number + turn), timestamp=moment, tokens=60, id=f"t-{turn}", seq=turn + 2)
        for turn in range(TURNS_OF_A_CONVERSATION)
    ]
    events: list[Event] = [replace(first, seq=1), *turns]
    lines = b"".join([encode_turns([turn]) for turn in turns])
    folder = root / "conversations" / f"{day}" / name / ".session"
    folder.mkdir(parents=True)
    (folder / "messages.jsonl").write_bytes(lines)
    (folder / "session.json").write_bytes(new_document(name, events, overview_of(fold(events)), len(lines)).encode())


def sync_file(path: Path) -> None:
    """Nothing unwritten is left for the first measured sync to carry."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _cut_short(number: int) -> int:
    """A crash comes at any turn, 20 on average; if it always came at the same one, checkpoints would be met by luck."""
    return TURNS_OF_A_SMALL_SESSION - 9 + number % 19


def _crash_while_writing(root: Path, numbers: range) -> None:
    """A process that writes these sessions and is killed before it closes any of them."""
    child = os.fork()
    if child == 0:
        try:
            library = segue.open(f"journal:{root}", durability=Durability.WRITTEN)
            held = []
            for number in numbers:
                session = library.create(agent="bench", id=f"s-{number:05}")
                for turn in range(_cut_short(number)):
                    session.add(role(turn), text(number + turn), tokens=60)
                held.append(session)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
