"""Everything that can go wrong, named after what the caller can do next.

SegueError
├── UsageError                 fix the call
│   ├── InvalidIdError
│   ├── TransitionError
│   └── UntrustedError
├── NotFoundError              ask for another
│   ├── SessionNotFoundError
│   ├── NotInTrashError
│   └── AmbiguousIdError
├── ConflictError              read again and retry
│   ├── SessionExistsError
│   ├── SessionLockedError
│   └── TakenOverError
├── DamagedError               stop and repair
├── StorageError               check the machine
│   ├── DiskFullError
│   ├── ReadOnlyError
│   ├── OutdatedStoreError
│   ├── TooLargeError
│   └── WriterStoppedError
└── MissingExtraError          install a package

An error carries its facts as fields. Its `hint` is advice that is true for every caller, so it names no command: a
command line has its own words for it (`segue.console.error_messages`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_SHOWN_IDS = 8
_SHOWN_CHARACTERS = 40


class Damage(NamedTuple):
    """One place of a session that cannot be trusted, and why."""

    place: str
    """A file name, with a line where there is one."""
    reason: str
    line: int = 0
    """1-based; 0 where the damage has no line."""
    offset: int = 0
    size_bytes: int = 0

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def unforeseen(error: Exception, place: str) -> Damage:
    """Report an unexpected exception as damage of the session that caused it; the log `segue` has the traceback."""
    import logging  # hardly ever needed

    logging.getLogger("segue").debug("%s cannot be read", place, exc_info=error)
    return Damage(place, f"Segue cannot read it ({type(error).__name__}: {error})")


class SegueError(Exception):
    """The base of all errors that Segue raises: the text says what happened and where, `hint` what to do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(SegueError):
    """The call itself is wrong, and would fail again."""


class InvalidIdError(UsageError):
    """The text cannot be the name of a session or a branch."""

    def __init__(self, text: str, *, what: str = "session id") -> None:
        shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}…"
        super().__init__(
            f"invalid {what} {shown!r}",
            hint="use 1 to 128 letters, digits, '.', '_' or '-', beginning with a letter or digit",
        )
        self.text = text


class TransitionError(UsageError):
    """The session cannot change from its current status to the one asked for."""

    def __init__(self, session_id: str, current: str, wanted: str, *, allowed: Sequence[str] = ()) -> None:
        hint = f"from {current} it can become {', '.join(allowed)}" if allowed else "resume it with force first"
        super().__init__(f"session {session_id} is {current} and cannot become {wanted}", hint=hint)
        self.session_id = session_id
        self.current = current
        self.wanted = wanted
        self.allowed = tuple(allowed)


class UntrustedError(UsageError):
    """The session asks for something that this user has neither set nor agreed to on this machine."""

    def __init__(self, message: str, *, session_id: str, store: str = "", agent: str = "") -> None:
        hint = "name the agent yourself, or agree to what it asks for" if agent else "agree to it, or replace it"
        super().__init__(message, hint=hint)
        self.session_id = session_id
        self.store = store
        """The URL of its store; empty where it is not known."""
        self.agent = agent
        """The agent that it asks for; empty where it is about something else."""


class NotFoundError(SegueError):
    """There is no such session, branch, turn or blob."""

    def __init__(self, message: str, *, hint: str = "", near: Sequence[str] = ()) -> None:
        if near and not hint:
            hint = f"did you mean {' or '.join(near)}?"
        super().__init__(message, hint=hint)
        self.near = tuple(near)
        """Names that are spelled similarly."""


class SessionNotFoundError(NotFoundError):
    """The store has no session with this id."""

    def __init__(self, session_id: str, place: str, *, near: Sequence[str] = (), message: str = "") -> None:
        super().__init__(message or f"there is no session {session_id} in {place}", near=near)
        self.session_id = session_id
        self.place = place
        """The URL or the folder of the store."""


class NotInTrashError(NotFoundError):
    """The trash of the store has no session with this id or key."""

    def __init__(self, session_id: str, store: str) -> None:
        super().__init__(f"{session_id} is not in the trash of {store}")
        self.session_id = session_id
        self.store = store


class AmbiguousIdError(NotFoundError):
    """Several sessions match this part of an id, or these words. `labels` are shown instead of the ids."""

    def __init__(self, text: str, candidates: Sequence[str], *, labels: Sequence[str] = (), hint: str = "") -> None:
        more = len(candidates) - _SHOWN_IDS
        shown = ", ".join((labels or candidates)[:_SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")
        super().__init__(
            f"{text!r} could be any of {len(candidates)} sessions: {shown}", hint=hint or "type more of the id"
        )
        self.text = text
        self.candidates = tuple(candidates)


class ConflictError(SegueError):
    """Another process or program changed what the call relied on."""


class SessionExistsError(ConflictError):
    """The id is taken."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id} exists already", hint="choose another id, or resume it")
        self.session_id = session_id


class SessionLockedError(ConflictError):
    """Another process is writing the session."""

    def __init__(self, session_id: str, *, pid: int | None, host: str | None, since: datetime | None) -> None:
        who = f"process {pid} on {host}" if pid is not None else "another process"
        when = f" since {since:%Y-%m-%d %H:%M:%S} UTC" if since is not None else ""
        super().__init__(
            f"session {session_id} is in use by {who}{when}",
            hint="wait until it is released, or continue in a copy of it; reading works at any time",
        )
        self.session_id = session_id
        self.pid = pid
        self.host = host
        self.since = since


class TakenOverError(ConflictError):
    """This writer was silent for so long that another process has become the writer of the session."""

    def __init__(self, session_id: str, *, pid: int | None, host: str | None, since: datetime | None) -> None:
        who = f"process {pid} on {host}" if pid is not None else "another process"
        when = f" at {since:%Y-%m-%d %H:%M:%S} UTC" if since is not None else ""
        super().__init__(
            f"session {session_id} was taken over by {who}{when}, because this process had not renewed its lease",
            hint="open the session again to continue after what was recorded since",
        )
        self.session_id = session_id
        self.pid = pid
        self.host = host
        self.since = since


class DamagedError(SegueError):
    """What is stored contradicts itself; nothing was changed."""

    def __init__(self, session_id: str, damages: Sequence[Damage]) -> None:
        first, more = damages[0], len(damages) - 1
        also = f" (and {more} more place{'s' if more > 1 else ''})" if more else ""
        super().__init__(
            f"session {session_id} is damaged at {first}{also}",
            hint="verify it to see every place; recover it to salvage the rest",
        )
        self.session_id = session_id
        self.damages = tuple(damages)


class StorageError(SegueError):
    """The operating system failed to read or write."""

    def __init__(self, message: str, *, hint: str = "", path: str = "", errno: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.errno = errno


class DiskFullError(StorageError):
    """The disk is full. Nothing acknowledged was changed; writing continues when there is room."""


class ReadOnlyError(StorageError):
    """It can be read here, but not written."""


class OutdatedStoreError(StorageError):
    """An older version made the store, and it must be upgraded first."""


class TooLargeError(StorageError):
    """It is larger than what is read: by mistake, or made to fill the memory of its reader."""


class WriterStoppedError(StorageError):
    """This writer met an I/O error and accepts nothing more, so that no later receipt hides it."""


class MissingExtraError(SegueError):
    """An optional package is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} is not installed", hint=f"pip install 'segue[{extra}]'")
        self.extra = extra
