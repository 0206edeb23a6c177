"""Sessions of pi: a file each, in a folder a project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.integrations import pi
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.history import ExternalSession, OpenedTranscript, files, opened, seen

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn


class PiHistory(Struct, frozen=True):
    name: str = "pi"

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        agent = Path(environ.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
        return Path(environ.get("PI_CODING_AGENT_SESSION_DIR") or agent / "sessions")

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        root = self.root(home, environ)
        known: set[str] = set()
        for entry in (*files(root, 1, ".jsonl"), *files(root, 0, ".jsonl")):
            id = entry.name.removesuffix(".jsonl").rpartition("_")[2]
            if id not in known:
                known.add(id)
                yield seen(id, entry)

    def read(self, kept: ExternalSession) -> OpenedTranscript:
        about = TranscriptBuilder(self.name, kept.path, kept.id)
        return OpenedTranscript(about, _steps(kept.path, about))


def _steps(path: str, about: TranscriptBuilder) -> Generator[TranscriptTurn]:
    with opened(path) as lines:
        yield from pi.steps(lines, about)
