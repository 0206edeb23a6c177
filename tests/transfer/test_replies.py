"""A conversation that the user rewound in the tool: what was said before and after comes back, each on its branch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS, LaunchOptions
from segue.library import Library
from segue.stores.memory import MemoryStore
from segue.transfer.handover import hand_over, import_replies, record_handover

if TYPE_CHECKING:
    from segue.model import JsonObject
    from segue.session import LiveSession

CODEX, COPILOT = INTEGRATIONS["codex"], INTEGRATIONS["copilot"]
SAID = ("First", "One.", "Second", "Two.", "Third", "Three.")
SEGMENT = "01a1dffc-5932-78f2-8601-4c042d6dd4cd"


@pytest.fixture
def options(tmp_path: Path) -> LaunchOptions:
    for name in ("codex", "copilot"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    return LaunchOptions(cwd=tmp_path, environ={"PATH": str(tmp_path), "HOME": str(tmp_path)})


@pytest.fixture
def library() -> Library:
    return Library(MemoryStore())


@pytest.fixture
def session(library: Library) -> LiveSession:
    live = library.create(id="login")
    for number, text in enumerate(SAID):
        live.add("assistant" if number % 2 else "user", text)
    return live


class Codex:
    """The session of Codex, and what it appends to it."""

    def __init__(self, session: LiveSession, options: LaunchOptions) -> None:
        launch = hand_over(session, CODEX, options).launch
        record_handover(session, "codex", launch.native_id)
        self.id = launch.native_id
        self._path = Path(launch.written[0])

    def say(self, *texts: str) -> None:
        """Each with an answer."""
        for text in texts:
            for role, kind, words in (("user", "input_text", text), ("assistant", "output_text", f"{text}!")):
                item: JsonObject = {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
                self._append("response_item", item)

    def rewind(self, to: str, segment: str) -> None:
        """To before the message with this text."""
        records = [json.loads(line) for line in self._path.read_bytes().splitlines()]
        place = next(at for at, record in enumerate(records) if json.dumps(to) in json.dumps(record["payload"]))
        is_started = records[place - 1]["payload"].get("type") == "task_started"
        ordinal = records[place]["ordinal"] - is_started
        base = {"thread_id": self._path.stem[-36:], "end_ordinal_exclusive": ordinal}
        self._path = self._path.with_name(f"rollout-2027-01-01T00-00-00-{self.id}_{segment}.jsonl")
        self._append("session_meta", {"id": self.id, **({"history_base": base} if ordinal > 1 else {})}, ordinal)

    def _append(self, kind: str, payload: JsonObject, ordinal: int | None = None) -> None:
        if ordinal is None:
            ordinal = json.loads(self._path.read_bytes().splitlines()[-1])["ordinal"] + 1
        record = {"timestamp": "2026-12-01T00:00:00Z", "ordinal": ordinal, "type": kind, "payload": payload}
        with self._path.open("a") as file:
            file.write(json.dumps(record) + "\n")


class Copilot:
    """The session of GitHub Copilot CLI, which removes what is rewound."""

    def __init__(self, session: LiveSession, options: LaunchOptions) -> None:
        launch = hand_over(session, COPILOT, options).launch
        record_handover(session, "copilot", launch.native_id)
        self.id = launch.native_id
        self._path = Path(launch.written[1])

    def say(self, *texts: str) -> None:
        """Each with an answer."""
        for text in texts:
            for kind, words in (("user.message", text), ("assistant.message", f"{text}!")):
                event = {"type": kind, "id": words, "timestamp": "2026-12-01T00:00:00Z", "data": {"content": words}}
                with self._path.open("a") as file:
                    file.write(json.dumps(event) + "\n")

    def rewind(self, to: str) -> None:
        lines = self._path.read_bytes().splitlines(keepends=True)
        place = next(at for at, line in enumerate(lines) if json.loads(line)["data"].get("content") == to)
        self._path.write_bytes(b"".join(lines[:place]))


def paths(library: Library) -> dict[str, list[str]]:
    whole = library.load("login")
    return {name: [turn.content for turn in whole.path(name)] for name in whole.branches}


def test_what_was_rewound_stays_and_what_was_said_instead_is_a_branch(
    library: Library, session: LiveSession, options: LaunchOptions
) -> None:
    tool = Codex(session, options)
    tool.say("Fourth")
    tool.rewind("Second", SEGMENT)
    tool.say("Second again")
    found = import_replies(library, session, CODEX, tool.id, options)
    assert [turn.content for turn in found.turns] == ["Fourth", "Fourth!", "Second again", "Second again!"]
    instead = ["First", "One.", "Second again", "Second again!"]
    assert paths(library) == {"main": [*SAID, "Fourth", "Fourth!"], "branch-2": instead}
    assert session.branch == "branch-2"
    assert import_replies(library, session, CODEX, tool.id, options).turns == ()
    assert hand_over(session, CODEX, options).is_return

    tool.say("Next")
    assert len(import_replies(library, session, CODEX, tool.id, options).turns) == 2
    assert paths(library) == {"main": [*SAID, "Fourth", "Fourth!"], "branch-2": [*instead, "Next", "Next!"]}


def test_what_was_said_in_the_tool_can_be_rewound_after_it_came_back(
    library: Library, session: LiveSession, options: LaunchOptions
) -> None:
    tool = Codex(session, options)
    tool.say("Fourth", "Fifth")
    import_replies(library, session, CODEX, tool.id, options)
    assert session.branch == "main"
    tool.rewind("Fifth", SEGMENT)
    tool.say("Fifth again")
    import_replies(library, session, CODEX, tool.id, options)
    before = [*SAID, "Fourth", "Fourth!"]
    assert paths(library) == {
        "main": [*before, "Fifth", "Fifth!"],
        "branch-2": [*before, "Fifth again", "Fifth again!"],
    }
    tool.rewind("Fifth again", SEGMENT.replace("5932", "5933"))
    import_replies(library, session, CODEX, tool.id, options)
    assert session.branch == "branch-2"  # nothing was said since


def test_the_whole_conversation_can_be_rewound(library: Library, session: LiveSession, options: LaunchOptions) -> None:
    tool = Codex(session, options)
    tool.rewind("First", SEGMENT)
    tool.say("Something else")
    import_replies(library, session, CODEX, tool.id, options)
    assert paths(library) == {"main": [*SAID], "branch-2": ["Something else", "Something else!"]}


def test_a_branch_that_the_user_chose_here_stays_active(
    library: Library, session: LiveSession, options: LaunchOptions
) -> None:
    tool = Codex(session, options)
    session.fork(at=1, name="mine")
    tool.rewind("Second", SEGMENT)
    tool.say("Second again")
    import_replies(library, session, CODEX, tool.id, options)
    assert session.branch == "mine"
    assert paths(library)["branch-3"] == ["First", "One.", "Second again", "Second again!"]


def test_what_a_tool_removes_when_it_is_rewound_stays_here(
    library: Library, session: LiveSession, options: LaunchOptions
) -> None:
    tool = Copilot(session, options)

    def said(*texts: str) -> None:
        tool.say(*texts)
        import_replies(library, session, COPILOT, tool.id, options)

    said("Fourth", "Fifth")
    tool.rewind("Fifth")
    assert import_replies(library, session, COPILOT, tool.id, options).turns == ()
    said("Fifth again")
    before = [*SAID, "Fourth", "Fourth!"]
    expected = {"main": [*before, "Fifth", "Fifth!"], "branch-2": [*before, "Fifth again", "Fifth again!"]}
    assert (paths(library), session.branch) == (expected, "branch-2")
    said("Sixth")
    expected["branch-2"] += ["Sixth", "Sixth!"]
    assert (paths(library), session.branch) == (expected, "branch-2")
    tool.rewind("Fourth")
    said("Instead")
    expected["branch-3"] = [*SAID, "Instead", "Instead!"]
    assert (paths(library), session.branch) == (expected, "branch-3")
    assert import_replies(library, session, COPILOT, tool.id, options).turns == ()
