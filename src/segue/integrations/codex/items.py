"""Turns from the records of one rollout: from the items of the model, which the rollout repeats for the screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.integrations.codex.answers import CALLS, HOSTED, Answer, call_id
from segue.integrations.codex.messages import TEXTS, images_in, parse_message
from segue.integrations.format.limits import TURN_BYTES
from segue.integrations.format.parts import (
    call_part,
    image_part,
    notice_part,
    result_part,
    summary_part,
    usage_of,
)
from segue.integrations.format.transcript import MARK
from segue.integrations.format.values import as_text, child, objects
from segue.model import Turn  # noqa: TC001 - the field of a tuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.integrations.format.lines import LinePlace
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

_OUTPUTS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
_IGNORED = {
    "session_meta",  # read by the caller
    "world_state",
    "inter_agent_communication_metadata",
    "security_risk_score",
}
_IGNORED_ITEMS = {"additional_tools", "compaction", "compaction_summary", "compaction_trigger", "context_compaction"}
_IGNORED_ITEMS |= {"ghost_snapshot", "other"}
_IGNORED_EVENTS = {
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "collab_agent_interaction_end",
    "collab_agent_spawn_end",
    "collab_close_end",
    "collab_resume_end",
    "collab_waiting_end",
    "context_compacted",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "entered_review_mode",
    "error",
    "exec_command_end",
    "exited_review_mode",
    "guardian_assessment",
    "image_generation_end",
    "plan_update",
    "stream_error",
    "sub_agent_activity",
    "task_complete",
    "task_started",
    "thread_goal_updated",
    "thread_name_updated",
    "thread_settings_applied",
    "turn_diff",
    "undo_completed",
    "user_message",
    "view_image_tool_call",
    "warning",
    "web_search_end",
}
"""For the screen: they repeat the items of the model, or say what Codex does."""
_BLOCKS = {*TEXTS, "input_image"}
_SUMMARY_START = "Another language model started to solve this problem"
_FAILED = re.compile(
    r"(?:Chunk ID: [^\n]*\n)?(?:Wall time:? [^\n]*\n)?(?:(?:Exit code:|Process exited with code) (?!0\n)-?\d+"
    r"|Script failed|aborted by user|aborted\b)"
)
"""How the result of a call starts that failed."""

Rollback = int
"""How many turns of the user were rolled back, with everything after the first of them."""


class ParsedTurn(NamedTuple):
    turn: Turn
    is_ours: bool
    """Whether Segue wrote it."""
    copy_of: str = ""
    """And from which turn of ours."""


def _parsed(turn: Turn, record: JsonObject) -> ParsedTurn:
    mark = record.get(MARK)
    return ParsedTurn(turn, MARK in record, mark if isinstance(mark, str) else "")


class ItemParser:
    """Takes the records of a rollout in order. A turn is complete when the record after it is known."""

    def __init__(self, rollout_id: str, builder: TranscriptBuilder, unknown: set[str]) -> None:
        self._rollout_id = rollout_id
        self._builder = builder
        self._unknown = unknown
        """Types of records that were reported, each once in a session."""
        self._model = ""
        self._effort: object = None
        self._answer = Answer()
        self._held: ParsedTurn | None = None
        self._waits = False
        """Whether the last turn is one of the user."""
        self._calls: dict[str, bool] = {}
        """The calls without a result so far, and whether each failed."""

    def parse(self, at: LinePlace, record: JsonObject) -> Iterable[ParsedTurn | Rollback]:
        payload = child(record, "payload")
        match record.get("type"):
            case "event_msg":
                return self._event(at, record, as_text(payload.get("type")))
            case "response_item":
                return self._item(at, record, as_text(payload.get("type")))
            case "turn_context":
                settings = child(payload, "collaboration_mode", "settings")
                self._model = as_text(payload.get("model"))
                self._effort = payload.get("effort") or settings.get("reasoning_effort")
            case "token_usage_record":
                self._count(child(payload, "usage"))
            case "compacted":
                return self._compact(at, record)
            case "inter_agent_communication":
                return self._notice(at, record, as_text(payload.get("content")))
            case kind if as_text(kind) not in _IGNORED:
                self._report(f"records of the type {as_text(kind)!r:.60}")
        return ()

    def flush(self) -> Iterator[ParsedTurn]:
        """The turn that was not complete so far."""
        self._close()
        if self._held is not None:
            yield self._held
            self._held = None

    # ── Records ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _event(self, at: LinePlace, record: JsonObject, kind: str) -> Iterable[ParsedTurn | Rollback]:
        payload = child(record, "payload")
        match kind:
            case "item_completed":
                self._mark_failed(child(payload, "item"))
            case "token_count":
                self._count(child(payload, "info", "last_token_usage"))
            case "thread_rolled_back":
                return self._roll_back(payload.get("num_turns"))
            case "turn_aborted":
                return self._abort(at, record)
            case "mcp_tool_call_end" | "patch_apply_end":
                is_error = child(payload, "result", "Ok").get("isError") is True or "Err" in child(payload, "result")
                if is_error or payload.get("success") is False:
                    self._fail(as_text(payload.get("call_id")))
            case _ if kind not in _IGNORED_EVENTS:
                self._report(f"events of the type {kind!r:.60}")
        return ()

    def _roll_back(self, count: object) -> Iterator[ParsedTurn | Rollback]:
        yield from self.flush()
        if isinstance(count, int) and count > 0:
            yield count

    def _item(self, at: LinePlace, record: JsonObject, kind: str) -> Iterator[ParsedTurn]:
        item = child(record, "payload")
        for block in objects(item.get("content")) if kind == "message" else ():
            if as_text(block.get("type")) not in _BLOCKS:
                self._report(f"blocks of the type {as_text(block.get('type'))!r:.60}")
        if kind in _OUTPUTS:
            yield from self.flush()
            yield self._result(at, record)
        elif kind == "agent_message":
            yield from self._notice(at, record, _agent_text(item))
        elif kind == "message" and item.get("role") != "assistant":
            yield from self._input(at, record)
        elif kind in {"message", "reasoning", *CALLS, *HOSTED}:
            yield from self._add(at, record)
            if kind in CALLS:
                self._calls[as_text(item.get("call_id"))] = False
            if kind in HOSTED:
                yield from self.flush()
                yield self._hosted_result(at, record)
        elif kind not in _IGNORED_ITEMS:
            self._report(f"items of the type {kind!r:.60}")

    def _input(self, at: LinePlace, record: JsonObject) -> Iterator[ParsedTurn]:
        """The turns of a message that the model did not write; none for what Codex adds to every conversation."""
        message = parse_message(child(record, "payload"))
        yield from self._notice(at, record, message.notices, "notice" if message.words or message.images else "")
        if message.words or message.images:
            yield from self.flush()
            yield self._turn(at, record, "user", message.words, message.images)
            self._waits = True
        for number, (command, output, failed) in enumerate(message.commands):
            yield from self.flush()
            name = f"shell{number or ''}"
            key = f"{self._rollout_id}:{at.number}:{name}"
            call = call_part(key, "shell", {"command": command})
            yield self._turn(at, record, "user", f"!{command}", [call], suffix=name if number else "")
            result = result_part(key, output, failed=failed)
            yield self._turn(at, record, "tool", output, [result], suffix=f"{name}-result")

    def _notice(self, at: LinePlace, record: JsonObject, text: str, suffix: str = "") -> Iterator[ParsedTurn]:
        if text.strip():
            yield from self.flush()
            yield self._turn(at, record, "system", text, [notice_part()], suffix=suffix)

    def _compact(self, at: LinePlace, record: JsonObject) -> Iterator[ParsedTurn]:
        """The summary; the answer of the model before it, which contains it, is the same."""
        payload = child(record, "payload")
        message = as_text(payload.get("message"))
        self._close()
        written = self._held.turn if self._held is not None else None
        if written is None or not written.content or written.content not in message:
            yield from self.flush()
            written = None
        self._held = None
        text = message.partition("\n")[2] if message.startswith(_SUMMARY_START) else message
        if text.strip():
            kept = {name: value for name, value in payload.items() if name != "replacement_history"}
            parsed = self._turn(at, {**record, "payload": kept}, "system", text, [summary_part()])
            yield parsed if written is None else parsed._replace(turn=_with_costs(parsed.turn, written))

    def _abort(self, at: LinePlace, record: JsonObject) -> Iterator[ParsedTurn]:
        """The answer that was interrupted; an empty one if Codex recorded nothing of it."""
        if self._answer.records or not self._waits:
            self._close(partial=True)
            yield from self.flush()
        else:
            turn = self._builder.turn(
                f"{self._rollout_id}:{at.number}",
                "assistant",
                "",
                self._builder.moment(record.get("timestamp"), at=at),
                records=[record],
                model=self._model,
                partial=True,
            )
            yield _parsed(turn, record)
            self._waits = False

    # ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _add(self, at: LinePlace, record: JsonObject) -> Iterator[ParsedTurn]:
        """Add a record to the answer. If the records become too large for one turn, start another."""
        if self._answer.size_bytes + at.size > TURN_BYTES or self._held is not None:
            yield from self.flush()
        self._answer.records.append((at, record))
        self._answer.size_bytes += at.size

    def _count(self, usage: JsonObject) -> None:
        """The token count follows the answer, and ends it. Older releases have it only in the second of two places."""
        if isinstance(usage.get("output_tokens"), int):
            self._close(usage)

    def _close(self, usage: JsonObject | None = None, *, partial: bool = False) -> None:
        if not self._answer.records:
            return
        answer, self._answer = self._answer, Answer()
        content, parts = answer.content(), answer.parts(self._rollout_id)
        if not content and not parts:
            return
        at, first = answer.records[0]
        counts = usage or {}
        turn = self._builder.turn(
            f"{self._rollout_id}:{at.number}",
            "assistant",
            content,
            self._builder.moment(first.get("timestamp"), at=at),
            records=[record for _, record in answer.records],
            parts=parts,
            tokens=counts.get("output_tokens"),
            model=self._model,
            partial=partial,
            usage=usage_of(
                input=counts.get("input_tokens"),
                cached=counts.get("cached_input_tokens"),
                cache_written=counts.get("cache_write_input_tokens"),
                output=counts.get("output_tokens"),
                reasoning=counts.get("reasoning_output_tokens"),
            ),
            effort=self._effort,
        )
        self._held, self._waits = _parsed(turn, first), False

    # ── Results ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _result(self, at: LinePlace, record: JsonObject) -> ParsedTurn:
        item = child(record, "payload")
        id, output = as_text(item.get("call_id")), item.get("output")
        body = output.get("content") if isinstance(output, dict) and "content" in output else output
        if item.get("type") == "tool_search_output":
            text = ", ".join(as_text(tool.get("name")) for tool in objects(item.get("tools")))
        else:
            text = _output_text(body)
        failed = self._calls.pop(id, False) or _FAILED.match(text) is not None
        failed = failed or (isinstance(output, dict) and output.get("success") is False)
        part = result_part(id, text, failed=failed, images=images_in(body))
        return self._turn(at, record, "tool", text, [part])

    def _hosted_result(self, at: LinePlace, record: JsonObject) -> ParsedTurn:
        item = child(record, "payload")
        status = as_text(item.get("status"))
        images = [image_part("image/png", item["result"])] if isinstance(item.get("result"), str) else []
        id = call_id(item, f"{self._rollout_id}:{at.number}")
        part = result_part(id, status, failed=status == "failed", images=images)
        return self._turn(at, record, "tool", status, [part], suffix="result")

    def _mark_failed(self, item: JsonObject) -> None:
        """A command or a tool that failed. In code mode it belongs to a script, which is known if only one runs."""
        if as_text(item.get("status")) not in {"failed", "declined"} or item.get("source") == "user_shell":
            return
        id = as_text(item.get("id"))
        self._fail(id if id in self._calls or len(self._calls) != 1 else next(iter(self._calls)))

    def _fail(self, id: str) -> None:
        if id in self._calls:
            self._calls[id] = True

    # ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _turn(
        self, at: LinePlace, record: JsonObject, role: str, text: str, parts: list[JsonObject], *, suffix: str = ""
    ) -> ParsedTurn:
        """A turn from a record. If it is not the first one from that, it has a suffix, and not the record again."""
        self._waits = False
        key = f"{self._rollout_id}:{at.number}" + (f":{suffix}" if suffix else "")
        moment = self._builder.moment(record.get("timestamp"), at=at)
        records = [] if suffix else [record]
        return _parsed(self._builder.turn(key, role, text, moment, records=records, parts=parts), record)

    def _report(self, what: str) -> None:
        """Report what is left out, once; a reader of the ends of a file leaves out more than that."""
        if what not in self._unknown and not self._builder.is_partial:
            self._unknown.add(what)
            self._builder.damage(f"{what} are not known, and left out")


def _with_costs(turn: Turn, of: Turn) -> Turn:
    return replace(turn, tokens=of.tokens, tokens_by=of.tokens_by, model=of.model, extra=of.extra)


def _agent_text(item: JsonObject) -> str:
    """The message of another agent. What is encrypted has no spaces."""
    blocks = objects(item.get("content"))
    found = [as_text(block.get("text") or block.get("encrypted_content")) for block in blocks]
    shown = [text for block, text in zip(blocks, found, strict=True) if "text" in block or " " in text.strip()]
    return "".join(shown)


def _output_text(output: object) -> str:
    """The text of a result: its blocks are lines, and most end like one."""
    if not isinstance(output, list):
        return as_text(output)
    found = [as_text(block.get("text")) for block in objects(output) if block.get("type") in TEXTS]
    return "".join(text if text.endswith("\n") or text is found[-1] else f"{text}\n" for text in found)
