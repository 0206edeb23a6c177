"""What tools did, in every store, and on a disk that is full at the wrong moment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import segue
from segue.chat.context.tokens import Estimate
from segue.chat.conversation import Conversation
from segue.chat.tool_loop import run_tool_loop
from segue.errors import DiskFullError
from segue.library import Library
from segue.stores.journal import JournalStore
from segue.tools import ToolCall
from tests.chat.test_conversation_disk import FillingKernel
from tests.support.scripted_agent import ScriptedAgent
from tests.support.tool_project import EVERYTHING, ToolProject

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import JsonObject

APPEND = ToolCall(id="c1", name="run_shell", arguments={"command": "echo once >> effect"})
SCHEMES = ("journal", "memory", "soleur", "cortext", "gptel")


def converse(project: ToolProject, partner: ScriptedAgent) -> Conversation:
    return Conversation(project.session, partner, counter=Estimate(), executor=project.executor())


def finish(conversation: Conversation, *, again: bool = False) -> str:
    shown: list[str] = []
    pieces = conversation.retry() if again else conversation.ask("Go.")
    run_tool_loop(conversation, pieces, show=shown.extend, notify=lambda _: None)
    return "".join(shown)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_store_keeps_intent_and_result(tmp_path: Path, scheme: str) -> None:
    project = ToolProject(tmp_path, segue.open(f"{scheme}:{tmp_path / 'kept'}" if scheme != "memory" else "memory:"))
    project.permissions.set_scope(json.dumps(EVERYTHING))
    assert finish(converse(project, ScriptedAgent(("I do.", APPEND), ("Done.",)))) == "I do.Done."
    turns = project.library.load(project.session.id).turns
    given: JsonObject = {"id": "c1", "name": "run_shell", "arguments": {"command": "echo once >> effect"}}
    assert [(turn.role, turn.parts) for turn in turns] == [
        ("user", ()),
        ("assistant", ({"type": "tool_call", **given},)),
        ("tool", ({"type": "tool_result", **given},)),
        ("assistant", ()),
    ]
    project.session.close()


def disk(root: Path) -> tuple[ToolProject, FillingKernel]:
    kernel = FillingKernel()
    project = ToolProject(root, Library(JournalStore(str(root / "sessions"), kernel=kernel)))
    project.allow()
    return project, kernel


def effect(project: ToolProject) -> str:
    path = project.root / "effect"
    return path.read_text() if path.exists() else ""


def test_an_intent_that_cannot_be_recorded_is_not_carried_out_until_it_is(tmp_path: Path) -> None:
    project, kernel = disk(tmp_path)
    conversation = converse(project, ScriptedAgent(("I do.", APPEND), ("Done.",)))
    pieces = conversation.ask("Go.")
    next(pieces)
    kernel.is_full = True
    with pytest.raises(DiskFullError):
        list(pieces)
    assert (conversation.calls, effect(project)) == ((), "")
    kernel.is_full = False
    assert conversation.unsaved == "I do."
    assert finish(conversation, again=True) == "Done."
    assert effect(project) == "once\n"


def test_a_result_that_cannot_be_recorded_is_recorded_later_and_the_deed_is_not_done_again(tmp_path: Path) -> None:
    project, kernel = disk(tmp_path)
    partner = ScriptedAgent((APPEND,), ("Done.",))
    conversation = converse(project, partner)
    list(conversation.ask("Go."))
    kernel.is_full = True
    with pytest.raises(DiskFullError):
        conversation.perform(conversation.calls[0])
    assert effect(project) == "once\n"
    kernel.is_full = False
    assert finish(conversation, again=True) == "Done."
    assert effect(project) == "once\n"
    turns = project.library.load(project.session.id).turns
    assert [turn.role for turn in turns] == ["user", "assistant", "tool", "assistant"]
    assert "unknown" not in turns[2].content
