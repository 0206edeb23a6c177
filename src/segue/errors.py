"""Everything that can go wrong, named after what the caller can do next.

SegueError
├── UsageError                 fix the call
│   ├── InvalidIdError
│   └── TransitionError
├── NotFoundError              ask for another
│   └── AmbiguousIdError
├── ConflictError              re-read and retry
│   ├── SessionExistsError
│   └── SessionLockedError
├── DamagedError               stop and repair
├── StorageError               the operator's problem
│   ├── DiskFullError
│   ├── ReadOnlyError
│   ├── TooLargeError
│   └── WriterStoppedError
└── MissingExtraError          install something
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


class Damage(NamedTuple):
    """One place of a session that cannot be believed, and why."""

    place: str
    """Where: a file name with a line, as a person would look it up."""
    reason: str
    line: int = 0
    """1-based; 0 where the damage has no line."""
    offset: int = 0
    size_bytes: int = 0

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def unforeseen(error: Exception, place: str) -> Damage:
    """What nobody foresaw, as the damage of the session that it came of. Where it came up, the log of `segue` tells."""
    import logging  # hardly ever needed

    logging.getLogger("segue").debug("%s cannot be read", place, exc_info=error)
    return Damage(place, f"Segue cannot read it ({type(error).__name__}: {error})")


class SegueError(Exception):
    """Anything Segue raises on purpose: what happened and where (the text), and what to do next (the hint)."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(SegueError):
    """The call itself is wrong, and would be wrong again."""


class InvalidIdError(UsageError):
    """A text that cannot be the name of a session or a branch."""

    def __init__(self, text: str, *, what: str = "session id") -> None:
        shown = text if len(text) <= 40 else f"{text[:37]}…"  # noqa: PLR2004 - what fits on a line
        super().__init__(
            f"invalid {what} {shown!r}",
            hint="use 1 to 128 letters, digits, '.', '_' or '-', beginning with a letter or digit",
        )
        self.text = text


class TransitionError(UsageError):
    """A status that cannot follow the present one."""

    def __init__(self, session_id: str, current: str, wanted: str, *, hint: str) -> None:
        super().__init__(f"session {session_id} is {current} and cannot become {wanted}", hint=hint)
        self.session_id = session_id
        self.current = current
        self.wanted = wanted


class NotFoundError(SegueError):
    """There is no such session, branch, turn or blob."""

    def __init__(self, message: str, *, hint: str = "", near: Sequence[str] = ()) -> None:
        if near and not hint:
            hint = f"did you mean {' or '.join(near)}?"
        super().__init__(message, hint=hint)
        self.near = tuple(near)


class AmbiguousIdError(NotFoundError):
    """A prefix that several sessions share."""

    def __init__(self, prefix: str, candidates: Sequence[str]) -> None:
        shown = ", ".join(candidates[:8]) + (f" and {len(candidates) - 8} more" if len(candidates) > 8 else "")  # noqa: PLR2004
        super().__init__(f"{prefix!r} could be any of {len(candidates)} sessions: {shown}", hint="type more of the id")
        self.prefix = prefix
        self.candidates = tuple(candidates)


class ConflictError(SegueError):
    """Somebody else changed what the call relied on."""


class SessionExistsError(ConflictError):
    """The id is taken."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id} exists already", hint="choose another id, or resume it")
        self.session_id = session_id


class SessionLockedError(ConflictError):
    """Another writer is alive in this session."""

    def __init__(self, session_id: str, *, pid: int | None, host: str | None, since: datetime | None) -> None:
        who = f"process {pid} on {host}" if pid is not None else "another process"
        when = f" since {since:%Y-%m-%d %H:%M:%S} UTC" if since is not None else ""
        super().__init__(
            f"session {session_id} is in use by {who}{when}",
            hint="wait for it, or fork the session; reading it is possible at any time",
        )
        self.session_id = session_id
        self.pid = pid
        self.host = host
        self.since = since


class DamagedError(SegueError):
    """What is stored does not agree with itself; nothing was changed."""

    def __init__(self, session_id: str, damages: Sequence[Damage]) -> None:
        first, more = damages[0], len(damages) - 1
        also = f" (and {more} more place{'s' if more > 1 else ''})" if more else ""
        super().__init__(
            f"session {session_id} is damaged at {first}{also}",
            hint=f"segue verify {session_id} shows every place; segue recover {session_id} salvages the rest",
        )
        self.session_id = session_id
        self.damages = tuple(damages)


class StorageError(SegueError):
    """The machine would not do what was asked of it."""

    def __init__(self, message: str, *, hint: str = "", path: str = "", errno: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.errno = errno


class DiskFullError(StorageError):
    """No room. Nothing acknowledged was changed; writing goes on when there is room."""


class ReadOnlyError(StorageError):
    """It can be read here, but not written."""


class TooLargeError(StorageError):
    """There is more of it than is read: a mistake, or made to fill the memory of whoever opens it."""


class WriterStoppedError(StorageError):
    """This writer met an I/O error and takes nothing more, so that no later receipt hides it."""


class MissingExtraError(SegueError):
    """An optional part is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} is not installed", hint=f"pip install 'segue[{extra}]'")
        self.extra = extra
