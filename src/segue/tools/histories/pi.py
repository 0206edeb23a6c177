"""Sessions of pi: a file each, in a folder a project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue.formats.foreign import pi
from segue.formats.foreign.transcript import Gathering
from segue.tools.histories.history import Kept, Reading, files, opened, seen

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from segue.formats.foreign.transcript import Step


class PiHistory(Struct, frozen=True):
    name: str = "pi"

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        agent = Path(environ.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
        return Path(environ.get("PI_CODING_AGENT_SESSION_DIR") or agent / "sessions")

    def kept(self, home: Path, environ: Mapping[str, str]) -> Iterator[Kept]:
        root = self.root(home, environ)
        known: set[str] = set()
        for entry in (*files(root, 1, ".jsonl"), *files(root, 0, ".jsonl")):
            id = entry.name.removesuffix(".jsonl").rpartition("_")[2]
            if id not in known:
                known.add(id)
                yield seen(id, entry)

    def read(self, kept: Kept) -> Reading:
        about = Gathering(self.name, kept.path, kept.id)
        return Reading(about, _steps(kept.path, about))


def _steps(path: str, about: Gathering) -> Generator[Step]:
    with opened(path) as lines:
        yield from pi.steps(lines, about)
