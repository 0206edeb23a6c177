"""Sessions of Claude Code: a file each, and beside it what its agents did on their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.integrations import claude
from segue.integrations.format.lines import Ends
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.history import ExternalSession, OpenedTranscript, files, opened, seen

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.integrations.format.transcript import TranscriptTurn


class ClaudeHistory(Struct, frozen=True):
    name: str = "claude"

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        return Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        known: set[str] = set()
        for entry in files(self.root(home, environ), 1, ".jsonl"):
            id = entry.name.removesuffix(".jsonl")
            if id not in known:
                known.add(id)
                yield seen(id, entry, beside=list(files(_agents(entry.path), 0, ".jsonl")))

    def read(self, kept: ExternalSession) -> OpenedTranscript:
        about = TranscriptBuilder(self.name, kept.path, kept.id)
        return OpenedTranscript(about, _steps(kept.path, about))

    def glimpse(self, kept: ExternalSession) -> OpenedTranscript:
        """What Claude says of a session, it says again near the end whenever it saves it."""
        about = TranscriptBuilder(self.name, kept.path, kept.id)
        return OpenedTranscript(about, _main(kept.path, about, only_ends=True))


def _main(path: str, about: TranscriptBuilder, *, only_ends: bool = False) -> Generator[TranscriptTurn]:
    with opened(path, only_ends=only_ends) as lines:
        about.is_partial = isinstance(lines, Ends)
        yield from claude.steps(lines, about)


def _agents(path: str) -> Path:
    return Path(path.removesuffix(".jsonl")) / "subagents"


def _steps(path: str, about: TranscriptBuilder) -> Generator[TranscriptTurn]:
    yield from _main(path, about)
    for entry in files(_agents(path), 0, ".jsonl"):
        aside = TranscriptBuilder(about.tool, entry.path, about.native_id)
        with opened(entry.path) as lines:
            yield from claude.steps(lines, aside)
        about.damages += aside.damages
