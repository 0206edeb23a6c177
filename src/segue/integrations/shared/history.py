"""Finding and reading the session files of AI tools in place. Nothing here changes a file."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from segue.durable.folder import Folder
from segue.errors import NotFoundError, SegueError
from segue.integrations.format.lines import ENDS_BYTES, Ends, Lines
from segue.integrations.format.transcript import TranscriptBuilder  # noqa: TC001 - the field of a tuple

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from segue.integrations.format.transcript import TranscriptTurn


_WHOLE_BYTES = 4 * ENDS_BYTES
_SMALL_BYTES = 4096


class ExternalSession(Struct, frozen=True, kw_only=True):
    """A session that an AI tool has stored."""

    id: str
    """The tool's own id, or one made from the file if there is none."""
    revision: str
    """Changes whenever the session does."""
    path: str
    """The file that contains it, alone or with others."""
    changed_at: float
    """When that file was last changed, in seconds since the epoch."""
    offset: int = 0
    end: int = 0
    """Its position in a file with others; 0 for the whole file."""
    title: str = ""
    """The title, if the tool stores it outside the session."""
    related: tuple[str, ...] = ()
    """The other files that belong to it."""
    size: int = 0
    """The bytes of its files; 0 if it is in a file with others."""


class OpenedTranscript(NamedTuple):
    """A session that is being read: the builder is filled while the turns are taken."""

    builder: TranscriptBuilder
    turns: Generator[TranscriptTurn]


def find_files(folder: Path, depth: int, *suffixes: str) -> Iterator[os.DirEntry[str]]:
    """The files with one of these suffixes, `depth` levels below the folder; unreadable ones are skipped.

    Links are followed, but no folder is read twice on the same level, since a link to itself would have no end.
    """
    return _find_files(folder, depth, suffixes, set())


def _find_files(
    folder: Path, depth: int, suffixes: tuple[str, ...], seen: set[tuple[int, int, int]]
) -> Iterator[os.DirEntry[str]]:
    try:
        state = folder.stat()
        key = (depth, state.st_dev, state.st_ino)
        if key in seen:
            return
        seen.add(key)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            if depth and entry.is_dir():
                yield from _find_files(Path(entry.path), depth - 1, suffixes, seen)
            elif not depth and entry.name.endswith(suffixes) and entry.is_file():
                entry.stat()  # the entry caches it: the file may be gone a moment later
                yield entry
        except OSError:
            continue  # it disappeared meanwhile


def session_in_file(
    id: str, main: os.DirEntry[str] | Path, *, related: Sequence[os.DirEntry[str]] = (), title: str = ""
) -> ExternalSession:
    """A session in a file of its own, whose revision also depends on the related files."""
    states = [main.stat(), *(entry.stat() for entry in related)]
    revision = "-".join(f"{state.st_size}.{state.st_mtime_ns}" for state in states)
    changed_at = max(state.st_mtime for state in states)
    return ExternalSession(
        id=escape_undecodable(id),
        revision=escape_undecodable(revision + (f"-{title}" if title else "")),
        path=str(Path(main)),
        changed_at=changed_at,
        title=title,
        related=tuple(str(Path(entry)) for entry in related),
        size=sum(state.st_size for state in states),
    )


def mentions(entry: os.DirEntry[str], word: bytes) -> bool:
    """Whether a file may contain this word, as every large one may: some tools store sessions that are empty."""
    if entry.stat().st_size > _SMALL_BYTES:
        return True
    try:
        with open_lines(entry.path) as lines:
            return word in lines.read(_SMALL_BYTES, 0)
    except SegueError:
        return True  # reading it reports why


def escape_undecodable(name: str) -> str:
    """A name as valid text: file systems accept any bytes, and JSON accepts lone surrogates. They become escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


@contextmanager
def open_lines(path: str, *, only_ends: bool = False) -> Iterator[Lines]:
    """The lines of a file, read as they are needed; links are followed, and a pipe does not block.

    With `only_ends`, only the first and the last lines of a large file.
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


@contextmanager
def open_transcript(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Iterator[Lines]:
    """Like `open_lines`; the builder knows whether lines in the middle are skipped."""
    with open_lines(path, only_ends=only_ends) as lines:
        builder.is_partial = isinstance(lines, Ends)
        yield lines


def gone(path: str) -> NotFoundError:
    return NotFoundError(f"{path} does not exist any more", hint="the tool has deleted or moved it")
