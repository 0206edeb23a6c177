"""What is handed over, which losses are reported, and which replies are imported, with a scripted tool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.errors import NotFoundError, UsageError
from segue.integrations import INTEGRATIONS, Integration, Launch, LaunchOptions
from segue.integrations.format.losses import find_losses
from segue.integrations.format.transcript import Transcript
from segue.library import Library
from segue.stores.memory import MemoryStore
from segue.testing.events import turn
from segue.transfer.handover import hand_over, hand_over_as_text, import_latest_replies, import_replies, record_handover

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.integrations import HandoverContext
    from segue.model import Event, JsonObject, Turn
    from segue.session import LiveSession

CALL: JsonObject = {"type": "tool_call", "id": "1", "name": "grep", "arguments": {}}
RESULT: JsonObject = {"type": "tool_result", "id": "1", "content": "found"}


class ScriptedLauncher:
    """The launcher of a tool that has these turns."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = turns
        self.contexts: list[HandoverContext] = []
        self.is_text = False

    def launch(self, context: HandoverContext, options: LaunchOptions) -> Launch:
        self.contexts.append(context)
        argv, cwd = (options.program,), str(options.cwd)
        return Launch(tool="claude", argv=argv, cwd=cwd, native_id="new", is_text=self.is_text)

    def resume(self, native_id: str, options: LaunchOptions, *, system: str) -> Launch | None:
        return Launch(tool="claude", argv=(options.program, system), cwd=str(options.cwd), native_id=native_id)

    def read_back(self, native_id: str, options: LaunchOptions) -> Transcript:
        assert options.cwd.is_dir()
        return Transcript(tool="claude", native_id=native_id, turns=self.turns)


class Scripted(Integration, frozen=True, kw_only=True):
    script: ScriptedLauncher

    @property
    def launcher(self) -> ScriptedLauncher:
        return self.script


