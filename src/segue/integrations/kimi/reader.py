"""Turns from a log of Kimi Code: messages, and the steps of the model with their parts, calls and results.

A step is read when it ends, since its results are in the log before that. An undone prompt, and what followed it,
becomes a branch; a compaction and `/clear` erase nothing.
"""

from __future__ import annotations

from html import unescape
from typing import TYPE_CHECKING

from segue.integrations.format.limits import TURN_BYTES
from segue.integrations.format.openai_messages import Content, parse_calls
from segue.integrations.format.parts import (
    call_part,
    notice_part,
    reasoning_part,
    result_part,
    summary_part,
    usage_of,
)
from segue.integrations.format.tags import first_content, without
from segue.integrations.format.transcript import TranscriptTurn
from segue.integrations.format.unknown_kinds import UnknownKinds
from segue.integrations.format.values import as_count, as_seconds, as_text, child, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject

_IGNORED = (
    *(
        "agent.",
        "config.",
        "context.clear",
        "context.undone",
        "cron.",
        "forked",
        "full_compaction.",
        "goal.",
        "interaction.",
    ),
    *("interruptionReminder.", "llm.", "mcp.", "metadata", "permission.", "plan.", "plan_mode.", "plugin.", "profile."),
    *("prompt.", "runtime.", "staleGuard.", "swarm_mode.", "task.", "token_counting.", "tools.", "tower_mode."),
    *("turn.", "usage."),
)
"""How the types of records start that contain no words, or only those of other records."""
_BOILERPLATE = {"agents_md", "date_change", "permission_mode", "plan_mode", "image_compression", "init"}
"""What Kimi Code adds to prompts by itself, in every session."""
_COMMANDS = {"skill_activation", "plugin_command"}


def parse_turns(lines: Lines, builder: TranscriptBuilder, *, side: str = "") -> Iterator[TranscriptTurn]:
    """The turns in the order of the log; those of a subagent are a branch with this name."""
    reader = _Reader(builder, side)
    for at, record in builder.records(lines):
        yield from reader.read(record, at)
    yield from reader.end_step(is_whole=False)


class _Step:
    """An answer of the model that is being read, and the results of its calls."""

    def __init__(self, event: JsonObject, time: object) -> None:
        self.key = as_text(event.get("uuid"))
        self.time = time
        self.records: list[JsonObject] = []
        self.size = 0
        self.texts: list[str] = []
        self.parts: list[JsonObject] = []
        self.results: list[tuple[JsonObject, JsonObject]] = []
        """The records, and the events in them."""
        self.usage: JsonObject = {}


