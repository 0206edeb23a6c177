"""What holds for a real AI tool at a terminal: it shows and continues a conversation of ours, twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

import segue
from segue.integrations import HandoverContext, LaunchOptions
from tests.support.integration_claims import place_of
from tests.support.integration_machine import CALL, EARLIER, HEARD, turn
from tests.support.tmux import TmuxTerminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.integrations import Launch
    from segue.library import Library
    from segue.model import JsonObject
    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
OTHER_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC"


def shows_and_continues_in_two_rounds(
    machine: Machine, model: Model, folder: Path, *, ready: str, leave: Sequence[str]
) -> Launch:
    """`ready` is on the screen when a message can be typed; the keys in `leave` end the tool."""
    options = at_a_terminal(machine)
    launch = machine.tool.launch(EARLIER, options)
    with TmuxTerminal(folder, launch.argv, env=machine.environ, cwd=machine.project) as terminal:
        terminal.wait_for("-- Why does login fail?", "Let me look.", "The token expires", ready)
        say(terminal, "Which TOOL now?")
        terminal.wait_for("You said: Which TOOL now?")
        terminal.leave(*leave)
    heard = model.heard("Which TOOL now?")
    places = [place_of(expected, heard) for expected in HEARD]
    assert places == sorted(places) or sorted(places[2:6]) == list(range(places[2], places[2] + 4))
    first = machine.read_back(launch)
    assert first.damages == ()
    assert [turn.role for turn in first.turns] == ["user", "assistant", "tool", "assistant"]

    again = machine.tool.resume(first.native_id, options)
    assert again
    with TmuxTerminal(folder, again.argv, env=machine.environ, cwd=machine.project) as terminal:
        terminal.wait_for("The token expires", "You said: Which TOOL now?", ready)
        say(terminal, "And once more?")
        terminal.wait_for("You said: And once more?")
        terminal.leave(*leave)
    second = machine.read_back(first.native_id)
    assert [(turn.role, turn.content) for turn in second.after({turn.id for turn in first.turns})] == [
        ("user", "And once more?"),
        ("assistant", "You said: And once more?"),
    ]
    return launch


def brings_a_rewind_back_as_a_branch(
    machine: Machine,
    folder: Path,
    *,
    ready: str,
    leave: tuple[str, str],
    go_back: Callable[[TmuxTerminal], None],
    model: str = "",
) -> None:
    """`go_back` rewinds to before "First?" and leaves an empty editor; `leave` is a command and a key."""
    store = f"journal:{machine.home / 'sessions'}"
    library = segue.open(store)
    with library.create(agent="x", id="talk") as session:
        session.record(
            *(replace(said, branch=session.branch) for said in (turn("user", "Why?"), turn("assistant", "So.")))
        )
    environ = {**machine.environ, "PYTHONPATH": str(Path(segue.__file__).resolve().parents[1]), "SEGUE_STORE": store}
    chosen = ["--model", model] if model else []
    command = [sys.executable, "-m", "segue", "resume", "talk", "--with", machine.tool.name, *chosen]

    def end(terminal: TmuxTerminal) -> None:
        terminal.type(leave[0])
        assert terminal.leave(leave[1]) == 0, terminal.screen

    with TmuxTerminal(folder, command, env=environ, cwd=machine.project) as terminal:
        terminal.wait_for("Why?", "So.", ready)
        say(terminal, "First?")
        terminal.wait_for("You said: First?")
        end(terminal)
    assert _questions(library) == ["Why?", "First?"]
    with TmuxTerminal(folder, command, env=environ, cwd=machine.project) as terminal:
        terminal.wait_for("So.", "You said: First?", ready)
        say(terminal, "Second?")
        terminal.wait_for("You said: Second?")
        go_back(terminal)
        say(terminal, "Third?")
        terminal.wait_for("You said: Third?")
        end(terminal)
    assert _questions(library) == ["Why?", "Third?"]
    (main,) = library.load("talk").branches.keys() - {library.load("talk").branch}
    rewound = [turn.content for turn in library.tail("talk", 9, branch=main) if turn.role == "user"]
    assert rewound[:2] == ["Why?", "First?"]


def brings_back_what_was_said_instead_of_ours(
    machine: Machine,
    folder: Path,
    *,
    ready: str,
    leave: tuple[str, str],
    go_back: Callable[[TmuxTerminal], None],
    model: str = "",
) -> None:
    """`go_back` rewinds to before "How?", which was handed over, and leaves an empty editor."""
    store = f"journal:{machine.home / 'sessions'}"
    library = segue.open(store)
    said = [turn("user", "Why?"), turn("assistant", "So."), turn("user", "How?"), turn("assistant", "Thus.")]
    with library.create(agent="x", id="talk") as session:
        session.record(*(replace(one, branch=session.branch) for one in said))
    environ = {**machine.environ, "PYTHONPATH": str(Path(segue.__file__).resolve().parents[1]), "SEGUE_STORE": store}
    run = [sys.executable, "-m", "segue", "resume", "talk"]
    chosen = ["--model", model] if model else []
    argv = [*run, "--with", machine.tool.name, *chosen]
    with TmuxTerminal(folder, argv, env=environ, cwd=machine.project) as terminal:
        terminal.wait_for("Why?", "Thus.", ready)
        go_back(terminal)
        say(terminal, "Instead?")
        terminal.wait_for("You said: Instead?")
        terminal.type(leave[0])
        assert terminal.leave(leave[1]) == 0, terminal.screen
    expected = {"main": ["Why?", "How?"], "branch-2": ["Why?", "Instead?"]}
    assert _by_branch(library) == expected
    assert library.load("talk").branch == "branch-2"
    again = [*run, "--from", machine.tool.name]
    subprocess.run(again, env=environ, cwd=machine.project, check=True, stdin=subprocess.DEVNULL)
    assert _by_branch(library) == expected


def _by_branch(library: Library) -> dict[str, list[str]]:
    """What the user said."""
    whole = library.load("talk")
    return {name: [turn.content for turn in whole.path(name) if turn.role == "user"] for name in whole.branches}


def _questions(library: Library) -> list[str]:
    return [turn.content for turn in library.load("talk").turns if turn.role == "user"]


def hands_over_failures_and_images(machine: Machine, model: Model) -> list[dict[str, object]]:
    """For a tool that talks Anthropic's protocol, which has a field for both; returns the results for the model."""
    image: JsonObject = {"type": "image", "media_type": "image/png", "data": PIXEL}
    other: JsonObject = {**image, "data": OTHER_PIXEL}
    failed: JsonObject = {"type": "tool_result", "id": "1", "content": "no such file", "is_error": True}
    shown: JsonObject = {"type": "tool_result", "id": "2", "content": "a picture", "images": [other]}
    context = HandoverContext(
        turns=(
            turn("user", "What is this?", image),
            turn("assistant", "Let me look.", CALL, {**CALL, "id": "2", "name": "view"}),
            turn("tool", "no such file", failed),
            turn("tool", "a picture", shown),
            turn("assistant", "A pixel."),
        )
    )
    assert machine.launch(context, "And now?").run(machine.environ) == 0
    body = next(asked.body for asked in model.asked if "And now?" in str(asked.body) and asked.path == "/v1/messages")
    blocks = [block for message in _objects(body["messages"]) for block in _objects(message["content"])]
    results = [block for block in blocks if block["type"] == "tool_result"]
    assert "no such file" in str(results[0])
    assert [PIXEL in str(block) for block in blocks].count(True) == 1
    assert (OTHER_PIXEL in str(blocks)) == ("result_images" in machine.tool.carries)
    return results


def say(terminal: TmuxTerminal, text: str) -> None:
    terminal.type(text)
    terminal.press("Enter")


def at_a_terminal(machine: Machine) -> LaunchOptions:
    return LaunchOptions(cwd=machine.project, environ=machine.environ, arguments=machine.arguments)


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
