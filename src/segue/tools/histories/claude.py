"""Sessions of Claude Code: a file each, and beside it what its agents did on their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.formats.foreign import claude
from segue.formats.foreign.lines import Ends
from segue.formats.foreign.transcript import Gathering
from segue.tools.histories.history import Kept, Reading, files, opened, seen

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.formats.foreign.transcript import Step


class ClaudeHistory(Struct, frozen=True):
    name: str = "claude"

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        return Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[Kept]:
        known: set[str] = set()
        for entry in files(self.root(home, environ), 1, ".jsonl"):
            id = entry.name.removesuffix(".jsonl")
            if id not in known:
                known.add(id)
                yield seen(id, entry, beside=list(files(_agents(entry.path), 0, ".jsonl")))

    def read(self, kept: Kept) -> Reading:
        about = Gathering(self.name, kept.path, kept.id)
        return Reading(about, _steps(kept.path, about))

    def glimpse(self, kept: Kept) -> Reading:
        """What Claude says of a session, it says again near the end whenever it saves it."""
        about = Gathering(self.name, kept.path, kept.id)
        return Reading(about, _main(kept.path, about, only_ends=True))


def _main(path: str, about: Gathering, *, only_ends: bool = False) -> Generator[Step]:
    with opened(path, only_ends=only_ends) as lines:
        about.is_partial = isinstance(lines, Ends)
        yield from claude.steps(lines, about)


def _agents(path: str) -> Path:
    return Path(path.removesuffix(".jsonl")) / "subagents"


def _steps(path: str, about: Gathering) -> Generator[Step]:
    yield from _main(path, about)
    for entry in files(_agents(path), 0, ".jsonl"):
        aside = Gathering(about.tool, entry.path, about.native_id)
        with opened(entry.path) as lines:
            yield from claude.steps(lines, aside)
        about.damages += aside.damages
