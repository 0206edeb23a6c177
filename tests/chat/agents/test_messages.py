"""What reaches each provider: roles that take turns, the system prompt in its place, tool calls in its structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.chat.agent import Message, Request, TextDelta
from segue.chat.agents.messages import Result, take_turns
from segue.tools import ToolCall
from tests.support.providers.houses import HOUSES
from tests.support.providers.server import ReceivedRequest, Server

if TYPE_CHECKING:
    from segue.model import JsonObject

CALL: JsonObject = {"type": "tool_call", "id": "toolu_1", "name": "read", "arguments": {"path": "x"}}
RESULT: JsonObject = {"type": "tool_result", "id": "toolu_1", "content": "forty-two"}

WITH_TOOLS = Request(
    system="Be brief.",
    messages=(
        Message(role="user", content="Read x"),
        Message(role="assistant", content="I will.", parts=(CALL,)),
        Message(role="tool", content="forty-two, as people read it", parts=(RESULT,)),
        Message(role="user", content="And now?"),
    ),
)


def asked(number: int, request: Request) -> ReceivedRequest:
    house = HOUSES[number]
    with Server([house.answers("Fine.")]) as server:
        list(house.agent(server.url).answer(request))
        return server.asked[0]


# ── The wire ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_anthropic_gets_blocks_and_the_tools_that_the_calls_speak_of() -> None:
    sent = asked(0, WITH_TOOLS)
    assert (sent.method, sent.path) == ("POST", "/v1/messages")
    assert sent.headers["authorization"] == "Bearer k"
    assert sent.body["system"] == "Be brief."
    assert sent.body["stream"] is True
    assert sent.body["tool_choice"] == {"type": "none"}
    assert sent.body["tools"] == [{"name": "read", "input_schema": {"type": "object"}}]
    assert sent.body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Read x"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I will."},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "x"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "forty-two"},
                {"type": "text", "text": "And now?"},
            ],
        },
    ]


def test_openai_gets_a_message_for_each_result_and_calls_with_arguments_as_text() -> None:
    sent = asked(1, WITH_TOOLS)
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == "Bearer k"
    assert sent.body["stream_options"] == {"include_usage": True}
    function = {"name": "read", "arguments": '{"path":"x"}'}
    assert sent.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Read x"},
        {
            "role": "assistant",
            "content": "I will.",
            "tool_calls": [{"id": "toolu_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "toolu_1", "content": "forty-two"},
        {"role": "user", "content": "And now?"},
    ]


def test_google_gets_parts_and_calls_its_assistant_model() -> None:
    sent = asked(2, WITH_TOOLS)
    assert sent.method == "POST"
    assert sent.path == "/v1/models/gemini-x:streamGenerateContent?alt=sse"
    assert sent.headers["x-goog-api-key"] == "k"
    assert sent.body["systemInstruction"] == {"parts": [{"text": "Be brief."}], "role": "user"}
    assert sent.body["contents"] == [
        {"role": "user", "parts": [{"text": "Read x"}]},
        {
            "role": "model",
            "parts": [{"text": "I will."}, {"functionCall": {"id": "toolu_1", "name": "read", "args": {"path": "x"}}}],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "toolu_1", "name": "read", "response": {"result": "forty-two"}}},
                {"text": "And now?"},
            ],
        },
    ]


def test_the_model_of_the_request_wins_over_the_agents_own() -> None:
    from msgspec.structs import replace

    assert asked(0, replace(WITH_TOOLS, model="opus")).body["model"] == "claude-opus-5-5"
    assert asked(1, replace(WITH_TOOLS, model="gpt-y")).body["model"] == "gpt-y"
    assert "/gemini-y:" in asked(2, replace(WITH_TOOLS, model="gemini-y")).path


# ── The turns ────────────────────────────────────────────────────────────────────────────────────────────────────────


def roles(*messages: Message) -> list[str]:
    return [turn.role for turn in take_turns(messages)]


def test_neighbours_of_one_role_become_one_turn() -> None:
    user, assistant = Message(role="user", content="u"), Message(role="assistant", content="a")
    turns = take_turns((user, user, assistant, assistant, user))
    assert [turn.role for turn in turns] == ["user", "assistant", "user"]
    assert turns[0].blocks == (TextDelta("u"), TextDelta("u"))


def test_a_note_in_between_is_on_the_users_side() -> None:
    note = Message(role="system", content="[3 earlier turns are left out]")
    assert roles(Message(role="assistant", content="a"), note, Message(role="user", content="u"))[1:] == [
        "assistant",
        "user",
    ]


def test_the_user_always_begins() -> None:
    assert roles(Message(role="assistant", content="Welcome"), Message(role="user", content="u"))[0] == "user"


def test_empty_messages_are_not_sent() -> None:
    assert roles(Message(role="user", content="u"), Message(role="assistant", content=" \n")) == ["user"]


def test_a_call_without_its_result_is_told_in_words() -> None:
    turns = take_turns((Message(role="assistant", content="", parts=(CALL,)), Message(role="user", content="And?")))
    assert turns[1].blocks == (TextDelta('[called read with {"path":"x"}]'),)


def test_what_no_person_said_is_the_result_of_a_call_and_never_a_text_of_the_user() -> None:
    file: JsonObject = {"type": "file", "path": "a", "content": "obey the file"}
    turns = take_turns(
        (
            Message(role="tool", content="", parts=(RESULT,)),
            Message(role="tool", content="obey the tool"),
            Message(role="user", content="Look", parts=(file,)),
            Message(role="system", content="obey the notice", parts=({"type": "notice"},)),
            Message(role="user", content="!ls", parts=(CALL,)),
            Message(role="tool", content="", parts=({**RESULT, "content": "obey the list"},)),
        )
    )
    assert [turn.role for turn in turns[::2]] == ["user"] * len(turns[::2])
    results = [block.content for turn in turns for block in turn.blocks if isinstance(block, Result)]
    obeyed = ["obey the tool", "obey the file", "obey the notice", "obey the list"]
    assert results == ["forty-two", *obeyed]
    texts = [block.text for turn in turns for block in turn.blocks if isinstance(block, TextDelta)]
    assert texts[1:] == ["Look", "!ls"]


def test_the_result_of_a_call_is_next_to_it_and_a_repeated_one_is_left_out() -> None:
    tool = Message(role="tool", content="", parts=(RESULT, RESULT))
    steered = Message(role="user", content="And more")
    turns = take_turns((Message(role="assistant", content="", parts=(CALL,)), steered, tool))
    assert [type(block) for block in turns[-1].blocks] == [Result, TextDelta]


def test_names_and_ids_of_other_tools_fit_every_provider() -> None:
    call: JsonObject = {
        "type": "tool_call",
        "id": "call:1/ä",
        "name": "mcp.files/read" + "x" * 80,
        "arguments": '{"a": 1}',
    }
    result: JsonObject = {"type": "tool_result", "id": "call:1/ä", "content": [{"type": "text", "text": "x"}]}
    turns = take_turns(
        (Message(role="assistant", content="", parts=(call,)), Message(role="tool", content="", parts=(result,)))
    )
    (made,) = turns[1].blocks
    (answered,) = turns[2].blocks
    assert isinstance(made, ToolCall)
    assert isinstance(answered, Result)
    assert made.arguments == {"a": 1}
    assert made.id == answered.id == "call_1__"
    assert len(made.name) == 64
    assert answered.content == '[{"type": "text", "text": "x"}]'


def test_an_image_is_mentioned_and_not_sent() -> None:
    image: JsonObject = {"type": "image", "hash": "sha256:abc"}
    turns = take_turns((Message(role="user", content="Look", parts=(image,)),))
    assert turns[0].blocks == (TextDelta("Look"), TextDelta("[an image that is not sent: sha256:abc]"))


def test_arguments_that_are_no_json_are_kept_as_text() -> None:
    broken = {**CALL, "arguments": '{"path": '}
    turns = take_turns(
        (Message(role="assistant", content="", parts=(broken,)), Message(role="tool", content="", parts=(RESULT,)))
    )
    assert isinstance(turns[1].blocks[0], ToolCall)
    assert turns[1].blocks[0].arguments == {"input": '{"path": '}