class _Reader:
    def __init__(self, builder: TranscriptBuilder, side: str) -> None:
        self._builder = builder
        self._unknown = UnknownKinds(builder)
        self._side = side
        self._step: _Step | None = None
        self._model = ""
        self._effort = ""
        self._before_prompts: list[str] = []
        """The turns before each prompt of the user that is not undone."""
        self._agent = f":{side}" if side else ""
        self._shell_call = ""
        """The last command that the user ran."""

    def read(self, record: JsonObject, at: LinePlace) -> Iterator[TranscriptTurn]:
        match record.get("type"):
            case "context.append_loop_event":
                yield from self._loop_event(child(record, "event"), record, at)
            case "context.append_message":
                yield from self.end_step(is_whole=True)
                yield from self._message(child(record, "message"), record, at)
            case "context.apply_compaction":
                yield from self.end_step(is_whole=True)
                summary = record.get("summary")
                text = texts(summary.get("content")) if isinstance(summary, dict) else as_text(summary)
                text = text or as_text(record.get("contextSummary"))
                yield from self._turn(str(at.offset), "system", text, record, at, parts=[summary_part()])
            case "context.undo":
                yield from self.end_step(is_whole=False)
                self._undo(as_count(record.get("count")) or 1)
            case "llm.request":
                self._model = as_text(record.get("model"))
                effort = as_text(record.get("thinkingEffort"))
                self._effort = "" if effort == "off" else effort
            case kind if not as_text(kind).startswith(_IGNORED):
                self._unknown.report("record", kind, at=at)

    def end_step(self, *, is_whole: bool) -> Iterator[TranscriptTurn]:
        """The turns of the current step; without its end, and nothing after it, it was interrupted."""
        step, self._step = self._step, None
        if step is None:
            return
        moment = self._builder.moment(as_seconds(step.time))
        if step.texts or step.parts:
            usage = step.usage
            turn = self._builder.turn(
                f"{self._builder.native_id}{self._agent}:{step.key}",
                "assistant",
                "\n\n".join(step.texts),
                moment,
                records=step.records,
                parts=step.parts,
                tokens=usage.get("output"),
                model=self._model,
                partial=not is_whole and not step.usage,
                usage=_usage(usage),
                effort=self._effort,
            )
            yield self._add(turn.id, TranscriptTurn(turn, self._builder.tip))
        for record, event in step.results:
            yield from self._result(event, record)

    def _loop_event(self, event: JsonObject, record: JsonObject, at: LinePlace) -> Iterator[TranscriptTurn]:
        kind = event.get("type")
        if kind == "step.begin" or self._step is None:
            yield from self.end_step(is_whole=False)
            if kind == "tool.result":
                yield from self._result(event, record)
                return
            self._step = _Step(event if kind == "step.begin" else {"uuid": event.get("stepUuid")}, record.get("time"))
        step = self._step
        step.size += at.size
        if step.size > max(TURN_BYTES, at.size):
            self._builder.damage("the answer that it belongs to is too long to read", at=at)
            return
        match kind:
            case "content.part":
                content = Content([child(event, "part")], self._unknown)
                step.texts += [content.text] if content.text else []
                step.parts += [*map(reasoning_part, content.thoughts), *content.images]
            case "tool.call":
                step.parts.append(call_part(event.get("toolCallId"), event.get("name"), event.get("args")))
            case "tool.result":
                step.results.append((record, event))
                return
            case "step.end":
                step.usage = child(event, "usage") or {"output": None}
            case "step.begin":
                pass
            case _:
                self._unknown.report("event", kind, at=at)
        step.records.append(record)
        if kind == "step.end":
            yield from self.end_step(is_whole=True)

    def _result(self, event: JsonObject, record: JsonObject) -> Iterator[TranscriptTurn]:
        call, result = as_text(event.get("toolCallId")), child(event, "result")
        output = Content(result.get("output"), self._unknown)
        failed = result.get("isError") is True
        part = result_part(call, output.text, failed=failed, images=output.images)
        yield from self._turn(f"result:{call}", "tool", output.text, record, None, parts=[part])

    def _message(self, message: JsonObject, record: JsonObject, at: LinePlace) -> Iterator[TranscriptTurn]:
        key = as_text(message.get("id")) or str(at.offset)
        content = Content(message.get("content"), self._unknown)
        match message.get("role"):
            case "user":
                yield from self._from_user(key, content, child(message, "origin"), record, at)
            case "assistant":
                parts = [*map(reasoning_part, content.thoughts), *parse_calls(message.get("toolCalls"))]
                yield from self._turn(key, "assistant", content.text, record, at, parts=parts)
            case "tool":
                part = result_part(message.get("toolCallId"), content.text, failed=message.get("isError") is True)
                yield from self._turn(key, "tool", content.text, record, at, parts=[part])
            case "system":
                pass  # the prompt of Kimi Code itself
            case role:
                self._unknown.report("message", role, at=at)

    def _from_user(
        self, key: str, content: Content, origin: JsonObject, record: JsonObject, at: LinePlace
    ) -> Iterator[TranscriptTurn]:
        """A message in the name of the user, by where it comes from."""
        kind = as_text(origin.get("kind")) or "user"
        if kind == "injection" and as_text(origin.get("variant")) in _BOILERPLATE:
            return
        if kind == "user":
            self._before_prompts.append(self._builder.tip)
            yield from self._turn(key, "user", content.text, record, at, parts=content.images)
        elif kind in _COMMANDS and origin.get("trigger") == "user-slash":
            self._before_prompts.append(self._builder.tip)
            name = as_text(origin.get("skillName") or origin.get("commandName"))
            arguments = as_text(origin.get("skillArgs") or origin.get("commandArgs"))
            text = f"/{f'{name} {arguments}'.strip()}\n\n{content.text}"
            yield from self._turn(key, "user", text, record, at, parts=content.images)
        elif kind == "shell_command":
            yield from self._shell(key, content.text, origin, record, at)
        elif kind == "compaction_summary":
            yield from self._turn(key, "system", content.text, record, at, parts=[summary_part()])
        else:
            text = content.text if kind != "injection" else _reminder(content.text)
            yield from self._turn(key, "system", text, record, at, parts=[notice_part()])

    def _shell(
        self, key: str, text: str, origin: JsonObject, record: JsonObject, at: LinePlace
    ) -> Iterator[TranscriptTurn]:
        """A command that the user ran, or its output, which follows it."""
        if origin.get("phase") == "input":
            command = unescape(first_content(text, "bash-input"))
            self._shell_call = f"shell:{key}"
            part = call_part(self._shell_call, "shell", {"command": command})
            yield from self._turn(key, "user", f"!{command}", record, at, parts=[part])
            return
        output = [unescape(first_content(text, name)) for name in ("bash-stdout", "bash-stderr")]
        found = "\n".join(filter(None, output))
        part = result_part(self._shell_call, found, failed=origin.get("isError") is True)
        yield from self._turn(key, "tool", found, record, at, parts=[part])

    def _turn(
        self,
        key: str,
        role: str,
        text: str,
        record: JsonObject,
        at: LinePlace | None,
        *,
        parts: list[JsonObject],
    ) -> Iterator[TranscriptTurn]:
        if not text and not parts:
            return
        moment = self._builder.moment(as_seconds(record.get("time")), at=at)
        key = f"{self._builder.native_id}{self._agent}:{key}"
        turn = self._builder.turn(key, role, text, moment, records=[record], parts=parts)
        yield self._add(turn.id, TranscriptTurn(turn, self._builder.tip))

    def _add(self, id: str, entry: TranscriptTurn) -> TranscriptTurn:
        side, self._side = self._side, ""
        self._builder.tip = id
        return TranscriptTurn(entry.turn, entry.after, side)

    def _undo(self, count: int) -> None:
        """Continue from before this many prompts of the user."""
        if self._before_prompts:
            kept = max(0, len(self._before_prompts) - count)
            self._builder.tip = self._before_prompts[kept]
            del self._before_prompts[kept:]


def _reminder(text: str) -> str:
    return first_content(text, "system-reminder") or without(text, "system-reminder")


def _usage(usage: JsonObject) -> JsonObject:
    counts = [as_count(usage.get(name)) for name in ("inputOther", "inputCacheRead", "inputCacheCreation")]
    return usage_of(
        input=sum(count or 0 for count in counts) if counts[0] is not None else None,
        cached=counts[1],
        cache_written=counts[2],
        output=usage.get("output"),
    )
