"""Turns from the database of older releases of llm: each row has a prompt and its response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.parts import call_part, reasoning_part, result_part
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.values import as_text, objects
from segue.integrations.llm.reader import ATTACHED, FRAGMENTS, parse_object, usage, without_added

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn


def parse_legacy_turns(responses: Iterable[JsonObject], builder: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """The turns of rows of `responses`, oldest first, each with its `tool_calls` and `tool_results`."""
    system = ""
    for response in responses:
        if (text := _system(response)) != system:
            system = text
            if text:
                yield from _follow(builder, _turn(builder, response, "system", text))
        for result in objects(response.get("tool_results")):
            text = as_text(result.get("output"))
            images = [part for part in objects(result.get(ATTACHED)) if part["type"] == "image"]
            failed = bool(result.get("exception"))
            part = result_part(result.get("tool_call_id"), text, failed=failed, images=images)
            yield from _follow(
                builder, _turn(builder, response, "tool", text, parts=[part], more=as_text(result.get("id")))
            )
        prompt, attached = as_text(response.get("prompt")), objects(response.get(ATTACHED))
        if prompt or attached:
            yield from _follow(builder, _turn(builder, response, "user", prompt, parts=attached))
        yield from _follow(builder, _answer(builder, response))


def _system(response: JsonObject) -> str:
    fragments = response.get(FRAGMENTS)
    texts = [*(fragments if isinstance(fragments, list) else []), response.get("system")]
    return "\n".join(filter(None, map(as_text, texts)))


def _follow(builder: TranscriptBuilder, turn: Turn) -> Iterator[TranscriptTurn]:
    yield TranscriptTurn(turn, builder.tip)
    builder.tip = turn.id


def _turn(
    builder: TranscriptBuilder,
    response: JsonObject,
    role: str,
    text: str,
    *,
    parts: Sequence[JsonObject] = (),
    more: str = "",
) -> Turn:
    key = f"{as_text(response.get('id'))}:{role}{more}"
    moment = builder.moment(response.get("datetime_utc"))
    return builder.turn(key, role, text, moment, records=[_native(response)], parts=parts)


def _answer(builder: TranscriptBuilder, response: JsonObject) -> Turn:
    parts = [reasoning_part(response["reasoning"])] if response.get("reasoning") else []
    for call in objects(response.get("tool_calls")):
        given = parse_object(call.get("arguments")) or call.get("arguments")
        parts.append(call_part(call.get("tool_call_id"), call.get("name"), given))
    return builder.turn(
        f"{as_text(response.get('id'))}:assistant",
        "assistant",
        as_text(response.get("response")),
        builder.moment(response.get("datetime_utc")),
        records=[_native(response)],
        parts=parts,
        tokens=response.get("output_tokens"),
        model=as_text(response.get("resolved_model") or response.get("model")),
        usage=usage(response),
    )


def _native(response: JsonObject) -> JsonObject:
    native = without_added(response)
    if results := objects(native.get("tool_results")):
        native["tool_results"] = list(map(without_added, results))
    return native
