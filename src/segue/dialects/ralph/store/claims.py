"""Which session works on which change: a small file in the project that outlives the short processes that write it.

A claim ends with its session. It is stale when the file of its session is gone, as after a reboot that emptied the
temporary folder; whether a session on another host is gone cannot be seen from here, so its claim stays.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from segue.durable.folder import Folder
from segue.durable.kernel import KERNEL, Kernel
from segue.durable.lock import WriterLock
from segue.durable.snapshot import read_signature
from segue.errors import ConflictError
from segue.ids import check_id, is_id

if TYPE_CHECKING:
    from collections.abc import Iterator

GUARD = ".guard"
"""A kernel lock, held while a claim is read and changed."""
PATIENCE_SECONDS = 60.0
_SUFFIX = ".lock"


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The right of one session to work on a change."""

    change: str
    session: str = ""
    """Empty if the file does not contain it, like the other fields."""
    host: str = ""
    pid: int = 0
    since: datetime | None = None
    sessions: str = ""
    """The folder with the file of the session."""


class ChangeLockedError(ConflictError):
    """Another session works on this change."""

    def __init__(self, claim: Claim) -> None:
        who = f"session {claim.session}" if claim.session else "an unknown session"
        where = f" (process {claim.pid} on {claim.host})" if claim.host else ""
        when = f" since {claim.since:%Y-%m-%d %H:%M:%S} UTC" if claim.since is not None else ""
        super().__init__(
            f"change {claim.change} is locked by {who}{where}{when}",
            hint="let that session flush or release it, or take it over on purpose with --takeover",
        )
        self.claim = claim


class Claims:
    """The claims of one project, in `<project>/.ralph/locks`."""

    def __init__(self, project: str, *, sessions: str, kernel: Kernel = KERNEL) -> None:
        self._folder = Folder(project, kernel).sub(".ralph")
        self.locks = self._folder.sub("locks")
        self._sessions = sessions

    def find(self, change: str) -> Claim | None:
        """The current claim of a change, stale or not."""
        try:
            data = self.locks.read(_file_name(change))
        except FileNotFoundError:
            return None
        try:
            found = msgspec.json.decode(data, type=Claim)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return Claim(change=change)  # it is claimed, even if the file cannot be read
        return msgspec.structs.replace(found, change=change)

    def list(self) -> list[Claim]:
        """All claims, sorted by the name of the change."""
        names = sorted(entry.name.removesuffix(_SUFFIX) for entry in self.locks.scan() if entry.name.endswith(_SUFFIX))
        return [claim for name in names if is_id(name) and (claim := self.find(name)) is not None]

    def folders_of(self, session_id: str) -> Iterator[str]:
        """The folders on this host that claims name for the file of this session."""
        if self.locks.exists():
            host = os.uname().nodename
            yield from (one.sessions for one in self.list() if one.session == session_id and one.host == host)

    def is_stale(self, claim: Claim) -> bool:
        """Whether the file of its session is known to be gone."""
        if not is_id(claim.session) or not claim.sessions or claim.host != os.uname().nodename:
            return False
        return not os.path.lexists(f"{claim.sessions}/{claim.session}.json")

    def take(self, change: str, session_id: str, *, since: datetime, takeover: bool = False) -> Claim | None:
        """Claim the change for a session whose file exists already. Exactly one of many callers gets it.

        Returns the claim that was taken over, stale or on purpose; None if there was none, or if it is this
        session's own. ChangeLockedError if another session has it.
        """
        claim = Claim(
            change=change,
            session=check_id(session_id),
            host=os.uname().nodename,
            pid=os.getpid(),
            since=since,
            sessions=self._sessions,
        )
        with self._guarded(since):
            before = self.find(change)
            if before is not None and before.session == session_id:
                return None
            data = msgspec.json.format(msgspec.json.encode(claim), indent=2) + b"\n"
            self._keep_out_of_git()
            if before is None:
                try:
                    self.locks.create(_file_name(change), data)
                except FileExistsError:  # of a program that does not know the guard
                    raise ChangeLockedError(self.find(change) or Claim(change=change)) from None
                return None
            if not takeover and not self.is_stale(before):
                raise ChangeLockedError(before)
            self.locks.replace(_file_name(change), data)
            return before

    def release(self, change: str, session_id: str, *, now: datetime) -> bool:
        """End the claim of this session. Returns whether it still had the claim."""
        with self._guarded(now):
            claim = self.find(change)
            if claim is None or claim.session != session_id:
                return False
            self.locks.remove(_file_name(change))
            return True

    def _keep_out_of_git(self) -> None:
        """Claims belong to one machine and are not committed."""
        with suppress(FileExistsError):
            if not read_signature(self._folder, ".gitignore"):
                self._folder.create(".gitignore", b"*\n")

    @contextmanager
    def _guarded(self, now: datetime) -> Iterator[None]:
        lock = WriterLock.acquire(self.locks, GUARD, timeout_seconds=PATIENCE_SECONDS, since=now)
        if not isinstance(lock, WriterLock):
            raise ConflictError(f"{self.locks.path} is in use by process {lock.pid}", hint="try again")
        try:
            yield
        finally:
            lock.release()


def _file_name(change: str) -> str:
    return check_id(change, what="change name") + _SUFFIX
