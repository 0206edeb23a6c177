"""Messages in the state of a graph are turns of the session, each one once."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from segue.bridges.langgraph import SegueSaver
from segue.model import usage_of_turn
from tests.bridges.langgraph.test_saver import Steps, place

if TYPE_CHECKING:
    from pathlib import Path

    from segue.model import Session, Turn

IMAGE = b"\x89PNG image"


@pytest.fixture
def saver(tmp_path: Path) -> SegueSaver:
    return SegueSaver(f"journal:{tmp_path}/agents")


@pytest.fixture(params=["warm", "cold"])
def steps(request: pytest.FixtureRequest, saver: SegueSaver, tmp_path: Path) -> Steps:
    """With every checkpoint by the same process, or by another one each."""

    class ColdSteps(Steps):
        def put(self, *args: Any, **changes: Any) -> Any:  # noqa: ANN401
            self.saver = SegueSaver(f"journal:{tmp_path}/agents")
            return super().put(*args, **changes)

    return Steps(saver) if request.param == "warm" else ColdSteps(saver)


def session_of(saver: SegueSaver) -> Session:
    return saver._sessions.store.load(saver._sessions.id_of("t"))


def said(turns: tuple[Turn, ...]) -> str:
    return " ".join(turn.content for turn in turns)


def human(*texts: str) -> list[BaseMessage]:
    return [HumanMessage(text, id=text) for text in texts]


def turn_of(saver: SegueSaver, message: BaseMessage) -> Turn:
    Steps(saver).put(messages=[message])
    (turn,) = session_of(saver).turns
    return turn


def test_a_message_becomes_a_turn_once(steps: Steps, saver: SegueSaver) -> None:
    steps.put(other=1)
    steps.put(messages=human("a"))
    steps.put(messages=human("a", "b"))
    steps.put(other=2)
    steps.put(messages=human("a", "b", "c", "d"))
    session = session_of(saver)
    assert said(session.turns) == "a b c d"
    assert list(session.branches) == ["main"]


def test_a_message_that_loading_completes_is_the_same_message(steps: Steps, saver: SegueSaver) -> None:
    answer = AIMessage("b", id="b")
    answer.tool_calls = [{"id": "1", "name": "f", "args": {"at": (1, 2)}}]
    steps.put(messages=[*human("a"), answer])
    found = saver.get_tuple(place())
    assert found is not None
    loaded = found.checkpoint["channel_values"]["messages"]
    assert loaded[1] != answer
    steps.put(messages=[*loaded, *human("c")])
    steps.put(messages=[*human("a"), answer, *human("c", "d")])
    session = session_of(saver)
    assert said(session.turns) == "a b c d"
    assert list(session.branches) == ["main"]


def test_a_message_with_a_new_text_begins_a_branch(steps: Steps, saver: SegueSaver) -> None:
    steps.put(messages=human("a", "b", "c"))
    steps.put(messages=[*human("a"), HumanMessage("B", id="b"), *human("c", "d")])
    session = session_of(saver)
    assert said(session.turns) == "a B c d"
    assert said(session.path("main")) == "a b c"
    assert session.branches["branch-2"].at == 1


@pytest.mark.parametrize(("left", "at"), [("ac", 1), ("ab", 2), ("", 0)])
def test_a_removed_message_begins_a_branch(steps: Steps, saver: SegueSaver, left: str, at: int) -> None:
    steps.put(messages=human("a", "b", "c"))
    steps.put(messages=human(*left))
    steps.put(messages=human(*left, "d"))
    session = session_of(saver)
    assert said(session.turns) == " ".join([*left, "d"])
    assert said(session.path("main")) == "a b c"
    assert {name: branch.at for name, branch in session.branches.items()} == {"main": 0, "branch-2": at}


@pytest.mark.parametrize("system", [[], [SystemMessage("s", id="s")]])
def test_a_state_that_keeps_only_the_last_messages_has_a_whole_conversation(
    steps: Steps, saver: SegueSaver, system: list[BaseMessage]
) -> None:
    for end in range(1, 9):
        steps.put(messages=system + human(*"abcdefgh"[max(0, end - 3) : end]))
    session = session_of(saver)
    assert said(session.turns) == " ".join([*("s" for _ in system), *"abcdefgh"])
    assert list(session.branches) == ["main"]
    steps.put(messages=[*system, *human("f", "g", "H")])
    session = session_of(saver)
    assert said(session.turns) == " ".join([*("s" for _ in system), *"abcdefgH"])
    assert said(session.path("main")).endswith("g h")


@pytest.mark.parametrize("system", [[], [SystemMessage("s", id="s")]])
def test_a_state_that_keeps_only_the_newest_message_has_a_whole_conversation(
    steps: Steps, saver: SegueSaver, system: list[BaseMessage]
) -> None:
    for letter in "abcd":
        steps.put(messages=system + human(letter))
    session = session_of(saver)
    assert said(session.turns) == " ".join([*("s" for _ in system), *"abcd"])
    assert list(session.branches) == ["main"]


def test_a_summary_in_place_of_messages_begins_a_branch(steps: Steps, saver: SegueSaver) -> None:
    steps.put(messages=human("a", "b", "c"))
    steps.put(messages=[SystemMessage("sum", id="sum"), *human("c")])
    steps.put(messages=[SystemMessage("sum", id="sum"), *human("c", "d")])
    session = session_of(saver)
    assert said(session.turns) == "sum c d"
    assert len(session.branches) == 2


def test_a_fork_is_a_branch_at_the_turn_of_its_checkpoint(steps: Steps, saver: SegueSaver) -> None:
    steps.put(messages=human("a"))
    early = steps.config
    values, versions = dict(steps.values), dict(steps.versions)
    steps.put(messages=human("a", "b"))
    late = steps.config
    steps.config, steps.values, steps.versions = early, values, versions
    steps.put(messages=human("a", "x"))
    steps.put(messages=human("a", "x", "y"))
    assert said(session_of(saver).turns) == "a x y"
    steps.config = late
    steps.put(messages=human("a", "b", "c"))
    session = session_of(saver)
    assert said(session.turns) == "a b c"
    assert (session.branch, {name: branch.at for name, branch in session.branches.items()}) == (
        "main",
        {"main": 0, "branch-2": 1},
    )


def test_a_fork_without_messages_is_a_branch_too(steps: Steps, saver: SegueSaver) -> None:
    early = steps.put(count=1)
    steps.put(count=2)
    steps.config = early
    steps.put(count=3)
    assert list(session_of(saver).branches) == ["main", "branch-2"]


def test_a_checkpoint_that_is_put_again_repeats_nothing(saver: SegueSaver) -> None:
    steps = Steps(saver)
    steps.put(messages=human("a"))
    found = saver.get_tuple(place())
    assert found is not None
    for _ in range(2):
        saver.put(place(), found.checkpoint, found.metadata, found.checkpoint["channel_versions"])
    session = session_of(saver)
    assert (said(session.turns), list(session.branches)) == ("a", ["main"])


def test_an_answer_with_calls_usage_and_model(saver: SegueSaver) -> None:
    turn = turn_of(
        saver,
        AIMessage(
            content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."}],
            id="m1",
            tool_calls=[{"id": "c1", "name": "look", "args": {"city": "Bern"}}],
            usage_metadata={
                "input_tokens": 20,
                "output_tokens": 8,
                "total_tokens": 28,
                "input_token_details": {"cache_read": 5},
                "output_token_details": {"reasoning": 3},
            },
            response_metadata={"model_name": "gpt-9"},
        ),
    )
    assert (turn.role, turn.content, turn.model, turn.tokens, turn.tokens_by) == (
        "assistant",
        "I look.",
        "gpt-9",
        8,
        "provider",
    )
    assert list(turn.parts) == [
        {"type": "reasoning", "text": "hm"},
        {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"city": "Bern"}},
    ]
    assert usage_of_turn(turn).as_json() == {
        "input_tokens": 20,
        "cached_tokens": 5,
        "output_tokens": 8,
        "reasoning_tokens": 3,
    }
    assert turn.extra["message_id"] == "m1"


def test_the_result_of_a_call(saver: SegueSaver) -> None:
    turn = turn_of(saver, ToolMessage("no such city", tool_call_id="c1", status="error", name="look"))
    assert (turn.role, turn.content) == ("tool", "no such city")
    assert list(turn.parts) == [{"type": "tool_result", "id": "c1", "is_error": True}]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(IMAGE).decode()}"}},
        {"type": "image", "base64": base64.b64encode(IMAGE).decode(), "mime_type": "image/png"},
        {"type": "image", "source": {"data": base64.b64encode(IMAGE).decode(), "media_type": "image/png"}},
    ],
)
def test_an_image_is_a_blob(saver: SegueSaver, block: dict[str, Any]) -> None:
    turn = turn_of(saver, HumanMessage(content=[{"type": "text", "text": "see"}, block]))
    (part,) = turn.parts
    assert (turn.content, part["type"], part["media_type"]) == ("see", "image", "image/png")
    assert saver._sessions.store.get_blob(session_of(saver).id, str(part["hash"])) == IMAGE


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (SystemMessage("x"), "system"),
        (ChatMessage(content="x", role="assistant"), "assistant"),
        (ChatMessage(content="x", role="critic"), "user"),
        (FunctionMessage(content="x", name="f"), "tool"),
        (AIMessageChunk(content="x"), "assistant"),
        (HumanMessage("x\x00\ud800\x1b[31m"), "user"),
        (
            AIMessage("x", tool_calls=[{"id": None, "name": "f", "args": {"at": float("nan"), "deep": {1: {2}}}}]),
            "assistant",
        ),
        (HumanMessage(content=[{"type": "text"}, {"type": ["?"]}, {"type": "image"}, "x", {}]), "user"),
    ],
)
def test_any_message_can_be_a_turn(saver: SegueSaver, message: BaseMessage, role: str) -> None:
    turn = turn_of(saver, message)
    assert turn.role == role
    assert turn.content.startswith("x")


def test_the_conversation_is_one_channel(saver: SegueSaver) -> None:
    steps = Steps(saver)
    steps.put(scratch=human("z"), messages=human("a"))
    steps.put(scratch=human("z", "y"), messages=human("a", "b"))
    assert said(session_of(saver).turns) == "a b"


def test_turns_of_another_program_stay_and_the_graph_continues_on_a_branch(saver: SegueSaver) -> None:
    steps = Steps(saver)
    steps.put(messages=human("a"))
    with saver._sessions.writing("t") as session:
        session.add("user", "by hand")
    steps.put(messages=human("a", "b"))
    found = session_of(saver)
    assert said(found.turns) == "a b"
    assert said(found.path("main")) == "a by hand"


def test_threads_of_a_subgraph_make_no_turns(saver: SegueSaver) -> None:
    Steps(saver).put(messages=human("a"))
    Steps(saver, place("t", "agent:1")).put(messages=human("a", "inner"))
    assert said(session_of(saver).turns) == "a"
