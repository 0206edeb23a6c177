"""The claim after every fault: what was acknowledged is there once and in order, and the session can be continued."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.support.journals import turn

if TYPE_CHECKING:
    from segue.store import Store

Append = Sequence[str]
"""The ids of the events of one append."""


def check_ledger(
    store: Store,
    session_id: str,
    acknowledged: Sequence[Append],
    *,
    unknown: Sequence[Append] = (),
    before: Sequence[str] = (),
    about: str = "",
) -> list[str]:
    """Compare the session with what was acknowledged, in order; the ids of all its events.

    Of the appends whose outcome is `unknown`, each is there whole and once, or not at all.
    """
    events = list(store.read(session_id))
    found = [event.id for event in events]
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), about
    assert len(found) == len(set(found)), f"{about}: an event is there twice"
    assert found[: len(before)] == list(before), f"{about}: what was there has changed"
    new = found[len(before) :]
    places = {id: at for at, id in enumerate(new)}
    for ids in (*acknowledged, *unknown):
        there = [places[id] for id in ids if id in places]
        assert not there or there == list(range(there[0], there[0] + len(ids))), f"{about}: half of {ids} is there"
    missing = [ids for ids in acknowledged if ids[0] not in places]
    assert not missing, f"{about}: {missing} was acknowledged and is missing"
    in_order = [places[ids[0]] for ids in acknowledged]
    assert in_order == sorted(in_order), f"{about}: not in the order of the receipts"
    strangers = set(new) - {id for ids in (*acknowledged, *unknown) for id in ids}
    assert not strangers, f"{about}: {strangers} was refused and is there"
    check_columns(store, session_id, about=about)
    return found


def check_columns(store: Store, session_id: str, *, about: str = "") -> None:
    """What a listing shows and what the end of the session says agree with the events."""
    examination, head, overview = store.examine(session_id), store.head(session_id), store.overview(session_id)
    session = examination.session
    assert examination.damages == (), about
    assert session is not None, about
    turns = list(session.turns)
    assert (head.turn_count, head.title, head.status) == (len(turns), session.title, session.status), about
    assert (overview.seq, overview.turn_count) == (session.seq, len(turns)), about
    assert store.tail(session_id, 3) == tuple(turns[-3:]), about


def check_continues(store: Store, session_id: str, *, waits: bool = False, about: str = "") -> Append:
    """This process becomes the writer at once (or when the lease has ended), and its append is the next event."""
    with store.open(session_id, timeout_seconds=60 if waits else 0) as writer:
        before = [event.id for event in store.read(session_id)]
        added = turn(900, id=f"next-{len(before)}")
        receipt = writer.append(added, ids_are_new=True)
    assert receipt.seqs == (len(before) + 1,), about
    assert [event.id for event in store.read(session_id)] == [*before, added.id], about
    assert store.owner(session_id) is None, about
    return [added.id]
