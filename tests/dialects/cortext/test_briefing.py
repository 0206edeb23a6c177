"""What whoever goes on with a conversation is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import segue
from segue.dialects.cortext.briefing import context_block
from segue.transfer.window import LAST, handover_window

if TYPE_CHECKING:
    from pathlib import Path

    from segue.session import LiveSession


def told(session: LiveSession) -> str:
    return context_block(session, conversation_id="001-plan-x", type="plan", command="/workspace.plan")


def of(root: Path, *contents: str) -> LiveSession:
    session = segue.open(f"cortext:{root}").create(title="The plan")
    for content in contents:
        session.add("user", content)
    return session


def test_a_short_conversation_is_told_whole(tmp_path: Path) -> None:
    with of(tmp_path, "First.", "Second.") as session:
        session.summarize("We planned.")
        session.decide("Take the bus")
        text = told(session)
    order = ["# Conversation: The plan", "- command: /workspace.plan", "- messages: 2", "We planned.", "- Take the bus"]
    places = [text.index(part) for part in [*order, "First.", "Second.", "goes on"]]
    assert places == sorted(places)


def test_of_a_long_conversation_the_first_and_the_last_turns_are_told(tmp_path: Path) -> None:
    with of(tmp_path, *(f"Number {number}. {'x' * 50}" for number in range(40))) as session:
        opening, left_out, last = handover_window(session, 1_000)
    assert [turn.content[:10] for turn in opening] == ["Number 0. ", "Number 1. "]
    assert len(opening) + left_out + len(last) == 40
    assert len(last) >= LAST
    assert last[-1].content.startswith("Number 39.")


def test_a_giant_turn_is_cut_and_said_to_be(tmp_path: Path) -> None:
    with of(tmp_path, "x" * 10_000) as session:
        _, _, (turn,) = handover_window(session, 1_000)
    assert turn.content.endswith("\n[9,950 more characters]")


def test_a_conversation_in_which_nothing_was_said_begins(tmp_path: Path) -> None:
    with of(tmp_path) as session:
        assert told(session).endswith("## Now\n\nThis conversation begins.\n")
