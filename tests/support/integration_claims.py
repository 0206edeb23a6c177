"""What holds for every real AI tool: it continues a conversation of ours, and the replies are imported once."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

from segue.integrations import HandoverContext
from tests.support.integration_machine import EARLIER, HEARD

if TYPE_CHECKING:
    from tests.support.integration_machine import Machine
    from tests.support.loopback.model import Model
    from tests.support.loopback.talk import Said

PROMPT = "-p TOOL $(touch owned) && now?"
"""Starts like an option, and contains what a shell would run."""


def goes_on_and_comes_back_once(machine: Machine, model: Model) -> None:
    launch = machine.launch(EARLIER, PROMPT)
    before = {path: path.read_bytes() for path in machine.home.rglob("*") if path.is_file() and path.suffix == ".jsonl"}
    assert launch.run(machine.environ) == 0
    heard = model.heard(PROMPT)
    places = [place_of(expected, heard) for expected in HEARD]
    # Some send a call and its result side by side, some all calls and then all results.
    assert places == sorted(places) or sorted(places[2:6]) == list(range(places[2], places[2] + 4))
    assert any(
        'Answer \\"in brief\\".' in str(asked.body) or 'Answer "in brief".' in str(asked.body) for asked in model.asked
    )
    assert not (machine.project / "owned").exists()
    for path, data in before.items():
        assert path in map(type(path), launch.temporary) or path.read_bytes().startswith(data)

    first = machine.read_back(launch)
    assert first.damages == ()
    assert [turn.role for turn in first.turns] == ["user", "assistant", "tool", "assistant"]
    asked, called, result, answered = first.turns
    assert (asked.content, answered.content) == (PROMPT, f"You said: {PROMPT}")
    assert "from-the-shell" in result.content
    assert called.parts[0]["id"] == result.parts[0]["id"]
    assert (answered.tokens, answered.tokens_by) == (7, "provider")
    assert answered.model
    assert all(turn.native for turn in first.turns)
    assert first.after({turn.id for turn in machine.read_back(first.native_id).turns}) == ()

    again = machine.resume(first.native_id, "And once more?")
    assert again.run(machine.environ) == 0
    heard = model.heard("And once more?")
    assert [piece.role for piece in heard if "from-the-shell" in piece.text] == ["call", "result"]
    second = machine.read_back(again)
    assert second.damages == ()
    assert [turn.id for turn in machine.read_back(first.native_id).turns[:4]] == [turn.id for turn in first.turns]
    new = second.after({turn.id for turn in first.turns})
    assert [(turn.role, turn.content) for turn in new] == [
        ("user", "And once more?"),
        ("assistant", "You said: And once more?"),
    ]


def begins_empty_and_comes_back(machine: Machine) -> None:
    launch = machine.launch(HandoverContext(), "Hello there")
    assert launch.run(machine.environ) == 0
    found = machine.read_back(launch)
    assert [(turn.role, turn.content) for turn in found.turns] == [
        ("user", "Hello there"),
        ("assistant", "You said: Hello there"),
    ]


def can_be_told_in_words(machine: Machine, model: Model) -> None:
    launch = machine.launch(EARLIER, "Go on.", as_text=True)
    assert launch.run(machine.environ) == 0
    heard = "\n".join(piece.text for piece in model.heard("Go on."))
    assert heard.index("-- Why does login fail?") < heard.index("The token expires") < heard.index("Go on.")
    found = machine.read_back(launch)
    assert found.turns[0].content == "Go on."


def is_readable_after_a_kill(machine: Machine, model: Model) -> None:
    """In the middle of an answer. What the tool has written by then is its own affair; nothing of it is in our way."""
    launch = machine.launch(EARLIER, "HOLD on")
    with subprocess.Popen(
        launch.argv,
        cwd=launch.cwd,
        env=machine.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdin
        process.stdin.write((launch.stdin or "").encode())
        process.stdin.close()
        assert model.is_holding.wait(60)
        os.killpg(process.pid, signal.SIGKILL)
    found = machine.read_back(launch)
    assert [turn.role for turn in found.turns if turn.content] in ([], ["user"])
    again = machine.resume(found.native_id, "Still there?")
    assert again.run(machine.environ) == 0
    assert machine.read_back(again).turns[-1].content.startswith("You said: Still there?")


def place_of(expected: tuple[str, str], heard: list[Said]) -> int:
    role, text = expected
    places = [number for number, piece in enumerate(heard) if piece.role == role and text in piece.text]
    assert len(places) == 1, f"{expected} was told {len(places)} times"
    return places[0]
