"""The sessions of Codex: one rollout file per session, compressed when it is old; titles are in one more file."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, cast

from segue.errors import MissingExtraError, NotFoundError, TooLargeError
from segue.integrations.codex.reader import parse_turns
from segue.integrations.format.limits import too_large, unpacked_limit
from segue.integrations.format.lines import Ends, Lines
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import as_text
from segue.integrations.shared.history import ExternalSession, OpenedTranscript, find_files, open_lines, session_in_file

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator, Mapping
    from typing import BinaryIO

    from segue.integrations.format.lines import ReadAt
    from segue.integrations.format.transcript import TranscriptTurn

_ID_LENGTH = len("01a1df33-fc2a-7eb2-8416-482a85e91f8c")
_ENDINGS = (".jsonl", ".jsonl.zst")
_WINDOW_BYTES = 128 << 20
_CHUNK_BYTES = 64 << 10


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CODEX_HOME") or home / ".codex")


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    folder = root(home, environ)
    titles = _titles(folder / "session_index.jsonl")
    for id, entry in find_rollouts(folder).items():
        yield session_in_file(id, entry, title=titles.get(id, ""))


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("codex", session.path, session.id)
    builder.title = session.title
    return OpenedTranscript(builder, _read(session.path, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the rollout, which contain what a listing shows; titles are in another file."""
    builder = TranscriptBuilder("codex", session.path, session.id)
    builder.title = session.title
    return OpenedTranscript(builder, _read(session.path, builder, only_ends=True))


def find_rollouts(folder: Path) -> dict[str, os.DirEntry[str]]:
    """The rollouts by id; a plain one before a compressed one, a current one before an archived one."""
    entries = [*find_files(folder / "sessions", 3, *_ENDINGS), *find_files(folder / "archived_sessions", 0, *_ENDINGS)]
    found: dict[str, os.DirEntry[str]] = {}
    for entry in sorted(entries, key=lambda entry: entry.name.endswith(".zst")):
        found.setdefault(entry.name.partition(".jsonl")[0][-_ID_LENGTH:], entry)
    return found


def _titles(path: Path) -> dict[str, str]:
    """The titles by id. A new title is appended, so the last one counts."""
    builder = TranscriptBuilder("codex", str(path))
    try:
        with open_lines(str(path)) as lines:
            return {
                as_text(record.get("id")): as_text(record.get("thread_name")) for _, record in builder.records(lines)
            }
    except (NotFoundError, TooLargeError):
        return {}


def _read(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    with ExitStack() as stack:
        known: dict[str, os.DirEntry[str]] = {}

        def find(thread: str) -> Lines | None:
            known.update(known or find_rollouts(_root_of(Path(path))))
            found = known.get(thread)
            return open_one(found.path) if found else None

        def open_one(path: str) -> Lines:
            lines = stack.enter_context(_open_rollout(path, builder, only_ends=only_ends))
            builder.is_partial = builder.is_partial or isinstance(lines, Ends)
            return lines

        yield from parse_turns(open_one(path), builder, find)


def _root_of(path: Path) -> Path:
    above = path.parent
    return above.parent if above.name == "archived_sessions" else above.parents[3]


@contextmanager
def _open_rollout(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Iterator[Lines]:
    """The lines of a rollout, compressed or not. MissingExtraError if there is nothing to decompress it with."""
    if not path.endswith(".zst"):
        with open_lines(path, only_ends=only_ends) as lines:
            yield lines
        return
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard, which reads what Codex has compressed,", "codex") from None
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    with (
        open_lines(path) as packed,
        unpacker.stream_reader(cast("BinaryIO", _Packed(packed.read)), read_size=_CHUNK_BYTES) as stream,
    ):
        yield Lines(_Unpacked(stream, zstandard.ZstdError, builder, unpacked_limit(Path(path).stat().st_size)).read)


class _Packed(RawIOBase):
    """A file as a decompressor reads it: from start to end."""

    def __init__(self, read: ReadAt) -> None:
        self._read = read
        self._offset = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any buffer is one
        data = self._read(len(buffer), self._offset)
        self._offset += len(data)
        buffer[: len(data)] = data
        return len(data)


class _Unpacked:
    """A stream that is read from start to end; it ends where it is damaged, and TooLargeError is its limit."""

    def __init__(self, stream: BinaryIO, error: type[Exception], builder: TranscriptBuilder, limit: int) -> None:
        self._stream = stream
        self._error = error
        self._builder = builder
        self._limit = limit

    def read(self, size: int, offset: int) -> bytes:
        if offset > self._limit:
            raise too_large(f"{self._builder.place} decompresses to more than {self._limit >> 20:,} MB")
        try:
            return self._stream.read(size)
        except self._error as error:
            self._builder.damage(f"it cannot be decompressed beyond byte {offset:,} ({error})")
            return b""
