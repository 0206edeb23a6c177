"""An answer in Claude Code, joined from the records into which it is split: one per block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.claude.drafts import Draft, block_texts, images_in, notice, unknown_parts
from segue.integrations.format.parts import call_part, reasoning_part, result_part, usage_of
from segue.integrations.format.values import as_count, as_text, child, objects, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model import JsonObject

_SYNTHETIC = "<synthetic>"
"""The model of answers that Claude Code wrote itself, for want of one."""
_EMPTY = ("No response requested.", "(no content)")
"""What it writes there if there is nothing to say."""


def answer_drafts(records: list[JsonObject], *, is_cut: bool) -> list[Draft]:
    """The answer, and the results of the tools that the provider ran for it."""
    first, last = records[0], child(records[-1], "message")
    contents = [child(record, "message").get("content") for record in records]
    blocks = [block for content in contents for block in objects(content)]
    text = texts(blocks) or (contents[0] if isinstance(contents[0], str) else "")
    if last.get("model") == _SYNTHETIC or first.get("isApiErrorMessage") is True:
        return [] if text.strip() in _EMPTY else notice(text)
    is_aborted = any(record.get("isAbortedMidStream") is True for record in records)
    usage = child(last, "usage")
    answer = Draft(
        role="assistant",
        text=text,
        parts=[*_parts(blocks), *images_in(blocks), *unknown_parts(blocks)],
        partial=is_aborted or (is_cut and not last.get("stop_reason")),
        tokens=usage.get("output_tokens"),
        model=as_text(last.get("model")),
        usage=_usage(usage, first.get("costUSD")),
        effort=first.get("effort"),
    )
    results = [
        result_part(block.get("tool_use_id"), block_texts(block.get("content")) or as_text(block.get("content")))
        for block in blocks
        if as_text(block.get("type")).endswith("tool_result")
    ]
    if not results:
        return [answer]
    return [
        answer,
        Draft(role="tool", text="\n\n".join(as_text(part["content"]) for part in results), parts=results),
    ]


def _parts(blocks: list[JsonObject]) -> Iterator[JsonObject]:
    for block in blocks:
        match block.get("type"):
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                yield call_part(block.get("id"), block.get("name"), block.get("input"))
            case "thinking" if block.get("thinking"):
                yield reasoning_part(block["thinking"])


def _usage(usage: JsonObject, cost: object) -> JsonObject:
    """Claude counts the input without what was read from the cache or written to it."""
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    counts = [as_count(value) for value in (usage.get("input_tokens"), read, written)]
    known = [count for count in counts if count is not None]
    return usage_of(
        input=sum(known) if known else None,
        cached=read,
        cache_written=written,
        output=usage.get("output_tokens"),
        cost_usd=cost,
    )
