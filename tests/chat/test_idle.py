"""A person who falls silent: the session is paused, the line stays, and the next message goes on."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import segue
from segue.chat.dialect import SEGUE
from segue.chat.terminal.script import ScriptTerminal
from segue.model import StatusChanged
from tests.support.chat_terminal import CTRL_D, ENTER, ChatTerminal
from tests.support.conversation import ScriptedChat

if TYPE_CHECKING:
    from pathlib import Path

    from segue.session import LiveSession
    from segue.surface import Idle

LEFT = "\x1b[D"


class Dozing(ScriptTerminal):
    """Falls idle before every line that is read, where it is told what to do then."""

    def __init__(self, desk: ScriptedChat, *lines: str) -> None:
        self.errors = desk.stream()
        super().__init__(BytesIO("".join(f"{line}\n" for line in lines).encode()), desk.stream(), self.errors)
        self.told: list[str] = []

    def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, **_: str) -> str | None:
        self.told.append(idle.act() if idle is not None else "")
        return super().read_line(prompt, status=status)


def doze(desk: ScriptedChat, *lines: str, seconds: float = 300) -> list[str]:
    """What a person was told at each prompt."""
    library = desk.library
    terminal = Dozing(desk, *lines)
    desk.chat(library, library.create(id="talk"), terminal, replace(SEGUE, idle_seconds=seconds)).run()
    return terminal.told


def statuses(folder: Path) -> list[str]:
    events = segue.open(f"journal:{folder / 'sessions'}").store.read("talk")
    return [event.status for event in events if isinstance(event, StatusChanged)]


@pytest.fixture
def desk(tmp_path: Path) -> ScriptedChat:
    return ScriptedChat(tmp_path)


def test_the_next_message_makes_it_active_again(desk: ScriptedChat) -> None:
    told = doze(desk, "one", "two")
    assert all("the session is saved and paused" in one for one in told)
    assert statuses(desk.root) == ["paused", "active", "paused", "active", "paused"]


def test_a_command_does_not_wake_it_and_it_is_not_paused_twice(desk: ScriptedChat) -> None:
    told = doze(desk, "/title Login bug", "/exit")
    assert [bool(one) for one in told] == [True, False]
    assert statuses(desk.root) == ["paused"]


def test_zero_is_never(desk: ScriptedChat) -> None:
    assert doze(desk, "one", seconds=0) == ["", ""]
    assert statuses(desk.root) == ["paused"]


def test_a_script_is_never_idle(desk: ScriptedChat) -> None:
    desk.dialect = replace(SEGUE, idle_seconds=1e-9)
    desk.talk("one", "two")
    assert statuses(desk.root) == ["paused"]


def test_a_pause_that_cannot_be_recorded_is_told_and_costs_nothing(desk: ScriptedChat) -> None:
    class Full(Dozing):
        def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, **_: str) -> str | None:
            session._writer.close()  # as a failed disk would
            return super().read_line(prompt, status=status, idle=idle)

    library = desk.library
    session = library.create(id="talk")
    terminal = Full(desk, "/stats")
    chat = desk.chat(library, session, terminal)
    chat.run()
    assert terminal.told[0].startswith("idle, but the pause cannot be recorded: ")
    assert statuses(desk.root)[-2:] == ["active", "paused"]


def test_while_it_is_idle_another_writer_may_have_it_and_what_was_typed_meanwhile_is_not_sent(
    desk: ScriptedChat,
) -> None:
    class Elsewhere(Dozing):
        """Another window takes the session while this one is idle, and closes it before the second line."""

        def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, **_: str) -> str | None:
            line = super().read_line(prompt, status=status, idle=idle)
            if line == "one":
                other.append(segue.open(library.store.url).resume("talk"))
                other[0].add("user", "elsewhere")
            elif line == "two":
                other[0].close()
            return line

    library = desk.library
    other: list[LiveSession] = []
    terminal = Elsewhere(desk, "one", "two", "/exit")
    desk.chat(library, library.create(id="talk"), terminal).run()
    assert "nothing was sent: session talk is in use by process" in terminal.errors.getvalue()
    assert "the session was continued elsewhere (turns added: 1)" in terminal.errors.getvalue()
    assert [turn.content for turn in library.load("talk").turns] == ["elsewhere", "two", "You said: two"]


def test_a_session_that_is_taken_elsewhere_can_be_left(desk: ScriptedChat) -> None:
    class Elsewhere(Dozing):
        def read_line(self, prompt: str, *, status: str = "", idle: Idle | None = None, **_: str) -> str | None:
            line = super().read_line(prompt, status=status, idle=idle)
            other.append(segue.open(library.store.url).resume("talk"))
            return line

    library = desk.library
    other: list[LiveSession] = []
    desk.chat(library, library.create(id="talk"), Elsewhere(desk, "/exit", "never read")).run()
    assert len(other) == 1
    other[0].close()
    assert library.load("talk").status == "paused"


def test_what_is_typed_stays_in_the_line_with_the_cursor(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path, IDLE_SECONDS="0.2") as at:
        at.wait_for_prompt()
        at.type(f"hllo{LEFT * 3}")
        at.wait_for("the session is saved and paused; your next message resumes it")
        at.wait_for_line("actor> hllo")
        at.type(f"e{ENTER}")
        at.wait_for("You said: 'hello'.")
        at.wait_for("the session is saved and paused")
        at.wait_for_prompt()
        at.type(CTRL_D)
        assert at.end() == 0
    assert statuses(tmp_path) == ["paused", "active", "paused"]


def test_a_terminal_that_can_do_nothing_shows_the_line_once_more(tmp_path: Path) -> None:
    with ChatTerminal(tmp_path, IDLE_SECONDS="2", TERM="dumb") as at:
        at.wait_for("actor>")
        at.type("hel")
        at.wait_for("the session is saved and paused")
        at.wait_for("actor> hel")
        at.type(f"lo{ENTER}")
        at.wait_for("You said: 'hello'.")
        at.type(CTRL_D)
        assert at.end() == 0
