"""The sessions of a tool as a source of the catalog: found and searched where they are."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from segue.clock import datetime_at
from segue.errors import NotFoundError, SegueError, unforeseen
from segue.index import IndexedSession, IndexedText, SessionRef
from segue.integrations.format.branches import BranchTracker
from segue.integrations.format.transcript import ANY, opening_words
from segue.integrations.history import PreviewHistory, readable
from segue.model import MAIN, Head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from segue.index import ReadPosition
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.integrations.history import ExternalSession, History, OpenedTranscript


class IntegrationSource:
    """See catalog.Source. The sessions of most tools are read whole, once, as soon as they are listed."""

    can_preview: ClassVar[bool] = False

    def __init__(self, history: History, home: Path, environ: Mapping[str, str]) -> None:
        self._history = history
        self._home = home
        self._environ = environ
        self._kept: dict[str, ExternalSession] = {}

    @property
    def name(self) -> str:
        return readable(f"{self._history.name}:{self._history.root(self._home, self._environ)}")

    def scan(self) -> Iterator[SessionRef]:
        self._kept = {kept.id: kept for kept in self._history.kept(self._home, self._environ)}
        return (SessionRef(kept.id, kept.revision) for kept in self._kept.values())

    def look(self, id: str) -> SessionRef | None:
        return next((one for one in self.scan() if one.id == id), None)

    def read(self, id: str, *, known: ReadPosition | None = None) -> IndexedSession:  # noqa: ARG002 - tools change what they have written
        return self._safely(self._get(id), self._history.read)

    def preview(self, id: str) -> IndexedSession:
        return self.read(id)

    def is_alive(self, id: str) -> bool:  # noqa: ARG002 - no tool says so
        return False

    def _get(self, id: str) -> ExternalSession:
        if id not in self._kept and self.look(id) is None:
            raise NotFoundError(f"{self._history.name} has no session {id}")
        return self._kept[id]

    def _safely(self, kept: ExternalSession, read: Callable[[ExternalSession], OpenedTranscript]) -> IndexedSession:
        try:
            return self._record(kept, read)
        except NotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - one odd session costs only itself
            reason = str(error if isinstance(error, SegueError) else unforeseen(error, kept.path))
            changed = datetime_at(kept.changed_at)
            return IndexedSession(
                head=Head(id=kept.id, created_at=changed, updated_at=changed, damage=reason),
                tool=self._history.name,
            )

    def _record(self, kept: ExternalSession, read: Callable[[ExternalSession], OpenedTranscript]) -> IndexedSession:
        about, steps = read(kept)
        branches = BranchTracker()
        pieces: list[IndexedText] = []
        changed = datetime_at(kept.changed_at)
        begun, ended, first_words, is_ours = changed, None, "", False
        with closing(steps):
            for number, step in enumerate(steps, start=1):
                turn, is_ours = step.turn, is_ours or step.is_ours
                if turn.id in branches:
                    continue
                branch, fork = branches.place(step)
                if fork:
                    branches.begin(fork.name, fork.at, aside=step.side)
                branches.add(turn.id, branch)
                begun = turn.timestamp if ended is None else begun
                ended = turn.timestamp if ended is None else max(ended, turn.timestamp)
                first_words = first_words or opening_words(turn)
                if turn.content:
                    pieces.append(
                        IndexedText(kind="turn", text=turn.content, seq=number, branch=branch, role=turn.role)
                    )
        title = about.title or first_words
        if title:
            pieces.insert(0, IndexedText(kind="title", text=title))
        branch = branches.branch_of(about.tip) or MAIN
        head = Head(
            id=kept.id,
            agent=about.tool,
            title=title,
            status="paused",
            branch=branch,
            turn_count=branches.turn_count(branch),
            created_at=begun,
            updated_at=ended or changed,
            damage=_first_damage(about),
        )
        return IndexedSession(
            head=head,
            tool=about.tool,
            folder=about.cwd,
            handed_from=about.origin or (ANY if is_ours else ""),
            pieces=tuple(pieces),
            is_counted=not about.is_partial,
        )


class PreviewSource(IntegrationSource):
    """The sessions of a tool whose files tell at their ends what a listing shows."""

    can_preview = True

    def __init__(self, history: PreviewHistory, home: Path, environ: Mapping[str, str]) -> None:
        super().__init__(history, home, environ)
        self._glimpse = history.glimpse

    def preview(self, id: str) -> IndexedSession:
        return replace(self._safely(self._get(id), self._glimpse), pieces=())


def _first_damage(about: TranscriptBuilder) -> str:
    if not about.damages:
        return ""
    first = about.damages[0]
    return f"{about.place}: {first.reason}" if about.is_partial else str(first)  # nobody has counted the lines
