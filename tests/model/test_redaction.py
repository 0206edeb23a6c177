"""A turn that was redacted stays in the history, and is neither shown nor found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import segue
from segue.clock import utc_now
from segue.model import hide_redacted, new_redaction, redacted_seqs
from segue.transfer.window import handover_window

if TYPE_CHECKING:
    from pathlib import Path


def test_a_redacted_turn_is_shown_as_a_note_and_is_in_the_history(tmp_path: Path) -> None:
    library = segue.open(f"journal:{tmp_path}")
    with library.create(agent="qa") as session:
        session.add("user", "hello")
        session.add("user", "the secret is swordfish", native={"text": "swordfish"})
        turn = session.turns[1]
        session.record(new_redaction(turn, utc_now()))
        session.record(new_redaction(turn, utc_now()))  # again
    stored = library.load(session.id)
    assert redacted_seqs(stored) == {turn.seq}
    assert [turn.content for turn in stored.turns] == ["hello", "the secret is swordfish"]
    shown = list(hide_redacted(stored, stored.turns))
    assert [turn.content for turn in shown] == ["hello", "[redacted]"]
    assert shown[1].native is None


def test_a_search_does_not_find_what_was_redacted_after_it_was_indexed(tmp_path: Path) -> None:
    library = segue.open(f"journal:{tmp_path}")
    with library.create(agent="qa") as session:
        session.add("user", "hello")
        session.add("user", "the secret is swordfish")
        assert [found.session_id for found in library.search("swordfish")] == [session.id]
        session.record(new_redaction(session.turns[1], utc_now()))
        assert list(library.search("swordfish")) == []
        assert [found.session_id for found in library.search("hello")] == [session.id]


def test_what_was_redacted_is_not_handed_over_to_a_tool(tmp_path: Path) -> None:
    with segue.open(f"journal:{tmp_path}").create(agent="qa") as session:
        session.add("user", "the secret is swordfish")
        session.record(new_redaction(session.turns[0], utc_now()))
        assert [turn.content for turn in handover_window(session).turns] == ["[redacted]"]
