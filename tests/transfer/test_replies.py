"""A conversation that the user rewound in the tool: what was said before and after comes back, each on its branch."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS, LaunchOptions
from segue.integrations.registry import launchable
from segue.library import Library
from segue.stores.memory import MemoryStore
from segue.transfer.handover import hand_over, import_replies
from tests.support.rewinding_tools import TOOLS, hand_over_to, options_for

if TYPE_CHECKING:
    from pathlib import Path

    from segue.session import LiveSession

SAID = ("First", "One.", "Second", "Two.", "Third", "Three.")


class Conversation:
    """A session that was handed over to a tool, and what comes back."""

    def __init__(self, name: str, folder: Path, *, system: str = "") -> None:
        self.library = Library(MemoryStore())
        self.options: LaunchOptions = options_for(folder)
        self.session: LiveSession = self.library.create(id="login")
        for number, text in enumerate(SAID):
            self.session.add("assistant" if number % 2 else "user", text)
        self.integration = INTEGRATIONS[name]
        self.id, self.tool = hand_over_to(name, self.session, self.options, system)

    def said(self, *texts: str) -> list[str]:
        """Say something in the tool; what came back."""
        self.tool.say(*texts)
        return self.come_back()

    def come_back(self) -> list[str]:
        found = import_replies(self.library, self.session, self.integration, self.id, self.options)
        assert found.transcript.damages == ()
        return [turn.content for turn in found.turns]

    @property
    def paths(self) -> dict[str, list[str]]:
        whole = self.library.load("login")
        return {name: [turn.content for turn in whole.path(name)] for name in whole.branches}


@pytest.fixture(params=sorted(TOOLS))
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Conversation:
    return Conversation(request.param, tmp_path)


def test_every_tool_to_which_a_conversation_can_be_handed_over_is_rewound_here() -> None:
    assert set(TOOLS) == set(launchable())


def test_what_was_handed_over_can_be_rewound_and_what_was_said_instead_is_a_branch(talk: Conversation) -> None:
    talk.tool.rewind("Second")
    assert talk.come_back() == []
    assert talk.said("Second again") == ["Second again", "Second again!"]
    instead = ["First", "One.", "Second again", "Second again!"]
    assert talk.paths == {"main": [*SAID], "branch-2": instead}
    assert talk.session.branch == "branch-2"
    assert talk.come_back() == []
    assert hand_over(talk.session, talk.integration, talk.options).is_return

    assert len(talk.said("Next")) == 2
    assert talk.paths == {"main": [*SAID], "branch-2": [*instead, "Next", "Next!"]}


def test_what_was_said_in_the_tool_and_then_rewound_with_a_turn_of_ours_stays(talk: Conversation) -> None:
    talk.said("Fourth")
    talk.tool.rewind("Second")
    assert talk.said("Second again") == ["Second again", "Second again!"]
    before = {"main": [*SAID, "Fourth", "Fourth!"], "branch-2": ["First", "One.", "Second again", "Second again!"]}
    assert (talk.paths, talk.session.branch) == (before, "branch-2")
    talk.tool.rewind("First")
    talk.said("Something else")
    assert talk.paths == {**before, "branch-3": ["Something else", "Something else!"]}
    assert talk.session.branch == "branch-3"
    assert talk.come_back() == []


def test_what_was_said_in_the_tool_can_be_rewound_after_it_came_back(talk: Conversation) -> None:
    talk.said("Fourth", "Fifth")
    assert talk.session.branch == "main"
    talk.tool.rewind("Fifth")
    assert talk.come_back() == []
    talk.said("Fifth again")
    before = [*SAID, "Fourth", "Fourth!"]
    expected = {"main": [*before, "Fifth", "Fifth!"], "branch-2": [*before, "Fifth again", "Fifth again!"]}
    assert (talk.paths, talk.session.branch) == (expected, "branch-2")
    talk.said("Sixth")
    expected["branch-2"] += ["Sixth", "Sixth!"]
    assert (talk.paths, talk.session.branch) == (expected, "branch-2")
    talk.tool.rewind("Fourth")
    talk.said("Instead")
    expected["branch-3"] = [*SAID, "Instead", "Instead!"]
    assert (talk.paths, talk.session.branch) == (expected, "branch-3")
    talk.tool.rewind("Instead")
    assert talk.come_back() == []
    assert talk.session.branch == "branch-3"  # nothing was said since


def test_the_whole_conversation_can_be_rewound(talk: Conversation) -> None:
    talk.tool.rewind("First")
    talk.said("Something else")
    assert talk.paths == {"main": [*SAID], "branch-2": ["Something else", "Something else!"]}


@pytest.mark.parametrize("name", ["copilot", "gemini", "kilo", "opencode"])
def test_the_instructions_before_the_conversation_can_be_rewound(name: str, tmp_path: Path) -> None:
    talk = Conversation(name, tmp_path, system="Be brief.")
    talk.tool.rewind("Instructions for this conversation:\n\nBe brief.")
    talk.said("Something else")
    assert talk.paths == {"main": [*SAID], "branch-2": ["Something else", "Something else!"]}


def test_that_messages_were_removed_is_reported_if_the_tool_has_dropped_which_they_were(tmp_path: Path) -> None:
    talk = Conversation("opencode", tmp_path)
    with closing(sqlite3.connect(tmp_path / ".local/share/opencode/opencode.db")) as database:
        database.execute("UPDATE session SET metadata = NULL")
        database.commit()
    talk.tool.rewind("Second")
    talk.tool.say("Second again")
    found = talk.integration.read_back(talk.id, talk.options)
    assert [damage.reason for damage in found.damages] == [
        "4 messages of Segue were removed; what followed is at the end"
    ]


def test_a_branch_that_the_user_chose_here_stays_active(talk: Conversation) -> None:
    talk.session.fork(at=1, name="mine")
    talk.tool.rewind("Second")
    talk.said("Second again")
    assert talk.session.branch == "mine"
    assert talk.paths["branch-3"] == ["First", "One.", "Second again", "Second again!"]


def test_what_was_said_here_since_does_not_count_as_rewound(talk: Conversation) -> None:
    talk.session.add("user", "Meanwhile")
    assert talk.said("Fourth", "Fifth") == ["Fourth", "Fourth!", "Fifth", "Fifth!"]
    assert talk.paths == {"main": [*SAID, "Meanwhile", "Fourth", "Fourth!", "Fifth", "Fifth!"]}
