"""Responses of older releases of llm as turns: each is a row with what was asked and what was answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.format.transcript import (
    TranscriptTurn,
    as_text,
    call_part,
    objects,
    reasoning_part,
    result_part,
)
from segue.integrations.llm.reader import loaded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn


def older_steps(responses: Iterable[JsonObject], gathering: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """Rows of `responses`, oldest first, each with its `tool_calls` and `tool_results`."""
    system = ""
    for response in responses:
        if (told := as_text(response.get("system"))) != system:
            system = told
            if told:
                yield from _step(gathering, _turn(gathering, response, "system", told))
        for result in objects(response.get("tool_results")):
            text = as_text(result.get("output"))
            part = result_part(result.get("tool_call_id"), text, failed=bool(result.get("exception")))
            yield from _step(
                gathering, _turn(gathering, response, "tool", text, part=part, more=as_text(result.get("id")))
            )
        if prompt := as_text(response.get("prompt")):
            yield from _step(gathering, _turn(gathering, response, "user", prompt))
        yield from _step(gathering, _answer(gathering, response))


def _step(gathering: TranscriptBuilder, turn: Turn) -> Iterator[TranscriptTurn]:
    yield TranscriptTurn(turn, gathering.tip)
    gathering.tip = turn.id


def _turn(
    gathering: TranscriptBuilder,
    response: JsonObject,
    role: str,
    text: str,
    *,
    part: JsonObject | None = None,
    more: str = "",
) -> Turn:
    key = f"{as_text(response.get('id'))}:{role}{more}"
    moment = gathering.moment(response.get("datetime_utc"))
    return gathering.turn(key, role, text, moment, records=[response], parts=[part] if part else [])


def _answer(gathering: TranscriptBuilder, response: JsonObject) -> Turn:
    parts = [reasoning_part(response["reasoning"])] if response.get("reasoning") else []
    for call in objects(response.get("tool_calls")):
        given = loaded(call.get("arguments")) or call.get("arguments")
        parts.append(call_part(call.get("tool_call_id"), call.get("name"), given))
    return gathering.turn(
        f"{as_text(response.get('id'))}:assistant",
        "assistant",
        as_text(response.get("response")),
        gathering.moment(response.get("datetime_utc")),
        records=[response],
        parts=parts,
        tokens=response.get("output_tokens"),
        model=as_text(response.get("resolved_model") or response.get("model")),
    )
