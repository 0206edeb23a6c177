"""Where the turns of a conversation stand in its session.

The entries of Pydantic AI are a tree: each names the one before it, and the conversation is the line that ends with its
head. The active branch of the session has the turns of that line. When the head moves to another line, that is a branch
of the session too: the one that has it already, or a new one that begins where the two lines part.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from segue.bridges.pydantic_ai.entries import Entry, find_packed, pack_entry, unpack_entry
from segue.bridges.pydantic_ai.turns import turns_of
from segue.bridges.sessions import new_id, new_record
from segue.clock import utc_now
from segue.model import BranchCreated, BranchSwitched, Record, Turn, fold
from segue.session import free_branch_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from segue.model import Event, Session
    from segue.session import LiveSession

ENTRY = "entry"
"""The kind of the record by which an entry is found. If the entry is on no branch, the record contains it."""

_LONGEST_ID = 100


class Line(NamedTuple):
    """What is to be recorded so that a branch has the turns of a line, and what it has then."""

    events: list[Event]
    branch: str
    turn_count: int


def record_id(entry_id: str) -> str:
    """The id of the record by which an entry is found in all sessions."""
    if len(entry_id) <= _LONGEST_ID and entry_id.isprintable():
        return f"{ENTRY}-{entry_id}"
    return f"{ENTRY}-hash-{sha256(entry_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def entries_in(events: Iterable[Event]) -> Iterator[Entry]:
    """The entries that the events have, their messages still packed. Of several with one id the last one counts."""
    for event in events:
        found: Entry | None = None
        if isinstance(event, Turn):
            found = find_packed(event.native)
        elif isinstance(event, Record) and event.kind == ENTRY:
            found = find_packed(event.data)
        if found is not None:
            yield found


def continue_line(session: LiveSession, entries: Sequence[Entry]) -> Line:
    """The entries after those of the active branch. None of them is in the session yet."""
    overview = session.overview
    return _continued(session, [], entries, overview.branch, overview.turn_count, taken=())


def lay_out(session: LiveSession, events: Sequence[Event], line: Sequence[Entry]) -> Line:
    """Make a branch with this line the active one. The events are all those of the session."""
    branch, count, shared = _nearest(fold(events), line)
    overview = session.overview
    steps: list[Event] = []
    if shared < overview.get_branch(branch).turn_count:
        name = free_branch_name(overview)
        steps.append(BranchCreated(name=name, parent=branch, at=shared, timestamp=utc_now(), id=new_id()))
        branch = name
    elif branch != overview.branch:
        steps.append(BranchSwitched(branch=branch, timestamp=utc_now(), id=new_id()))
    return _continued(session, steps, line[count:], branch, shared, taken={event.id for event in events})


def records_of(session: LiveSession, events: Iterable[Event], entries: Iterable[Entry]) -> list[Record]:
    """Entries that are on no branch, as records: under their ids, unless these events have an older one there."""
    taken = {event.id for event in events}
    found: list[Record] = []
    for entry in entries:
        id = record_id(entry.id)
        data = pack_entry(entry, session.put_blob)
        found.append(new_record(ENTRY, data, id=new_id() if id in taken else id))
        taken.add(id)
    return found


def _continued(
    session: LiveSession,
    events: list[Event],
    entries: Sequence[Entry],
    branch: str,
    turn_count: int,
    *,
    taken: Container[str],
) -> Line:
    """The events, and then the turns of the entries, each after the record by which it is found."""
    for entry in entries:
        if (id := record_id(entry.id)) not in taken:
            events.append(new_record(ENTRY, {}, id=id))
        turns = _turns_of(session, entry, branch)
        events += turns
        turn_count += len(turns)
    return Line(events, branch, turn_count)


def _turns_of(session: LiveSession, entry: Entry, branch: str) -> list[Turn]:
    if entry.is_packed:
        entry = unpack_entry(entry, session.id, session.get_blob)
    native = pack_entry(entry, session.put_blob)
    return turns_of(entry.message, native, branch=branch, put_blob=session.put_blob)


def _nearest(session: Session, line: Sequence[Entry]) -> tuple[str, int, int]:
    """The branch that has most of the line: its name, how many of the entries it has, and in how many turns."""
    best = (session.branch, *_shared(session, session.branch, line))
    for name in session.branches:
        found = (name, *_shared(session, name, line))
        # Of equals the one that ends there is better, since it needs no new branch.
        if (found[1], found[2] == _length(session, name)) > (best[1], best[2] == _length(session, best[0])):
            best = found
    return best


def _length(session: Session, branch: str) -> int:
    return session.get_branch(branch).turn_count


def _shared(session: Session, branch: str, line: Sequence[Entry]) -> tuple[int, int]:
    count = turns = 0
    for number, turn in enumerate(session.path(branch), 1):
        found = find_packed(turn.native)
        if found is None:
            continue  # the first turns of a message, or a turn that somebody added
        if count == len(line) or line[count] != found:
            break
        count, turns = count + 1, number
    return count, turns
