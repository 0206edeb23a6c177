"""An answer that wants something done: what is recorded when, who is told what, and how it ends."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import AgentError
from segue.chat.context.tokens import Estimate
from segue.chat.context.window import NO_RESULT
from segue.chat.conversation import TOOL_ROUNDS, Conversation
from segue.chat.tool_loop import run_tool_loop
from segue.errors import UsageError
from segue.tools import ToolCall
from segue.tools.call import INTERRUPTED, NOT_STARTED, RESULT_UNKNOWN
from tests.support.scripted_agent import ScriptedAgent
from tests.support.tool_project import ToolProject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.model import Turn


def calling(name: str, id: str = "c1", /, **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


READ = calling("read_file", path="notes.md")
WRITE = calling("write_file", "c2", path="out.md", content="written")
SECRET = calling("read_file", "c3", path=".env")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ToolProject]:
    found = ToolProject(tmp_path)
    found.allow()
    (found.root / "notes.md").write_text("The token expires.")
    (found.root / ".env").write_text("secret")
    yield found
    with suppress(Exception):
        found.session.close()


def converse(project: ToolProject, partner: ScriptedAgent, *, max_tokens: int = 10_000) -> Conversation:
    return Conversation(
        project.session,
        partner,
        max_tokens=max_tokens,
        counter=Estimate(),
        executor=project.executor(confirm="never"),
    )


def answer(conversation: Conversation, text: str = "Why?") -> tuple[str, list[str]]:
    """What was shown, and what was told."""
    shown: list[str] = []
    told: list[str] = []
    run_tool_loop(conversation, conversation.ask(text), show=shown.extend, notify=told.append)
    return "".join(shown), told


def turns(project: ToolProject) -> list[Turn]:
    """What another process would read now."""
    return list(project.library.load(project.session.id).turns)


def roles(project: ToolProject) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in turns(project)]


# ── One round ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_is_done_and_its_result_leads_to_the_answer(project: ToolProject) -> None:
    partner = ScriptedAgent(("I look.", READ), ("It expires.",))
    shown, told = answer(converse(project, partner))
    assert shown == "I look.It expires."
    assert told == ["read_file(path=notes.md)", "  done: The token expires."]
    assert roles(project) == [
        ("user", "Why?"),
        ("assistant", "I look."),
        ("tool", "The token expires."),
        ("assistant", "It expires."),
    ]
    intent, result = turns(project)[1:3]
    given = {"id": "c1", "name": "read_file", "arguments": {"path": "notes.md"}}
    assert intent.parts == ({"type": "tool_call", **given},)
    assert result.parts == ({"type": "tool_result", **given},)


def test_the_model_is_offered_the_tools_and_told_the_result(project: ToolProject) -> None:
    partner = ScriptedAgent((READ,), ("Done.",))
    answer(converse(project, partner))
    first, second = partner.requests
    assert [offer.name for offer in first.tools][:2] == ["read_file", "write_file"]
    assert [message.role for message in second.messages] == ["user", "assistant", "tool"]
    assert second.messages[-1].content == "The token expires."
    assert "arguments" not in second.messages[-1].parts[0]


def test_a_refusal_goes_to_the_model_with_its_reason_and_is_on_record(project: ToolProject) -> None:
    partner = ScriptedAgent((SECRET,), ("I may not.",))
    conversation = converse(project, partner)
    _, told = answer(conversation)
    words = "refused: out of scope: denied by '**/.env'"
    assert told[-1] == f"  {words}"
    assert partner.requests[1].messages[-1].content == words
    result = turns(project)[2]
    assert (result.content, result.parts[0]["status"], result.parts[0]["is_error"]) == (words, "refused", True)
    assert conversation.stats().calls == {"refused": 1}


def test_the_intent_is_on_record_before_the_effect_and_the_result_after_it(project: ToolProject) -> None:
    conversation = converse(project, ScriptedAgent(("I write.", WRITE), ("Done.",)))
    list(conversation.ask("Write."))
    assert roles(project)[-1] == ("assistant", "I write.")
    assert not (project.root / "out.md").exists()
    (call,) = conversation.calls
    conversation.perform(call)
    assert (project.root / "out.md").read_text() == "written"
    assert roles(project)[-1] == ("tool", "out.md was written: 7 bytes")
    assert conversation.calls == ()
    assert list(conversation.continue_answer()) == ["Done."]


def test_several_calls_are_done_in_order_and_each_result_is_recorded_before_the_next(project: ToolProject) -> None:
    conversation = converse(project, ScriptedAgent((READ, WRITE, SECRET), ("Done.",)))
    answer(conversation)
    assert [role for role, _ in roles(project)] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert [turn.parts[0]["id"] for turn in turns(project)[2:5]] == ["c1", "c2", "c3"]
    assert conversation.stats().calls == {"done": 2, "refused": 1}


def test_calls_without_an_id_or_with_one_id_for_all_are_told_apart(project: ToolProject) -> None:
    same = [calling("read_file", "", path="notes.md"), calling("list_dir", "x"), calling("list_dir", "x", path=".")]
    partner = ScriptedAgent(tuple(same), ("Done.",))
    answer(converse(project, partner))
    ids = [part["id"] for part in turns(project)[1].parts]
    assert len(set(ids)) == 3
    assert [turn.parts[0]["id"] for turn in turns(project)[2:5]] == ids


def test_arguments_that_no_store_can_keep_are_left_out_and_the_call_fails(project: ToolProject) -> None:
    deep: dict[str, object] = {}
    for _ in range(300):
        deep = {"a": deep}
    partner = ScriptedAgent((calling("read_file", "c1", path="notes.md", more=deep),), ("Done.",))
    _, told = answer(converse(project, partner))
    assert told[-1].startswith("  failed: invalid arguments for read_file")


def test_a_conversation_without_tools_offers_none_and_makes_no_call(project: ToolProject) -> None:
    partner = ScriptedAgent(("I look.", READ))
    conversation = Conversation(project.session, partner, counter=Estimate())
    assert answer(conversation) == ("I look.", [])
    assert partner.requests[0].tools == ()
    assert turns(project)[-1].parts == ()


def test_an_answer_may_have_something_done_only_so_often(project: ToolProject) -> None:
    partner = ScriptedAgent(*[(READ,)] * TOOL_ROUNDS, ("Enough.", READ))
    shown, told = answer(converse(project, partner))
    assert (shown, len(told)) == ("Enough.", 2 * TOOL_ROUNDS)
    assert [bool(request.tools) for request in partner.requests] == [True] * TOOL_ROUNDS + [False]
    answer(converse(project, ScriptedAgent((READ,), ("Again.",))), "And now?")
    assert roles(project)[-1] == ("assistant", "Again.")


def test_a_long_answer_is_cut_to_the_budget_without_splitting_a_call_from_its_result(project: ToolProject) -> None:
    (project.root / "notes.md").write_text("x" * 2000)
    partner = ScriptedAgent(*[(calling("read_file", f"c{n}", path="notes.md"),) for n in range(10)], ("Done.",))
    answer(converse(project, partner, max_tokens=3000))
    last = partner.requests[-1]
    calls = [part["id"] for message in last.messages for part in message.parts if part["type"] == "tool_call"]
    results = [part["id"] for message in last.messages for part in message.parts if part["type"] == "tool_result"]
    assert calls == results
    assert 0 < len(calls) < 10
    assert results[-1] == "c9"


# ── Stopped, broken, cut off ─────────────────────────────────────────────────────────────────────────────────────────


def stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_call_that_is_stopped_is_recorded_as_interrupted_and_those_behind_it_as_not_begun(
    project: ToolProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = converse(project, ScriptedAgent((READ, WRITE, SECRET), ("Done.",)))
    with monkeypatch.context() as patched:
        patched.setattr("segue.tools.files.WriteFile.run", stop)
        with pytest.raises(KeyboardInterrupt):
            answer(conversation)
    assert [content for _, content in roles(project)[2:]] == [
        "The token expires.",
        INTERRUPTED.content,
        NOT_STARTED.content,
    ]
    assert conversation.calls == ()
    assert conversation.pending is not None
    assert list(conversation.retry()) == ["Done."]


def test_an_agent_that_fails_after_the_tools_can_be_asked_again_and_nothing_is_done_twice(project: ToolProject) -> None:
    partner = ScriptedAgent((WRITE,), (AgentError("cut", can_retry=True),), ("Done.",))
    conversation = converse(project, partner)
    with pytest.raises(AgentError):
        answer(conversation)
    pending = conversation.pending
    assert pending is not None
    assert pending.content == "Why?"
    (project.root / "out.md").unlink()
    assert list(conversation.retry()) == ["Done."]
    assert not (project.root / "out.md").exists()
    assert [role for role, _ in roles(project)] == ["user", "assistant", "tool", "assistant"]


def test_a_call_that_a_crash_cut_off_is_unknown_and_never_made_again(project: ToolProject) -> None:
    list(converse(project, ScriptedAgent(("I write.", WRITE))).ask("Write."))
    partner = ScriptedAgent(("I am not sure.",))
    later = converse(project, partner)  # as after a crash: nobody remembers the call but the record
    assert later.calls == ()
    assert [call.name for call in later.lost_calls] == ["write_file"]
    assert later.pending is not None
    assert list(later.retry()) == ["I am not sure."]
    assert not (project.root / "out.md").exists()
    assert [content for _, content in roles(project)] == [
        "Write.",
        "I write.",
        RESULT_UNKNOWN.content,
        "I am not sure.",
    ]
    assert (
        partner.requests[0].messages[-1].content
        == "unknown: Segue stopped before the result was recorded; it may or may not have run"
    )
    assert NO_RESULT not in str(partner.requests)
    assert later.lost_calls == ()


def test_of_several_calls_only_those_without_a_result_are_unknown(project: ToolProject) -> None:
    conversation = converse(project, ScriptedAgent((READ, WRITE)))
    list(conversation.ask("Go."))
    conversation.perform(conversation.calls[0])
    later = converse(project, ScriptedAgent(("Well.",)))
    assert [call.id for call in later.lost_calls] == ["c2"]
    list(later.ask("Something else."))
    assert roles(project)[2:] == [
        ("tool", "The token expires."),
        ("tool", RESULT_UNKNOWN.content),
        ("user", "Something else."),
        ("assistant", "Well."),
    ]


def test_looking_at_a_session_with_a_lost_call_changes_nothing(project: ToolProject) -> None:
    list(converse(project, ScriptedAgent((WRITE,))).ask("Write."))
    before = turns(project)
    later = converse(project, ScriptedAgent())
    assert (later.lost_calls, later.pending is not None, later.draft) != ((), False, "")
    assert turns(project) == before


def test_the_answer_cannot_go_on_before_everything_is_done(project: ToolProject) -> None:
    conversation = converse(project, ScriptedAgent((WRITE,)))
    list(conversation.ask("Write."))
    with pytest.raises(UsageError):
        conversation.continue_answer()


def test_a_question_instead_of_the_calls_leaves_them_undone(project: ToolProject) -> None:
    conversation = converse(project, ScriptedAgent((WRITE,), ("Fine.",)))
    list(conversation.ask("Write."))
    list(conversation.ask("No, wait."))
    assert [content for _, content in roles(project)[2:]] == [NOT_STARTED.content, "No, wait.", "Fine."]
    assert not (project.root / "out.md").exists()


def test_an_answer_cut_off_while_it_streams_makes_no_call(project: ToolProject) -> None:
    conversation = converse(project, ScriptedAgent(("I wri", "te.", WRITE)))
    pieces = conversation.ask("Write.")
    next(pieces)
    pieces.close()
    assert conversation.calls == ()
    assert (turns(project)[-1].partial, turns(project)[-1].parts) == (True, ())
