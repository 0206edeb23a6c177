"""The file of a rollout: plain or compressed, whole or its ends."""

from __future__ import annotations

from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, cast

from segue.errors import MissingExtraError, SegueError
from segue.integrations.format.limits import too_large, unpacked_limit
from segue.integrations.format.lines import ENDS_BYTES, Ends, Lines
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.shared.history import open_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from segue.integrations.format.lines import ReadAt, SourceLine

_WINDOW_BYTES = 128 << 20
_CHUNK_BYTES = 64 << 10
_HEAD_BYTES = 4 << 10
_LONGEST_START_BYTES = 1 << 20
_FIRST_WORDS = (b'"UserMessage"', b'"user_message"')
"""In the event for the screen that follows the first message of the user."""


def head_of(path: str) -> bytes:
    """The first bytes of a rollout, for every file at each listing; empty if it cannot be read."""
    try:
        if not path.endswith(".zst"):
            with Path(path).open("rb", buffering=0) as file:
                return file.read(_HEAD_BYTES)
        with open_rollout(path, TranscriptBuilder("codex", path)) as lines:
            return lines.read(_HEAD_BYTES, 0)
    except (OSError, SegueError):
        return b""


@contextmanager
def open_rollout(path: str, builder: TranscriptBuilder, *, only_ends: bool = False) -> Iterator[Lines]:
    """The lines of a rollout, compressed or not. MissingExtraError if there is nothing to decompress it with."""
    if not path.endswith(".zst"):
        with open_lines(path, only_ends=only_ends) as lines:
            yield _RolloutEnds(lines.read, Path(path).stat().st_size) if isinstance(lines, Ends) else lines
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


class _RolloutEnds(Ends):
    """The ends of a rollout. The first one reaches to the first message of the user, after what Codex tells a model."""

    def __iter__(self) -> Iterator[SourceLine]:
        has_words = False
        for line in self._from_offset(0):
            yield line
            has_words = has_words or any(word in (line.data or b"") for word in _FIRST_WORDS)
            after = line.place.offset + line.place.size
            if after >= (ENDS_BYTES if has_words else _LONGEST_START_BYTES):
                yield from self._last(after)
                return


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
