"""What an acknowledged turn survives: found by watching the system calls of one append, not by believing anybody."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peer import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

_SYNCS = ("fsync", "fdatasync", "sync_file_range", "msync")
_RENAMES = ("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat")
_MARKS = ("access", "faccessat", "faccessat2")
_CALL = re.compile(r"^(?:\d+\s+)?(\w+)\((.*)$")
_PATH = re.compile(r'<(/[^>]*)>|"([^"]*)"')

UNKNOWN = "not traced: strace is missing"
KILL = "kill -9, not power loss"
UNDONE = "kill -9; power loss can undo the last turn"
POWER = "power loss"


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    name: str
    path: str

    def __str__(self) -> str:
        return f"{self.name} {Path(self.path).name}".rstrip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Survival:
    verdict: str
    calls: tuple[Call, ...] = ()

    @property
    def why(self) -> str:
        if not self.calls:
            return ""
        syncs = sum(call.name in _SYNCS for call in self.calls)
        kinds = ", then ".join(dict.fromkeys(_kind(call) for call in self.calls))
        return f"{syncs or 'no'} sync{'' if syncs == 1 else 's'}: {kinds}"


def watch(folder: Path, command: Sequence[str]) -> Survival:
    """What the append that a command makes between two marks survives."""
    strace = shutil.which("strace")
    if strace is None:
        return Survival(verdict=UNKNOWN)
    output = folder.with_suffix(".strace")
    watched = ",".join((*_SYNCS, *_RENAMES, *_MARKS))
    options = ["-f", "-y", "-qq", "-o", str(output), "-e", f"trace={watched}", "-e", "signal=none"]
    done = subprocess.run([strace, *options, *command], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        return Survival(verdict="not traced: strace may not attach here")
    calls = between_marks(output.read_text(encoding="utf-8", errors="replace"))
    return Survival(verdict=judge(calls), calls=calls)


def between_marks(trace: str) -> tuple[Call, ...]:
    """The syncs and changes of names that one append made, in order."""
    calls: list[Call] = []
    marks = 0
    for line in trace.splitlines():
        found = _CALL.match(line)
        if found is None:
            continue  # the second half of a call that another thread interrupted
        name, rest = found[1], found[2]
        if name in _MARKS:
            marks += MARK in rest
        elif marks == 1:
            paths = [first or second for first, second in _PATH.findall(rest)]
            calls.append(Call(name=name, path=paths[-1] if paths else ""))
    assert marks == 2, "the append was not traced from beginning to end"
    return tuple(calls)


def judge(calls: tuple[Call, ...]) -> str:
    """Without a sync it is in the kernel's memory only; a change of names behind the last sync can be taken back."""
    syncs = [at for at, call in enumerate(calls) if call.name in _SYNCS]
    if not syncs:
        return KILL
    return UNDONE if any(call.name in _RENAMES for call in calls[syncs[-1] + 1 :]) else POWER


def _kind(call: Call) -> str:
    """The call and what kind of file it was on, without the names of this run."""
    name = Path(call.path).name
    for ending in ("-wal", "-journal", "-shm"):
        if name.endswith(ending):
            return f"{call.name} *{ending}"
    return f"{call.name} *{Path(call.path).suffix}" if Path(call.path).suffix else f"{call.name} folder"
