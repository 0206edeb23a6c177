"""Turns of a tool in a store: which are the same when they are read again, and where their images are."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import segue
from segue.integrations import Integration
from segue.integrations.format.native import native_records
from segue.integrations.format.parts import call_part, image_part, result_part, usage_of
from segue.integrations.format.transcript import TranscriptBuilder, TranscriptTurn
from segue.integrations.shared.history import ExternalSession, OpenedTranscript
from segue.transfer.convert import convert
from segue.transfer.import_sessions import Imported, import_session
from segue.transfer.stored_turn import load_images
from tests.support.integration_homes import later

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from segue.library import Library
    from segue.model import JsonObject, Turn

AT = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
IMAGE = bytes(range(256)) * 8
DATA = b64encode(IMAGE).decode()
EXTERNAL = ExternalSession(id="one", revision="1", path="/nowhere", changed_at=0.0)


class ScriptedHistory(Integration, frozen=True, kw_only=True):
    """A tool that has these turns."""

    said: tuple[Turn, ...]

    def read(self, session: ExternalSession) -> OpenedTranscript:
        builder = TranscriptBuilder("claude", session.path, session.id)
        builder.cwd, builder.git_branch = "/work", "feature/x"
        return OpenedTranscript(builder, self._turns(builder))

    def _turns(self, builder: TranscriptBuilder) -> Generator[TranscriptTurn]:
        for turn in self.said:
            yield TranscriptTurn(turn, builder.tip)
            builder.tip = turn.id


def said(key: str, role: str, content: str, *parts: JsonObject, tokens: int = 1, **more: object) -> Turn:
    builder = TranscriptBuilder("claude", "/nowhere")
    record: JsonObject = {"uuid": key, "text": content, "images": [DATA] if DATA in str(parts) else [], **more}
    usage = usage_of(input=tokens, output=tokens, cost_usd=0.5)
    return builder.turn(
        key, role, content, AT, records=[record], parts=parts, tokens=tokens, usage=usage, effort="high"
    )


def copy(library: Library, *turns: Turn) -> Imported:
    tool = ScriptedHistory(name="claude", title="Claude Code", said=turns)
    return import_session(tool, EXTERNAL, library.store, clock=later)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return segue.open(f"journal:{tmp_path / 'sessions'}")


QUESTION = said("a", "user", "What is this?", image_part("image/png", DATA))
CALL = call_part("1", "look", {"at": "it"})
LOOK = said("b", "assistant", "I look.", CALL)
SEEN = said("c", "tool", "seen", result_part("1", "seen", failed=True, images=[image_part("image/png", DATA)]))


@pytest.mark.parametrize("scheme", ["journal", "memory", "soleur", "cortext", "gptel"])
def test_images_are_stored_once_by_their_hash_and_everything_else_arrives(scheme: str, tmp_path: Path) -> None:
    library = segue.open("memory:" if scheme == "memory" else f"{scheme}:{tmp_path / 'store'}")
    found = copy(library, QUESTION, LOOK, SEEN)
    session = library.load(found.session_id)
    asked, looked, seen = session.turns
    (image,) = asked.parts
    assert image.keys() == {"type", "media_type", "hash", "size_bytes"}
    assert library.store.get_blob(session.id, str(image["hash"])) == IMAGE
    assert seen.parts[0]["images"] == [image]
    assert "content" not in seen.parts[0]  # it is the text of the turn
    assert DATA not in str(session)
    assert session.extra["git_branch"] == "feature/x"
    assert looked.extra == LOOK.extra
    assert looked.extra["effort"] == "high"

    def get(name: str) -> bytes:
        return library.store.get_blob(session.id, name)

    for stored, original in zip(session.turns, (QUESTION, LOOK, SEEN), strict=True):
        assert native_records(stored, get) == native_records(original)
        assert load_images(stored, get).parts[0].get("data") == original.parts[0].get("data")
    assert copy(library, QUESTION, LOOK, SEEN).turns == 0
    other = segue.open(f"journal:{tmp_path / 'other'}")
    assert convert(library.store, found.session_id, other.store).turns == session.turns
    assert other.store.get_blob(session.id, str(image["hash"])) == IMAGE


def test_what_a_tool_adds_to_its_records_makes_no_other_turn(library: Library) -> None:
    copy(library, QUESTION, LOOK, SEEN)
    later_ = (
        said("a", "user", "What is this?", image_part("image/png", DATA), tokens=9, summary={"diffs": [1]}),
        replace(LOOK, tokens=7, model="newer", partial=True, parts=(*LOOK.parts, {"type": "reasoning", "text": "Hm."})),
        replace(SEEN, timestamp=datetime(2027, 1, 1, tzinfo=UTC)),
    )
    assert copy(library, *later_).turns == 0
    assert list(library.load("claude-one").branches) == ["main"]


def test_an_answer_that_grows_is_continued_on_its_branch(library: Library) -> None:
    copy(library, QUESTION, said("b", "assistant", "I look."))
    for _ in range(2):
        copy(library, QUESTION, LOOK, SEEN)
    grown = said("b", "assistant", f"I look.\n\n{'And see. ' * 20}", CALL, call_part("2", "look", {}))
    answered = said("d", "tool", "more", result_part("2", "more"))
    for count in (2, 0):
        assert copy(library, QUESTION, grown, SEEN, answered).turns == count
    done = said("e", "assistant", "Done.")
    assert copy(library, QUESTION, grown, SEEN, answered, done).turns == 1
    session = library.load("claude-one")
    assert list(session.branches) == ["main"]
    assert [turn.content for turn in session.turns] == [
        "What is this?",
        "I look.",
        "",
        "seen",
        "And see. " * 20,
        "more",
        "Done.",
    ]
    calls = [part["id"] for turn in session.turns for part in turn.parts if part["type"] == "tool_call"]
    assert calls == ["1", "2"]
    assert native_records(session.turns[4]) == native_records(grown)


def test_another_answer_is_a_branch(library: Library) -> None:
    copy(library, QUESTION, LOOK, SEEN)
    assert copy(library, QUESTION, said("b", "assistant", "I see."), SEEN).turns == 1
    session = library.load("claude-one")
    assert [turn.content for turn in session.path("main")] == ["What is this?", "I look.", "seen"]
    assert len(session.branches) == 2
