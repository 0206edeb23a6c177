"""Turns from a session of the program Cline: messages in the form of Anthropic's API, the user's words in a tag."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.integrations.format.anthropic_messages import SortedText, turns_of
from segue.integrations.format.parts import notice_part, summary_part, usage_of
from segue.integrations.format.tags import unwrap, without
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.unknown_kinds import UnknownKinds
from segue.integrations.format.values import as_seconds, as_text, child, texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_SUMMARIES = {"compaction", "compaction_summary"}
_COMMAND = re.compile(r'<user_command slash="([^"<>]{1,100})">')
_SYNTHETIC = ("[TASK RESUMPTION]", "The user approved switching to act mode.")
"""How messages start that Cline sends in the name of the user."""


def parse_turns(
    messages: Sequence[JsonObject],
    builder: TranscriptBuilder,
    summaries: Sequence[JsonObject],
    summary_after: str,
    side: str,
) -> Iterator[TranscriptTurn]:
    """The turns in the order of the messages; the summary of a compaction follows the message with this id."""
    unknown = UnknownKinds(builder)
    is_first = True
    for number, message in enumerate(messages):
        key = as_text(message.get("id")) or str(number)
        found = list(_turns(builder, unknown, message, key))
        if summary_after and key == summary_after:
            found += _summary(builder, summaries)
        for turn in found:
            yield TranscriptTurn(turn, builder.tip, side if is_first else "")
            builder.tip = turn.id
            is_first = False


def _turns(builder: TranscriptBuilder, unknown: UnknownKinds, message: JsonObject, key: str) -> Iterator[Turn]:
    kind = child(message, "metadata").get("kind")
    if as_text(kind) in _SUMMARIES:
        yield from _summary(builder, [message])
        return
    moment = builder.moment(as_seconds(message.get("ts")))
    metrics, model = child(message, "metrics"), child(message, "modelInfo")
    key = f"{builder.native_id}:{key}"
    for role, content, parts in turns_of(message, unknown, _sort):
        is_answer = role == "assistant"
        is_synthetic = role == "user" and isinstance(kind, str)
        yield builder.turn(
            key if role != "system" and not is_synthetic else f"{key}:notice",
            "system" if is_synthetic else role,
            content,
            moment,
            records=[message],
            parts=[notice_part(), *parts] if is_synthetic else parts,
            tokens=metrics.get("outputTokens") if is_answer else None,
            model=as_text(model.get("id")) if is_answer else "",
            usage=_usage(metrics) if is_answer else None,
        )
        key = f"{key}:{role}"


def _sort(text: str) -> SortedText:
    """The words of the user, without the tag around them and what Cline adds to them."""
    words = without(text, "mode_notice", "environment_details")
    if command := _COMMAND.match(words):
        body = unwrap(words, "user_command")
        return SortedText(words=f"/{command[1].lstrip('/')}\n\n{body}")
    words = unwrap(words, "user_input")
    return SortedText(notice=words) if words.startswith(_SYNTHETIC) else SortedText(words=words)


def _summary(builder: TranscriptBuilder, messages: Sequence[JsonObject]) -> list[Turn]:
    found = []
    for message in messages:
        about = child(message, "metadata")
        if as_text(about.get("kind")) in _SUMMARIES:
            made = about.get("generatedAt") or message.get("ts")
            text = as_text(about.get("summary")) or texts(message.get("content"))
            key = f"{builder.native_id}:summary:{as_text(made)}"
            moment = builder.moment(as_seconds(made))
            found.append(builder.turn(key, "system", text, moment, records=[message], parts=[summary_part()]))
    return found


def _usage(metrics: JsonObject) -> JsonObject:
    return usage_of(
        input=metrics.get("inputTokens"),
        cached=metrics.get("cacheReadTokens"),
        cache_written=metrics.get("cacheWriteTokens"),
        output=metrics.get("outputTokens"),
        cost_usd=metrics.get("cost"),
    )
