"""The sessions of Codex: one file per session, and more if it was rewound or has subagents; titles in another file."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from segue.errors import SegueError
from segue.integrations.codex.reader import OpenedRollout, parse_thread
from segue.integrations.codex.rollout_file import head_of, open_rollout
from segue.integrations.format.lines import Ends
from segue.integrations.format.transcript import TranscriptBuilder
from segue.integrations.format.values import as_text
from segue.integrations.shared.history import ExternalSession, OpenedTranscript, find_files, open_lines, session_in_file
from segue.integrations.shared.subagents import find_tops

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from segue.integrations.format.transcript import TranscriptTurn

_ID_LENGTH = len("01a1df33-fc2a-7eb2-8416-482a85e91f8c")
_ENDINGS = (".jsonl", ".jsonl.zst")
_PARENT = re.compile(rb'"parent_thread_id"\s*:\s*"([0-9A-Za-z-]{1,64})"')


class Rollout(NamedTuple):
    """A file of Codex: a thread has one, and another after each rewind."""

    stem: str
    """Its name without its ending: it sorts by the time of its start."""
    path: str
    entry: os.DirEntry[str] | None = None

    @property
    def id(self) -> str:
        return self.stem[-_ID_LENGTH:]

    @property
    def thread(self) -> str:
        """The id of the thread: the first rollout of a thread has that as its own."""
        is_later = self.stem[-_ID_LENGTH - 1 : -_ID_LENGTH] == "_"
        return self.stem[-2 * _ID_LENGTH - 1 : -_ID_LENGTH - 1] if is_later else self.id


def root(home: Path, environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CODEX_HOME") or home / ".codex")


def sessions(home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
    folder = root(home, environ)
    titles = _titles(folder / "session_index.jsonl")
    threads = _by_thread(find_rollouts(folder).values())
    agents = _agents(threads)
    of_agents = {thread for found in agents.values() for thread in found}
    for thread, rollouts in threads.items():
        if thread not in of_agents:
            related = [*rollouts[:-1], *(rollout for agent in agents.get(thread, ()) for rollout in threads[agent])]
            yield _session(thread, rollouts[-1], related, titles.get(thread, ""))


def find_session(folder: Path, id: str) -> ExternalSession | None:
    """The session without its subagents, which need a look at every file."""
    rollouts = _by_thread(find_rollouts(folder).values()).get(id)
    return _session(id, rollouts[-1], rollouts[:-1]) if rollouts else None


def read(session: ExternalSession) -> OpenedTranscript:
    builder = TranscriptBuilder("codex", session.path, session.id)
    builder.title = session.title
    return OpenedTranscript(builder, _read(session, builder))


def preview(session: ExternalSession) -> OpenedTranscript:
    """Like `read`, from both ends of the rollouts, which contain what a listing shows; titles are in another file."""
    builder = TranscriptBuilder("codex", session.path, session.id)
    builder.title = session.title
    return OpenedTranscript(builder, _read(session, builder, only_ends=True))


def find_rollouts(folder: Path) -> dict[str, Rollout]:
    """The rollouts by id; a plain one before a compressed one, a current one before an archived one."""
    entries = [*find_files(folder / "sessions", 3, *_ENDINGS), *find_files(folder / "archived_sessions", 0, *_ENDINGS)]
    found: dict[str, Rollout] = {}
    for entry in sorted(entries, key=lambda entry: entry.name.endswith(".zst")):
        rollout = _rollout(entry.path, entry)
        found.setdefault(rollout.id, rollout)
    return found


def _rollout(path: str, entry: os.DirEntry[str] | None = None) -> Rollout:
    return Rollout(os.path.basename(path).partition(".jsonl")[0], path, entry)  # noqa: PTH119 - for every file


def _by_thread(rollouts: Iterable[Rollout]) -> dict[str, list[Rollout]]:
    """The rollouts of each thread, oldest first."""
    threads: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        threads.setdefault(rollout.thread, []).append(rollout)
    for found in threads.values():
        found.sort(key=lambda rollout: rollout.stem)
    return threads


def _agents(threads: Mapping[str, Sequence[Rollout]]) -> dict[str, list[str]]:
    """The subagents of each thread, and those of its subagents, in the order of their start."""
    tops = find_tops({thread: _parent(found[0]) for thread, found in threads.items()})
    agents: dict[str, list[str]] = {}
    for thread in sorted(tops):
        if tops[thread] != thread:
            agents.setdefault(tops[thread], []).append(thread)
    return agents


def _parent(rollout: Rollout) -> str:
    """The thread that started this one as a subagent, from the start of the header; empty if the user started it."""
    found = _PARENT.search(head_of(rollout.path).partition(b"\n")[0])
    return found[1].decode() if found else ""


def _session(thread: str, main: Rollout, related: Sequence[Rollout], title: str = "") -> ExternalSession:
    entries = [rollout.entry for rollout in related if rollout.entry is not None]
    return session_in_file(thread, main.entry or Path(main.path), related=entries, title=title)


def _titles(path: Path) -> dict[str, str]:
    """The titles by id. A new title is appended, so the last one counts."""
    builder = TranscriptBuilder("codex", str(path))
    try:
        with open_lines(str(path)) as lines:
            return {
                as_text(record.get("id")): as_text(record.get("thread_name")) for _, record in builder.records(lines)
            }
    except SegueError:
        return {}


def _read(
    session: ExternalSession, builder: TranscriptBuilder, *, only_ends: bool = False
) -> Generator[TranscriptTurn]:
    own = {rollout.id: rollout for rollout in map(_rollout, [session.path, *session.related])}
    threads = _by_thread(own.values())
    rollouts = threads.pop(_rollout(session.path).thread)
    agents = [] if only_ends else [[rollout.id for rollout in threads[thread]] for thread in sorted(threads)]
    with ExitStack() as stack:
        others: dict[str, Rollout] = {}

        def find(id: str) -> OpenedRollout | None:
            if id not in own:
                others.update(others or find_rollouts(_root_of(Path(session.path))))
            rollout = own.get(id) or others.get(id)
            if rollout is None:
                return None
            lines = stack.enter_context(open_rollout(rollout.path, builder, only_ends=only_ends))
            builder.is_partial = builder.is_partial or isinstance(lines, Ends)
            return OpenedRollout(rollout.path, lines)

        yield from parse_thread([rollout.id for rollout in rollouts], builder, find, agents)


def _root_of(path: Path) -> Path:
    above = path.parent
    return above.parent if above.name == "archived_sessions" else above.parents[3]