def scripted(*turns: Turn) -> Scripted:
    return Scripted(name="claude", title="Claude Code", can_launch=True, script=ScriptedLauncher(*turns))


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
def options(tmp_path: Path) -> LaunchOptions:
    for name in ("claude", "parrot"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    return LaunchOptions(cwd=tmp_path, environ=environ)


def said(number: int) -> Turn:
    return replace(turn(number), id=f"claude:{number}")


def test_a_tool_is_told_every_turn_the_title_and_what_was_decided(session: LiveSession, options: LaunchOptions) -> None:
    session.decide("Refresh early")
    tool = scripted()
    found = hand_over(session, tool, options)
    assert (found.launch.native_id, found.losses, found.is_return) == ("new", (), False)
    (context,) = tool.script.contexts
    assert ([one.content for one in context.turns], context.title) == (
        ["Why does login fail?", "The token expires."],
        "Login bug",
    )
    assert "Refresh early" in context.system


def test_images_of_the_session_go_along_where_the_tool_takes_them(session: LiveSession, options: LaunchOptions) -> None:
    shown: JsonObject = {"type": "image", "media_type": "image/png", "hash": session.put_blob(b"hi")}
    session.add("user", "See", parts=[shown])
    tool = replace(scripted(), carries=frozenset({"images"}))
    assert hand_over(session, tool, options).losses == ()
    assert tool.script.contexts[0].turns[-1].parts[0]["data"] == "aGk="
    assert hand_over(session, scripted(), options).losses == ("1 image is left out",)
    session.add("user", "See", parts=[{**shown, "hash": f"sha256:{'0' * 64}"}])
    assert hand_over(session, tool, options).losses == ("1 image is left out",)


def test_what_a_tool_gets_as_text_is_named_as_that(session: LiveSession, options: LaunchOptions) -> None:
    session.add("assistant", "", parts=[CALL])
    session.add("tool", "", parts=[{**RESULT, "is_error": True}])
    tool = replace(scripted(), carries=frozenset({"failed"}))
    assert hand_over(session, tool, options).losses == ()
    tool.script.is_text = True
    assert hand_over(session, tool, options).losses == ("1 tool call is handed over as text",)


def test_what_comes_back_is_recorded_once_and_on_the_branch_that_was_handed_over(
    library: Library, session: LiveSession, options: LaunchOptions
) -> None:
    record_handover(session, "claude", "native")
    session.fork(at=1, name="other")
    tool = scripted(said(3), said(4))
    for count in (2, 0):
        found = import_replies(library, session, tool, "native", options)
        assert len(found.turns) == count
    whole = library.load("login")
    assert [one.id for one in whole.path("main")[2:]] == ["claude:3", "claude:4"]
    assert len(whole.path("other")) == 1


def test_what_is_recorded_already_is_found_at_the_end_without_reading_the_session(
    library: Library, session: LiveSession, options: LaunchOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    original = MemoryStore.read

    def read(store: MemoryStore, session_id: str, *, after: int = 0) -> Iterator[Event]:
        reads.append(session_id)
        return original(store, session_id, after=after)

    monkeypatch.setattr(MemoryStore, "read", read)
    record_handover(session, "claude", "native")
    for tool, count, times in (
        (scripted(), 0, 0),
        (scripted(said(3), said(4)), 2, 1),
        (scripted(said(3), said(4)), 0, 1),
        (scripted(said(3), replace(said(4), content="changed")), 0, 2),
        (scripted(said(3), said(4), said(5)), 1, 3),
    ):
        assert len(import_replies(library, session, tool, "native", options).turns) == count
        assert len(reads) == times


def test_a_tool_goes_on_in_its_session_only_if_that_ends_as_ours_does(
    library: Library, session: LiveSession, options: LaunchOptions
) -> None:
    tool = scripted(said(3))
    record_handover(session, "claude", "native")
    import_replies(library, session, tool, "native", options)
    assert hand_over(session, tool, options).is_return
    session.add("user", "Said elsewhere.")
    assert not hand_over(session, tool, options).is_return


def test_a_session_that_was_never_handed_over_has_nothing_to_import_latest_replies_with(
    library: Library, session: LiveSession, options: LaunchOptions
) -> None:
    assert import_latest_replies(library, session, options) is None


def test_the_sessions_of_several_tools_are_remembered(session: LiveSession) -> None:
    record_handover(session, "claude", "one")
    record_handover(session, "codex", "two")
    assert session.overview.overrides["tool_sessions"] == {"claude": "one", "codex": "two"}
    assert session.overview.overrides["tool"] == "codex"


def test_files_that_are_no_text_learnings_and_branches_stay_behind_and_are_named(
    session: LiveSession, options: LaunchOptions
) -> None:
    session.attach("notes.md", b"# Notes")
    session.attach("photo.jpg", b"\xff\xd8")
    session.learn("It is cached")
    session.fork(name="other", switch=False)
    assert hand_over(session, scripted(), options).losses == (
        "1 attached file that is not text is left out",
        "1 learning is left out",
        "1 other branch is left out",
    )


def test_a_long_conversation_is_shortened_to_what_a_command_line_takes(
    session: LiveSession, options: LaunchOptions
) -> None:
    for number in range(200):
        session.add("user", f"{number} " + "é" * 2_000)
    found = hand_over_as_text(session, "parrot", options)
    assert len(found.launch.argv[-1].encode()) <= 100_000
    assert "199 " in found.launch.argv[-1]
    assert any("turns in the middle are left out" in loss for loss in found.losses)


def test_a_command_that_is_not_there_or_no_command_is_an_error(session: LiveSession, options: LaunchOptions) -> None:
    with pytest.raises(NotFoundError, match="'nowhere' is not on the PATH"):
        hand_over_as_text(session, "nowhere --now", options)
    with pytest.raises(UsageError):
        hand_over_as_text(session, "", options)


def test_pi_is_launched_with_a_session_of_its_own_and_read_back_without_ours(
    session: LiveSession, options: LaunchOptions
) -> None:
    (options.cwd / "pi").write_text("#!/bin/sh\n")
    (options.cwd / "pi").chmod(0o700)
    session.add("assistant", "Let me look.", parts=[CALL])
    launch = hand_over(session, INTEGRATIONS["pi"], replace(options, prompt="@secret")).launch
    (path,) = launch.written
    assert launch.argv[1:3] == ("--session", path)
    assert launch.argv[-2:] == ("--", " @secret")
    assert os.stat(path).st_mode & 0o777 == 0o600
    found = INTEGRATIONS["pi"].read_back(launch, options)
    assert (found.native_id, found.turns, found.damages) == (launch.native_id, (), ())


# ── Losses ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("role", "parts", "line"),
    [
        ("assistant", [CALL], "1 call has no result, and is marked as interrupted"),
        ("assistant", [CALL, CALL], "2 calls have no result, and are marked as interrupted"),
        ("tool", [RESULT], "1 result belongs to no call, and gets an empty one"),
        ("user", [{"type": "image"}, {"type": "image"}], "2 images are left out"),
        ("assistant", [{"type": "reasoning", "text": "Hm."}], "1 piece of reasoning is left out"),
        ("user", [{"type": "video"}], "1 part of type 'video' is left out"),
        ("system", [], "1 turn of the system is handed over as said by the user"),
    ],
)
def test_each_loss_is_counted_in_words(role: str, parts: list[JsonObject], line: str) -> None:
    assert find_losses([replace(turn(1), role=role, parts=tuple(parts))]) == (line,)


def test_a_pair_is_no_loss_and_a_long_result_or_a_failed_one_is() -> None:
    asked = replace(turn(1), role="assistant", parts=(CALL,))
    assert find_losses([asked, replace(turn(2), role="tool", parts=(RESULT,))]) == ()
    long = {**RESULT, "content": "x" * 50_001, "is_error": True}
    assert find_losses([asked, replace(turn(2), role="tool", parts=(long,))]) == (
        "1 result is shortened",
        "1 call is not marked as failed",
    )


def test_characters_that_no_tool_takes_are_named() -> None:
    assert find_losses([replace(turn(1, "\0"), partial=True)]) == ("1 turn has characters that no tool accepts",)


def test_what_the_target_carries_is_no_loss() -> None:
    asked = replace(turn(1), role="assistant", parts=(CALL,))
    seen = {"type": "image", "media_type": "image/png", "data": "aGk="}
    answered = replace(turn(2), role="tool", parts=({**RESULT, "is_error": True, "images": [seen]},))
    shown = replace(turn(3), role="user", parts=(seen, {"type": "image"}))
    assert find_losses([asked, answered, shown]) == ("3 images are left out", "1 call is not marked as failed")
    assert find_losses([asked, answered, shown], frozenset({"failed", "images"})) == ("2 images are left out",)
    carries = frozenset({"failed", "images", "result_images"})
    assert find_losses([asked, answered, shown], carries) == ("1 image is left out",)
