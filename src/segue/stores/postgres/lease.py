"""One writer per session by a lease in the session's row: who has it, and the thread that renews it.

The lease ends by the server's clock. The clocks of the clients never matter, and a writer whose lease was taken over
cannot write any more, because its fence is old.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from segue.errors import ConflictError, NotFoundError
from segue.store import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime


class Holder(NamedTuple):
    """The writer that a row names."""

    token: uuid.UUID | None
    is_leased: bool
    """Whether the lease had not ended when the server was asked."""
    pid: int | None
    host: str | None
    process: str | None
    since: datetime | None

    @property
    def is_alive(self) -> bool:
        """Whether it may still write: a writer of this process that was left, or a process that is gone, cannot."""
        return self.is_leased and self.token not in _left and not _is_gone(self.pid, self.process)

    @property
    def gone(self) -> list[uuid.UUID]:
        """The token, if it is known that nobody has it any more."""
        return [self.token] if self.token is not None and not self.is_alive else []

    @property
    def owner(self) -> Owner:
        return Owner(pid=self.pid, host=self.host, since=self.since)


class Claim(NamedTuple):
    """What this process writes into the row when it becomes the writer."""

    token: uuid.UUID
    pid: int
    host: str
    process: str


_left: set[uuid.UUID] = set()


def leave(token: uuid.UUID) -> None:
    """Remember that nobody in this process has this claim any more, whether or not the server can be told."""
    _left.add(token)


def forget(token: uuid.UUID) -> None:
    """The server has been told."""
    _left.discard(token)


@contextmanager
def leaving(claim: Claim) -> Iterator[None]:
    """Leave the claim if this fails and the server may have accepted it."""
    try:
        yield
    except (NotFoundError, ConflictError):
        raise
    except BaseException:
        leave(claim.token)
        raise


def new_claim() -> Claim:
    pid = os.getpid()
    # Not uuid4: a program that makes its own ids repeatable replaces that function, and two claims would be the same.
    token = uuid.UUID(bytes=os.urandom(16), version=4)
    return Claim(token, pid, socket.gethostname(), f"{this_machine()} {_started(pid) or ''}")


def _is_gone(pid: int | None, process: str | None) -> bool:
    """Whether it was a process of this machine, since its last start, that runs no more."""
    machine, _, started = (process or "").rpartition(" ")
    if not (pid and machine and started) or machine != this_machine():
        return False
    now = _started(pid)
    return now != started if now is not None else not _is_hidden(pid)


@lru_cache(maxsize=1)
def this_machine() -> str:
    """This start of this machine, and the processes that can be seen here (of one container, or all)."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    return ""


def _started(pid: int | None) -> str | None:
    """When a process started, in ticks since the machine did; None if it does not run (or nothing can be seen)."""
    with suppress(OSError, IndexError):
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = text.rpartition(")")[2].split()
        return fields[19] if fields[0] != "Z" else None
    return None


def _is_hidden(pid: int) -> bool:
    """Whether a process that cannot be looked at runs: one of another user, where the machine hides those."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return False  # ended, and not yet collected by its parent


class Heartbeat:
    """Calls `beat` every so often from one thread of its own, while anybody needs it.

    The thread ends at its next beat and not at once: a program that opens a session for each call would start one each
    time.
    """

    def __init__(self, beat: Callable[[], None], every_seconds: float, *, name: str) -> None:
        self._beat = beat
        self.every_seconds = every_seconds
        self._name = name
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._count = 0

    def start(self) -> None:
        """Begin, unless it has begun; every `start` needs its `stop`."""
        with self._mutex:
            if self._pid != os.getpid():  # the thread stayed in the parent
                self._pid, self._thread, self._count = os.getpid(), None, 0
            self._count += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def stop(self) -> None:
        with self._mutex:
            self._count -= 1

    def _is_needed(self) -> bool:
        with self._mutex:
            if self._count <= 0:
                self._thread = None
            return self._thread is not None

    def _run(self) -> None:
        pause = self.every_seconds
        while True:
            time.sleep(pause)
            began = time.monotonic()
            try:
                self._beat()
            except Exception as error:  # no failure may end it: the next beat tries again
                logging.getLogger("segue").debug("%s failed", self._name, exc_info=error)
            # A beat that had to wait for a dead connection is followed by the next one at once.
            pause = max(self.every_seconds / 10, self.every_seconds - (time.monotonic() - began))
            if not self._is_needed():  # after a last beat, for what was left to it
                return
