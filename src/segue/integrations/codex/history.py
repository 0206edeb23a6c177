"""Sessions of Codex: a rollout each, compressed when it is old; what they are called is in a file beside them."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from segue.errors import MissingExtraError, NotFoundError, TooLargeError
from segue.integrations import codex
from segue.integrations.format.limits import too_large, unpacked_limit
from segue.integrations.format.lines import Ends, Lines
from segue.integrations.format.transcript import TranscriptBuilder, as_text
from segue.integrations.history import ExternalSession, OpenedTranscript, files, opened, seen

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator, Mapping
    from typing import BinaryIO

    from segue.integrations.format.lines import Read
    from segue.integrations.format.transcript import TranscriptTurn

_ID_LENGTH = len("01a1df33-fc2a-7eb2-8416-482a85e91f8c")
_ENDINGS = (".jsonl", ".jsonl.zst")
_WINDOW_BYTES = 128 << 20
_CHUNK_BYTES = 64 << 10


class CodexHistory(Struct, frozen=True):
    name: str = "codex"

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        return Path(environ.get("CODEX_HOME") or home / ".codex")

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        root = self.root(home, environ)
        titles = _titles(root / "session_index.jsonl")
        for id, entry in _rollouts(root).items():
            yield seen(id, entry, title=titles.get(id, ""))

    def read(self, kept: ExternalSession) -> OpenedTranscript:
        about = TranscriptBuilder(self.name, kept.path, kept.id)
        about.title = kept.title
        return OpenedTranscript(about, _steps(kept.path, about))

    def glimpse(self, kept: ExternalSession) -> OpenedTranscript:
        """Titles are kept beside the sessions, and everything else that a listing shows is at their ends."""
        about = TranscriptBuilder(self.name, kept.path, kept.id)
        about.title = kept.title
        return OpenedTranscript(about, _steps(kept.path, about, only_ends=True))


def _rollouts(root: Path) -> dict[str, os.DirEntry[str]]:
    """By id; the plain one before a compressed one, the living before the archived."""
    entries = [*files(root / "sessions", 3, *_ENDINGS), *files(root / "archived_sessions", 0, *_ENDINGS)]
    found: dict[str, os.DirEntry[str]] = {}
    for entry in sorted(entries, key=lambda entry: entry.name.endswith(".zst")):
        found.setdefault(entry.name.partition(".jsonl")[0][-_ID_LENGTH:], entry)
    return found


def _titles(path: Path) -> dict[str, str]:
    """Names are appended: the last one counts."""
    about = TranscriptBuilder("codex", str(path))
    try:
        with opened(str(path)) as lines:
            return {as_text(record.get("id")): as_text(record.get("thread_name")) for _, record in about.records(lines)}
    except (NotFoundError, TooLargeError):
        return {}


def _steps(path: str, about: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    with ExitStack() as stack:
        known: dict[str, os.DirEntry[str]] = {}

        def find(thread: str) -> Lines | None:
            known.update(known or _rollouts(_root_of(Path(path))))
            found = known.get(thread)
            return open_rollout(found.path) if found else None

        def open_rollout(path: str) -> Lines:
            lines = stack.enter_context(rollout(path, about, only_ends=only_ends))
            about.is_partial = about.is_partial or isinstance(lines, Ends)
            return lines

        lines = open_rollout(path)
        yield from codex.steps(lines, about, find)


def _root_of(path: Path) -> Path:
    above = path.parent
    return above.parent if above.name == "archived_sessions" else above.parents[3]


@contextmanager
def rollout(path: str, about: TranscriptBuilder, *, only_ends: bool = False) -> Iterator[Lines]:
    """The lines of a rollout, whether it is compressed or not. MissingExtraError where that cannot be undone."""
    if not path.endswith(".zst"):
        with opened(path, only_ends=only_ends) as lines:
            yield lines
        return
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard, which reads what Codex has compressed,", "codex") from None
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    with (
        opened(path) as packed,
        unpacker.stream_reader(cast("BinaryIO", _Packed(packed.read)), read_size=_CHUNK_BYTES) as stream,
    ):
        yield Lines(_Unpacked(stream, zstandard.ZstdError, about, unpacked_limit(Path(path).stat().st_size)).read)


class _Packed(RawIOBase):
    """A file as unpackers read it: from front to back."""

    def __init__(self, read: Read) -> None:
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
    """A stream that is read from front to back; where it breaks, it ends, and where there is too much, too."""

    def __init__(self, stream: BinaryIO, error: type[Exception], about: TranscriptBuilder, limit: int) -> None:
        self._stream = stream
        self._error = error
        self._about = about
        self._limit = limit

    def read(self, size: int, offset: int) -> bytes:
        if offset > self._limit:
            raise too_large(f"{self._about.place} unpacks to more than {self._limit >> 20:,} MB")
        try:
            return self._stream.read(size)
        except self._error as error:
            self._about.damage(f"it cannot be unpacked beyond byte {offset:,} ({error})")
            return b""
