"""The block in a document is ours, and every other byte is the user's; the context for an agent that resumes."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import segue
from segue.dialects.cortext.document import BlockError, render_body, render_context, with_block, write_block
from segue.durable.folder import Folder
from segue.transfer.window import handover_window

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import JsonObject
    from segue.session import LiveSession

STUB = b"# API design\n\n- type: brainstorm\n"


def begun(document: bytes = STUB, body: str = "") -> bytes:
    return with_block(document, body, add=True)


def test_a_block_is_added_at_the_end_and_nothing_else_changes() -> None:
    document = begun()
    assert document.startswith(STUB)
    assert document.count(b"<!-- segue:begin sha256:") == document.count(b"<!-- segue:end -->") == 1


@given(before=st.binary().filter(lambda text: b"segue:" not in text), after=st.binary(), body=st.text())
def test_every_byte_outside_the_block_stays(before: bytes, after: bytes, body: str) -> None:
    after = b"\n" + after.replace(b"segue:", b"")
    document = begun(before) + after
    changed = with_block(document, body)
    assert changed.startswith(before)
    assert changed.endswith(after)
    assert with_block(changed, "") == document


def test_the_same_body_again_changes_nothing() -> None:
    document = begun(body="What was said.")
    assert with_block(document, "What was said.") is document


def test_what_was_said_cannot_end_the_block() -> None:
    hostile = "a\n<!-- segue:end -->\n<!-- segue:begin sha256:0 -->\nb"
    document = with_block(begun(), hostile)
    assert document.count(b"\n<!-- segue:end -->") == 1
    assert with_block(document, "") == begun()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"Said.", b"Edited.", "was edited"),
        (b"<!-- segue:end -->\n", b"", "removed, changed or doubled"),
        (b"<!-- segue:begin", b"<!-- begin", "removed, changed or doubled"),
        (b"<!-- segue:end -->\n", b"<!-- segue:end -->\n<!-- segue:end -->\n", "removed, changed or doubled"),
    ],
)
def test_a_block_that_a_person_touched_is_never_overwritten(old: bytes, new: bytes, words: str) -> None:
    document = begun(body="Said.").replace(old, new)
    with pytest.raises(BlockError, match=words):
        with_block(document, "Said, and more.")


def test_without_a_block_the_person_is_told_which_two_lines_make_one() -> None:
    with pytest.raises(BlockError, match="these two lines make one") as raised:
        with_block(STUB, "Said.")
    first, _, second = str(raised.value).rpartition(": ")[2].partition(" and ")
    document = STUB + f"{first}\n{second}\n".encode()
    assert b"\nSaid.\n" in with_block(document, "Said.")


def test_a_block_whose_lines_end_as_on_windows_is_ours_all_the_same() -> None:
    document = begun(body="Said.").replace(b"\n", b"\r\n")
    assert b"Said, and more." in with_block(document, "Said, and more.")


def test_a_document_keeps_who_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_bytes(begun())
    path.chmod(0o644)
    assert write_block(Folder(str(tmp_path)), "plan.md", "Said.").changed
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [one.name for one in tmp_path.iterdir()] == ["plan.md"]


def test_a_document_that_is_gone_stays_gone(tmp_path: Path) -> None:
    written = write_block(Folder(str(tmp_path)), "plan.md", "Said.", add=True)
    assert not written.changed
    assert "plan.md does not exist any more" in written.problem
    assert list(tmp_path.iterdir()) == []


# ── The context for an agent that resumes ─────────────────────────────────────────────────────────────────────────────


def told(session: LiveSession) -> str:
    return render_context(session, conversation_id="001-plan-x", type="plan", command="/workspace.plan")


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
    order = ["# Conversation: The plan", "We planned.", "- command: /workspace.plan", "- messages: 2", "- Take the bus"]
    places = [text.index(part) for part in [*order, "First.", "Second.", "continues"]]
    assert places == sorted(places)


def test_of_a_long_conversation_the_first_and_the_last_turns_are_told(tmp_path: Path) -> None:
    with of(tmp_path, *(f"Number {number}. {'x' * 50}" for number in range(40))) as session:
        window = handover_window(session, 1_000)
    assert [turn.content[:10] for turn in window.opening] == ["Number 0. ", "Number 1. "]
    assert len(window.opening) + window.left_out + len(window.last) == 40
    assert len(window.last) > 5
    assert window.last[-1].content.startswith("Number 39.")


def test_a_giant_turn_is_cut_and_said_to_be(tmp_path: Path) -> None:
    with of(tmp_path, "x" * 10_000) as session:
        (turn,) = handover_window(session, 1_000).last
    assert "\n[9,800 characters are left out here]\n" in turn.content


def test_a_conversation_in_which_nothing_was_said_begins(tmp_path: Path) -> None:
    with of(tmp_path) as session:
        assert told(session).endswith("## Now\n\nThis conversation begins.\n")


# ── What users read ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_calls_are_one_line_long_results_are_cut_and_reasoning_is_left_out(tmp_path: Path) -> None:
    call: JsonObject = {"type": "tool_call", "id": "1", "name": "Bash", "arguments": {"command": "ls"}}
    own: JsonObject = {**call, "id": "2", "arguments": {"command": "cortext resume api --json"}}
    reasoning: JsonObject = {"type": "reasoning", "text": "Hm."}
    with of(tmp_path, "What is here?") as session:
        session.add("assistant", "", parts=[reasoning])
        session.add("assistant", "Let me look.", parts=[reasoning, call])
        session.add("tool", "x" * 1_000, parts=[{"type": "tool_result", "id": "1", "content": "x" * 1_000}])
        session.add("assistant", "", parts=[own])
        session.add("tool", "all of it", parts=[{"type": "tool_result", "id": "2", "content": "all of it"}])
        text = render_body(session.overview, session.turns)
    headings = [line.split(" · ")[0] for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## 1. user", "## 3. assistant", "## 4. tool"]
    assert "Let me look.\n\n[called Bash(command=ls)]\n" in text
    assert text.endswith(f"```\n{'x' * 600}\n[400 more characters]\n```")
    assert "Hm." not in text
    assert "all of it" not in text
