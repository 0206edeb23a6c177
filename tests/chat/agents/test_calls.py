"""Tools on the wire of each provider: offered, called in pieces, answered, and dropped where an answer is not whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from segue.chat.agent import AgentError, Message, TextDelta, Usage
from segue.chat.agents.messages import Calls
from segue.tools import ToolCall, ToolSpec
from tests.support.providers.houses import HOUSES, QUESTION
from tests.support.providers.server import Reply, Server

if TYPE_CHECKING:
    from segue.chat.agent import Piece
    from segue.model import JsonObject
    from tests.support.providers.houses import ProviderFixture

SCHEMA: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
OFFER = ToolSpec(name="read_file", description="Read a file.", parameters=SCHEMA)
ASKED = replace(QUESTION, tools=(OFFER,))
READ: tuple[str, dict[str, object]] = ("read_file", {"path": "Straße.md"})
LIST: tuple[str, dict[str, object]] = ("list_dir", {})


def signature(house: ProviderFixture) -> str:
    return "c2lnbmVk" if house.name == "google" else ""


def pieces_of(house: ProviderFixture, *script: Reply) -> list[Piece]:
    with Server(list(script)) as server:
        return list(house.agent(server.url).answer(ASKED))


def test_calls_come_behind_the_text_with_their_arguments_whole(house: ProviderFixture) -> None:
    pieces = pieces_of(house, house.calls(READ, LIST, words="I look."))
    assert pieces == [
        TextDelta("I look."),
        ToolCall(id="call_1", name="read_file", arguments={"path": "Straße.md"}, signature=signature(house)),
        ToolCall(id="call_2", name="list_dir", arguments={}, signature=signature(house)),
        Usage(input_tokens=15, output_tokens=7, model=house.model),
    ]


def test_an_answer_of_calls_alone_is_an_answer(house: ProviderFixture) -> None:
    pieces = pieces_of(house, house.calls(READ))
    assert [piece.name for piece in pieces if isinstance(piece, ToolCall)] == ["read_file"]


def test_of_an_answer_that_reached_its_limit_no_call_is_made(house: ProviderFixture) -> None:
    pieces = pieces_of(house, house.calls(READ, words="I look.", reason=house.full))
    assert not any(isinstance(piece, ToolCall) for piece in pieces)
    with pytest.raises(AgentError):
        pieces_of(house, house.calls(READ, reason=house.full))


def test_of_an_answer_that_breaks_off_no_call_is_made_and_it_is_asked_for_again(house: ProviderFixture) -> None:
    broken = Reply(body=(house.begin(), house.call(1, "read_file", '{"path": "a"}')), chunked=False)
    pieces = pieces_of(house, broken, house.answers("Fine."))
    assert [piece for piece in pieces if not isinstance(piece, Usage)] == [TextDelta("Fine.")]


def test_each_provider_is_told_of_the_tools_in_its_own_way() -> None:
    sent = []
    for house in HOUSES:
        with Server([house.answers("Fine.")]) as server:
            list(house.agent(server.url).answer(ASKED))
            sent.append(server.asked[0].body)
    anthropic, openai, google = sent
    assert anthropic["tools"] == [{"name": "read_file", "description": "Read a file.", "input_schema": SCHEMA}]
    assert "tool_choice" not in anthropic
    function = {"name": "read_file", "description": "Read a file.", "parameters": SCHEMA}
    assert openai["tools"] == [{"type": "function", "function": function}]
    declared = {"name": "read_file", "description": "Read a file.", "parameters_json_schema": SCHEMA}
    assert google["tools"] == [{"functionDeclarations": [declared]}]


def test_what_came_of_a_call_is_told_with_the_signature_and_whether_it_failed(house: ProviderFixture) -> None:
    call: JsonObject = {"type": "tool_call", "id": "call_1", "name": "read_file", "arguments": {"path": "a"}}
    call |= {"signature": signature(house)} if signature(house) else {}
    result: JsonObject = {"type": "tool_result", "id": "call_1", "name": "read_file", "is_error": True}
    messages = (
        *ASKED.messages,
        Message(role="assistant", content="", parts=(call,)),
        Message(role="tool", content="refused: it is out of scope", parts=(result,)),
    )
    with Server([house.answers("Fine.")]) as server:
        list(house.agent(server.url).answer(replace(ASKED, messages=messages)))
        body = server.asked[0].body
    words = "refused: it is out of scope"
    match house.name:
        case "anthropic":
            assert body["messages"][1:] == [  # type: ignore[index]
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "call_1", "name": "read_file", "input": {"path": "a"}}],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "call_1", "content": words, "is_error": True},
                    ],
                },
            ]
        case "openai":
            assert body["messages"][-1] == {"role": "tool", "tool_call_id": "call_1", "content": words}  # type: ignore[index]
        case "google":
            (made,) = body["contents"][1]["parts"]  # type: ignore[index]
            assert made == {
                "functionCall": {"id": "call_1", "name": "read_file", "args": {"path": "a"}},
                "thoughtSignature": "c2lnbmVk",
            }
            (answered,) = body["contents"][2]["parts"]  # type: ignore[index]
            response = {"id": "call_1", "name": "read_file", "response": {"error": words}}
            assert answered == {"functionResponse": response}


@pytest.mark.parametrize("text", ["{", "[1]", '"a"', "null", "[" * 5000])
def test_arguments_that_are_no_object_stand_under_input(text: str) -> None:
    calls = Calls()
    calls.add(0, id="1", name="read_file", arguments=text)
    (call,) = calls
    assert set(call.arguments) == {"input"}


def test_calls_that_share_an_index_are_told_apart_by_their_ids() -> None:
    calls = Calls()
    for id in ("1", "2"):
        calls.add(0, id=id, name="read_file", arguments=f'{{"path": "{id}"}}')
    assert [call.arguments for call in calls] == [{"path": "1"}, {"path": "2"}]
