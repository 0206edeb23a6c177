"""What a tool keeps of its own conversations: found by a look at each, read in place, never changed."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from segue.durable.folder import Folder
from segue.errors import AmbiguousIdError, NotFoundError
from segue.integrations.format.lines import ENDS_BYTES, Ends, Lines
from segue.integrations.format.transcript import TranscriptBuilder  # noqa: TC001 - the field of a tuple

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from segue.integrations.format.transcript import TranscriptTurn


_WHOLE_BYTES = 4 * ENDS_BYTES


class ExternalSession(Struct, frozen=True, kw_only=True):
    """A session that a tool has."""

    id: str
    """The tool's own, or one made for it where it has none."""
    revision: str
    """Changes whenever the session does."""
    path: str
    """The file that it is in, alone or with others."""
    changed_at: float
    """Seconds since the epoch: when somebody wrote to that file last."""
    offset: int = 0
    end: int = 0
    """Where in the file, if with others; 0 for all of it."""
    title: str = ""
    """Where a title is kept beside the session."""


class OpenedTranscript(NamedTuple):
    """A session as it is read: `about` is filled while the steps are taken."""

    about: TranscriptBuilder
    steps: Generator[TranscriptTurn]


class History(Protocol):
    """The sessions of one tool. Looking and reading change nothing, lock nothing and wait for nobody."""

    @property
    def name(self) -> str: ...

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        """Where the tool keeps them."""

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        """Every session there is, each once, at the cost of a look at its file. StorageError if one cannot look."""

    def read(self, kept: ExternalSession) -> OpenedTranscript:
        """The session, turn by turn. NotFoundError if it is gone."""


@runtime_checkable
class PreviewHistory(History, Protocol):
    """A history of large files, whose ends tell what a listing shows."""

    def glimpse(self, kept: ExternalSession) -> OpenedTranscript:
        """As `read`, without the turns in the middle of a large session."""


def find_external(history: History, id: str, home: Path, environ: Mapping[str, str]) -> ExternalSession:
    """The one session that this id, or this beginning of an id, names."""
    found = {one.id: one for one in history.kept(home, environ) if one.id.startswith(id)}
    if id in found:
        return found[id]
    if len(found) > 1:
        raise AmbiguousIdError(id, sorted(found))
    if not found:
        raise NotFoundError(
            f"{history.name} has no session {id!r:.80}",
            hint=f"its sessions are in {history.root(home, environ)}",
        )
    return next(iter(found.values()))


def files(folder: Path, depth: int, *suffixes: str) -> Iterator[os.DirEntry[str]]:
    """The files with one of these endings, so many levels below; without those that cannot be looked at.

    Links are followed, but no folder is looked through twice at one level: a link to itself would have no end.
    """
    return _files(folder, depth, suffixes, set())


def _files(
    folder: Path, depth: int, suffixes: tuple[str, ...], seen: set[tuple[int, int, int]]
) -> Iterator[os.DirEntry[str]]:
    try:
        state = folder.stat()
        place = (depth, state.st_dev, state.st_ino)
        if place in seen:
            return
        seen.add(place)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            if depth and entry.is_dir():
                yield from _files(Path(entry.path), depth - 1, suffixes, seen)
            elif not depth and entry.name.endswith(suffixes) and entry.is_file():
                entry.stat()  # which it remembers: a file may be gone a moment later
                yield entry
        except OSError:
            continue  # gone while we looked


def seen(
    id: str, main: os.DirEntry[str] | Path, *, beside: Sequence[os.DirEntry[str]] = (), title: str = ""
) -> ExternalSession:
    """A session in a file of its own, and what lies beside it."""
    states = [main.stat(), *(entry.stat() for entry in beside)]
    revision = "-".join(f"{state.st_size}.{state.st_mtime_ns}" for state in states)
    changed_at = max(state.st_mtime for state in states)
    return ExternalSession(
        id=readable(id),
        revision=readable(revision + (f"-{title}" if title else "")),
        path=str(Path(main)),
        changed_at=changed_at,
        title=title,
    )


def readable(name: str) -> str:
    """A name as text: the file system hands over any bytes, and JSON halves of characters. They become escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


@contextmanager
def opened(path: str, *, only_ends: bool = False) -> Iterator[Lines]:
    """The lines of a file, read as they are asked for; a link is followed, a pipe is not waited for.

    With `only_ends`, of a large one the first and the last alone.
    """
    parent, name = os.path.split(os.path.realpath(path))
    folder = Folder(parent)
    try:
        fd = folder.open(name)
    except FileNotFoundError:
        raise gone(path) from None
    try:
        with folder.storage_errors(name, "read"):
            size = os.fstat(fd).st_size
            lines = Lines(lambda size, offset: folder.kernel.pread(fd, size, offset))
            yield Ends(lines.read, size) if only_ends and size > _WHOLE_BYTES else lines
    finally:
        folder.kernel.close(fd)


def gone(path: str) -> NotFoundError:
    return NotFoundError(f"{path} is not there any more", hint="the tool has deleted or moved it")
