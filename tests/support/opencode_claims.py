"""What holds for opencode and for a tool made from it, with the real program and a model on this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import segue
from segue.integrations import HandoverContext, LaunchOptions
from segue.integrations.format.parts import call_part, image_part, result_part
from tests.support import terminal_claims
from tests.support.integration_machine import EARLIER, turn
from tests.support.tmux import TmuxTerminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGP4z8BAEiJN9aiGUQ1DSgMAkPn/Afnh+ngAAAAASUVORK5CYII="
SEEN = HandoverContext(
    turns=(
        turn("user", "Look at this.", image_part("image/png", IMAGE)),
        turn("assistant", "", call_part("1", "read", {"path": "a.png"}), call_part("2", "read", {"path": "b"})),
        turn("tool", "the picture", result_part("1", "the picture", images=[image_part("image/png", IMAGE)])),
        turn("tool", "no such file", result_part("2", "no such file", failed=True)),
        turn("assistant", "One is there."),
    ),
    title="Pictures",
)
LONG = "x" * 100_000
"""More than a pipe takes at once, which is what `export` writes."""


def starts_twice_and_brings_everything_back(machine: Machine, run: Callable[..., str]) -> None:
    """`run` is the command `segue` on this machine. The first start imports, the second answers."""
    log, real = machine.home / "starts", machine.tool.find(machine.environ)
    own = machine.home / "bin"
    own.mkdir()
    (own / machine.tool.name).write_text(f'#!/bin/sh\necho "$1" >> {log}\nexec {real} "$@"\n', encoding="utf-8")
    (own / machine.tool.name).chmod(0o700)
    machine.environ["PATH"] = f"{own}:{machine.environ['PATH']}"
    store = f"journal:{machine.home / 'sessions'}"
    with segue.open(store).create(id="talk") as session:
        session.add("user", f"Read this: {LONG}")
        session.add("assistant", f"I have read it: {LONG}")
    rounds = (f"First {LONG}", "Second")
    for number, said in enumerate(rounds, start=1):
        run("resume", "talk", "--with", machine.tool.name, said=said)
        turns = segue.open(store).load("talk").turns
        assert [turn.content for turn in turns[2:]][-2:] == [said, turns[-1].content]
        assert turns[-1].content.startswith(f"You said: {said}")
        assert len(turns) == 2 + 2 * number
    assert [line.partition("=")[0] for line in log.read_text().splitlines()] == ["import", "run", "run"]


def shows_earlier_turns_at_a_terminal(machine: Machine, tmp_path: Path) -> None:
    """Without a prompt on its full screen, and then once more, with one."""
    options = LaunchOptions(cwd=machine.project, environ=machine.environ)
    launch = machine.tool.launch(EARLIER, options)
    with TmuxTerminal(tmp_path, launch.argv, env=machine.environ, cwd=machine.project) as terminal:
        terminal.wait_for("-- Why does login fail?", "Let me look.", "too early.")
        terminal.type("And now?")
        terminal.wait_for("And now?")
        terminal.press("Enter")
        terminal.wait_for("You said: And now?")
    found = machine.read_back(launch)
    assert [turn.role for turn in found.turns] == ["user", "assistant"]
    again = machine.tool.resume(
        launch.native_id, LaunchOptions(cwd=machine.project, environ=machine.environ, prompt="Again?")
    )
    assert again
    with TmuxTerminal(tmp_path, again.argv, env=machine.environ, cwd=machine.project) as terminal:
        terminal.wait_for("-- Why does login fail?", "too early.", "And now?", "You said: Again?")
    assert [turn.content for turn in machine.read_back(launch).turns if turn.role == "user"] == ["And now?", "Again?"]


def brings_back_what_was_said_instead_of_ours(machine: Machine, tmp_path: Path) -> None:
    def go_back(terminal: TmuxTerminal) -> None:
        terminal_claims.say(terminal, "/undo")
        terminal.wait_for_absence("Thus.")
        terminal.press("C-c")

    terminal_claims.brings_back_what_was_said_instead_of_ours(
        machine, tmp_path, ready="Thus.", leave=("/exit", "Enter"), go_back=go_back
    )


def carries_images_and_failures(machine: Machine, model: Model) -> None:
    options = LaunchOptions(
        cwd=machine.project, environ=machine.environ, prompt="And?", headless=True, model="messages/m"
    )
    assert machine.tool.launch(SEEN, options).run(machine.environ) == 0
    body = next(asked.body for asked in reversed(model.asked) if "One is there." in str(asked.body))
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]  # type: ignore[attr-defined]  # a list
    results = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    calls = {block["input"]["path"]: block["id"] for block in blocks if block["type"] == "tool_use"}
    assert IMAGE in json.dumps([block for block in blocks if block["type"] == "image"])
    assert IMAGE in json.dumps(results[calls["a.png"]])
    assert results[calls["b"]]["is_error"] is True
    assert results[calls["a.png"]].get("is_error") is not True
