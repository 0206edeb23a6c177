"""What is handed over, what is said of it, and what comes back: with a tool whose transcript is handed in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.errors import NotFoundError, UsageError
from segue.integrations import INTEGRATIONS, Integration, Launch
from segue.integrations.format.losses import losses
from segue.integrations.format.transcript import Transcript
from segue.library import Library
from segue.stores.memory import MemoryStore
from segue.testing.events import turn
from segue.transfer.handover import catch_up, hand_document, hand_over, record_handover, take_back

if TYPE_CHECKING:
    from pathlib import Path

    from segue.integrations import HandoverContext
    from segue.integrations.integration import LaunchOptions
    from segue.model import JsonObject, Turn
    from segue.session import LiveSession
    from segue.transfer.handover import How

CALL: JsonObject = {"type": "tool_call", "id": "1", "name": "grep", "arguments": {}}
RESULT: JsonObject = {"type": "tool_result", "id": "1", "content": "found"}


class Scripted:
    """A tool that has said what it is made with."""

    name = "claude"

    def __init__(self, *turns: Turn) -> None:
        self.turns = turns
        self.told: list[HandoverContext] = []

    def launch(self, context: HandoverContext, start: LaunchOptions) -> Launch:
        self.told.append(context)
        return Launch(tool=self.name, argv=(start.program,), cwd=str(start.cwd), native_id="new")

    def resume(self, native_id: str, start: LaunchOptions, *, system: str) -> Launch | None:
        return Launch(tool=self.name, argv=(start.program, system), cwd=str(start.cwd), native_id=native_id)

    def read_back(self, native_id: str, start: LaunchOptions) -> Transcript:
        assert start.cwd.is_dir()
        return Transcript(tool=self.name, native_id=native_id, turns=self.turns)


@pytest.fixture
def library() -> Library:
    return Library(MemoryStore())


@pytest.fixture
def session(library: Library) -> LiveSession:
    live = library.create(title="Login bug", id="login")
    live.add("user", "Why does login fail?")
    live.add("assistant", "The token expires.")
    return live


@pytest.fixture
def how(tmp_path: Path) -> How:
    for name in ("claude", "parrot"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    return {"cwd": tmp_path, "environ": environ, "prompt": "", "headless": False, "model": ""}


def said(number: int) -> Turn:
    return replace(turn(number), id=f"claude:{number}")


def test_a_tool_is_told_every_turn_the_title_and_what_was_decided(session: LiveSession, how: How) -> None:
    session.decide("Refresh early")
    scripted = Scripted()
    found = hand_over(session, Integration(kind=scripted), how)
    assert (found.launch.native_id, found.losses, found.is_return) == ("new", (), False)
    (told,) = scripted.told
    assert ([one.content for one in told.turns], told.title) == (
        ["Why does login fail?", "The token expires."],
        "Login bug",
    )
    assert "Refresh early" in told.system


def test_what_comes_back_is_recorded_once_and_on_the_branch_that_was_handed_over(
    library: Library, session: LiveSession, how: How
) -> None:
    record_handover(session, "claude", "native")
    session.fork(at=1, name="other")
    tool = Integration(kind=Scripted(said(3), said(4)))
    for count in (2, 0):
        found = take_back(library, session, tool, "native", cwd=how["cwd"], environ=how["environ"])
        assert len(found.turns) == count
    whole = library.load("login")
    assert [one.id for one in whole.path("main")[2:]] == ["claude:3", "claude:4"]
    assert len(whole.path("other")) == 1


def test_a_tool_goes_on_in_its_session_only_if_that_ends_as_ours_does(
    library: Library, session: LiveSession, how: How
) -> None:
    tool = Integration(kind=Scripted(said(3)))
    record_handover(session, "claude", "native")
    take_back(library, session, tool, "native", cwd=how["cwd"], environ=how["environ"])
    assert hand_over(session, tool, how).is_return
    session.add("user", "Said elsewhere.")
    assert not hand_over(session, tool, how).is_return


def test_a_session_that_was_never_handed_over_has_nothing_to_catch_up_with(
    library: Library, session: LiveSession, how: How
) -> None:
    assert catch_up(library, session, cwd=how["cwd"], environ=how["environ"]) is None


def test_the_sessions_of_several_tools_are_remembered(session: LiveSession) -> None:
    record_handover(session, "claude", "one")
    record_handover(session, "codex", "two")
    assert session.overview.overrides["tool_sessions"] == {"claude": "one", "codex": "two"}
    assert session.overview.overrides["tool"] == "codex"


def test_files_that_are_no_text_learnings_and_branches_stay_behind_and_are_named(
    session: LiveSession, how: How
) -> None:
    session.attach("notes.md", b"# Notes")
    session.attach("photo.jpg", b"\xff\xd8")
    session.learn("It is cached")
    session.fork(name="other", switch=False)
    assert hand_over(session, Integration(kind=Scripted()), how).losses == (
        "1 attached file that is no text stays behind",
        "1 learning stays behind",
        "1 other branch stays behind",
    )


def test_a_long_conversation_is_shortened_to_what_a_command_line_takes(session: LiveSession, how: How) -> None:
    for number in range(200):
        session.add("user", f"{number} " + "é" * 2_000)
    found = hand_document(session, "parrot", how)
    assert len(found.launch.argv[-1].encode()) <= 100_000
    assert "199 " in found.launch.argv[-1]
    assert any("turns in between are left out" in loss for loss in found.losses)


def test_a_command_that_is_not_there_or_no_command_is_an_error(session: LiveSession, how: How) -> None:
    with pytest.raises(NotFoundError, match="there is no 'nowhere' on the PATH"):
        hand_document(session, "nowhere --now", how)
    with pytest.raises(UsageError):
        hand_document(session, "", how)


def test_pi_is_launched_with_a_session_of_its_own_and_read_back_without_ours(session: LiveSession, how: How) -> None:
    (how["cwd"] / "pi").write_text("#!/bin/sh\n")
    (how["cwd"] / "pi").chmod(0o700)
    session.add("assistant", "Let me look.", parts=[CALL])
    launch = hand_over(session, INTEGRATIONS["pi"], {**how, "prompt": "@secret"}).launch
    (path,) = launch.written
    assert launch.argv[1:3] == ("--session", path)
    assert launch.argv[-2:] == ("--", " @secret")
    assert os.stat(path).st_mode & 0o777 == 0o600
    found = INTEGRATIONS["pi"].read_back(launch, cwd=how["cwd"], environ=how["environ"])
    assert (found.native_id, found.turns, found.damages) == (launch.native_id, (), ())


# ── Losses ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("role", "parts", "line"),
    [
        ("assistant", [CALL], "1 call got no result, and is told as interrupted"),
        ("assistant", [CALL, CALL], "2 calls got no result, and are told as interrupted"),
        ("tool", [RESULT], "1 result belongs to no call, and is told in words"),
        ("user", [{"type": "image"}, {"type": "image"}], "2 images stay behind"),
        ("assistant", [{"type": "reasoning", "text": "Hm."}], "1 piece of reasoning stays behind"),
        ("user", [{"type": "video"}], "1 part of a kind that no tool knows stays behind"),
        ("system", [], "1 turn is told as the user's"),
    ],
)
def test_each_loss_is_counted_in_words(role: str, parts: list[JsonObject], line: str) -> None:
    assert losses([replace(turn(1), role=role, parts=tuple(parts))]) == (line,)


def test_a_pair_is_no_loss_and_a_long_result_or_a_failed_one_is() -> None:
    asked = replace(turn(1), role="assistant", parts=(CALL,))
    assert losses([asked, replace(turn(2), role="tool", parts=(RESULT,))]) == ()
    long = {**RESULT, "content": "x" * 50_001, "is_error": True}
    assert losses([asked, replace(turn(2), role="tool", parts=(long,))]) == (
        "1 result is cut short",
        "1 call is not marked as failed",
    )


def test_characters_that_no_tool_takes_and_answers_that_were_cut_off_are_named() -> None:
    assert losses([replace(turn(1, "\0"), partial=True)]) == (
        "1 answer is not marked as cut off",
        "1 turn has characters that no tool takes",
    )
