"""The sessions of an integration as a source of the index: listed and searched without a copy."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from segue.clock import datetime_at
from segue.errors import NotFoundError, SegueError, unforeseen
from segue.formats.search_texts import turn_texts
from segue.index import IndexedSession, SessionRef
from segue.integrations.format.branches import BranchTracker
from segue.integrations.format.transcript import title_from
from segue.integrations.shared.history import escape_undecodable
from segue.model import MAIN, Head, Usage, usage_of_turn
from segue.queries import IndexedText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from segue.index import ReadPosition
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.integrations.shared.history import ExternalSession, OpenedTranscript
    from segue.integrations.shared.integration import Integration

_LARGE_BYTES = 64 << 20
"""The texts of larger sessions are not all in memory at a time."""


class IntegrationSource:
    """See index.Source. The sessions of most integrations are read whole, once, as soon as they are listed."""

    can_preview: ClassVar[bool] = False
    queries: ClassVar[None] = None

    def __init__(self, integration: Integration, home: Path, environ: Mapping[str, str]) -> None:
        self._integration = integration
        self._home = home
        self._environ = environ
        self._sessions: dict[str, ExternalSession] = {}

    @property
    def name(self) -> str:
        return escape_undecodable(f"{self._integration.name}:{self._integration.root(self._home, self._environ)}")

    def scan(self) -> Iterator[SessionRef]:
        self._sessions = {session.id: session for session in self._integration.sessions(self._home, self._environ)}
        return (SessionRef(session.id, session.revision) for session in self._sessions.values())

    def find(self, id: str) -> SessionRef | None:
        return next((ref for ref in self.scan() if ref.id == id), None)

    def read(self, id: str, *, known: ReadPosition | None = None) -> IndexedSession:  # noqa: ARG002 - tools rewrite their files
        session = self._get(id)
        if session.size < _LARGE_BYTES:
            return self._read_safely(session, self._integration.read, with_texts=True)
        indexed = self._read_safely(session, self._integration.read, with_texts=False)
        return replace(indexed, texts=self._texts_of(session, indexed.head.title))

    def preview(self, id: str) -> IndexedSession:
        return self.read(id)

    def is_alive(self, id: str) -> bool:  # noqa: ARG002 - no tool records it
        return False

    def _get(self, id: str) -> ExternalSession:
        if id not in self._sessions and self.find(id) is None:
            raise NotFoundError(f"{self._integration.name} has no session {id}")
        return self._sessions[id]

    def _read_safely(
        self, session: ExternalSession, read: Callable[[ExternalSession], OpenedTranscript], *, with_texts: bool
    ) -> IndexedSession:
        try:
            return self._index(session, read, with_texts=with_texts)
        except NotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - an unreadable session affects only itself
            reason = str(error if isinstance(error, SegueError) else unforeseen(error, session.path))
            changed = datetime_at(session.changed_at)
            return IndexedSession(
                head=Head(id=session.id, created_at=changed, updated_at=changed, damage=reason),
                tool=self._integration.name,
            )

    def _texts_of(self, session: ExternalSession, title: str) -> Iterator[IndexedText]:
        """The texts of a large session, which is read once more; if that fails, the next refresh reads it again."""
        if title:
            yield IndexedText(kind="title", text=title)
        with suppress(Exception):
            branches = BranchTracker()
            with closing(self._integration.read(session).turns) as turns:
                for number, entry in enumerate(turns, start=1):
                    if (branch := branches.follow(entry)) is not None:
                        at = branches.turn_count(branch)
                        yield from turn_texts(entry.turn, seq=number, number=at, branch=branch)

    def _index(
        self, session: ExternalSession, read: Callable[[ExternalSession], OpenedTranscript], *, with_texts: bool
    ) -> IndexedSession:
        builder, turns = read(session)
        branches = BranchTracker()
        texts: list[IndexedText] = []
        changed = datetime_at(session.changed_at)
        started, ended, first_words, usage = changed, None, "", Usage()
        with closing(turns):
            for number, entry in enumerate(turns, start=1):
                turn = entry.turn
                if (branch := branches.follow(entry)) is None:
                    continue
                started = turn.timestamp if ended is None else started
                ended = turn.timestamp if ended is None else max(ended, turn.timestamp)
                first_words = first_words or title_from(turn)
                if turn.extra:
                    usage += usage_of_turn(turn)
                if with_texts:
                    texts += turn_texts(turn, seq=number, number=branches.turn_count(branch), branch=branch)
        title = builder.title or first_words
        if title and with_texts:
            texts.insert(0, IndexedText(kind="title", text=title))
        branch = branches.branch_of(builder.tip) or MAIN
        head = Head(
            id=session.id,
            agent=builder.tool,
            title=title,
            status="paused",
            branch=branch,
            turn_count=branches.turn_count(branch),
            created_at=started,
            updated_at=ended or changed,
            damage=_first_damage(builder),
        )
        return IndexedSession(
            head=head,
            tool=builder.tool,
            folder=builder.cwd,
            launch=builder.launch,
            texts=tuple(texts),
            git_branch=builder.git_branch,
            usage=usage,
            is_counted=not builder.is_partial,
        )


class PreviewSource(IntegrationSource):
    """The sessions of an integration whose files have at their ends what a listing shows."""

    can_preview = True

    def preview(self, id: str) -> IndexedSession:
        """Without totals: not all turns need to be read, nor those of subagents."""
        return replace(self._read_safely(self._get(id), self._integration.preview, with_texts=False), usage=None)


def _first_damage(builder: TranscriptBuilder) -> str:
    if not builder.damages:
        return ""
    first = builder.damages[0]
    return f"{builder.place}: {first.reason}" if builder.is_partial else str(first)  # the lines were not counted
