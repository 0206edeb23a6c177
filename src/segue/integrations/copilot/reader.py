"""Turns from a session of GitHub Copilot CLI: a list of events, some of them of subagents.

Events name the one before them, but not all of those are in the file, so their order in the file counts. A rewind
removes events from the file; a compaction does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.integrations.copilot.attachments import AssetIndex, attachment_parts, result_images
from segue.integrations.format.copies import CopyOrder
from segue.integrations.format.parts import (
    call_part,
    notice_part,
    reasoning_part,
    result_part,
    summary_part,
    usage_of,
)
from segue.integrations.format.transcript import MARK, TranscriptTurn
from segue.integrations.format.values import as_count, as_text, child, objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.integrations.format.lines import LinePlace, Lines
    from segue.integrations.format.transcript import TranscriptBuilder
    from segue.model import JsonObject, Turn

_IGNORED_FAMILIES = ("assistant.turn_", "hook.", "mcp.", "model.", "permission.", "subagent.", "session.canvas.")
"""Families of events without anything that was said: when something started and ended, and what was allowed."""
_IGNORED = {
    "assistant.reasoning",  # repeated in the message
    "external_tool.completed",
    "external_tool.requested",
    "session.auto_mode_resolved",
    "session.autopilot_objective_changed",
    "session.context_changed",
    "session.compaction_start",
    "session.error",
    "session.info",
    "session.mode_changed",
    "session.permissions_changed",
    "session.plan_changed",
    "session.remote_steerable_changed",
    "session.schedule_cancelled",
    "session.schedule_created",
    "session.schedule_rearmed",
    "session.session_limits_changed",
    "session.shutdown",
    "session.task_complete",  # repeats the arguments of a call
    "session.truncation",
    "session.usage_checkpoint",
    "session.warning",
    "session.workspace_file_changed",
    "system.message",  # the prompt of Copilot itself
    "tool.execution_start",  # repeats the message
    "tool_search.activated",
}
_NOT_TYPED = ("agent-", "autopilot", "hook", "instruction", "jit-", "skill-", "system")
"""How the source of a message starts that nobody typed."""
_WAITING_USAGES = 64


def parse_turns(lines: Lines, builder: TranscriptBuilder) -> Iterator[TranscriptTurn]:
    """The turns in the order of the file."""
    return _Reader(lines, builder).parse()


class _Reader:
    def __init__(self, lines: Lines, builder: TranscriptBuilder) -> None:
        self._lines = lines
        self._builder = builder
        self._assets = AssetIndex(lines)
        self._tips: dict[str, str] = {"": ""}
        """The last turn of the conversation, and of each subagent by its id."""
        self._roles: dict[str, str] = {}
        """Of these turns."""
        self._before: dict[str, str] = {}
        """The turn before each message of the user, for rewinds."""
        self._usages: dict[str, JsonObject] = {}
        """What calls of the model used, until their answer follows."""
        self._skills: list[JsonObject] = []
        """Skills that the user invoked, until the message follows."""
        self._copies = CopyOrder(None)
        self._effort = ""
        self._unknown: set[str] = set()

    def parse(self) -> Iterator[TranscriptTurn]:
        for at, record in self._builder.records(self._lines):
            kind, data = as_text(record.get("type")), child(record, "data")
            agent = as_text(record.get("agentId")) or as_text(data.get("parentToolCallId"))
            mark = record.get(MARK)
            if kind == "session.start" and mark is not None:
                self._copies = CopyOrder(mark)
            self._take_settings(kind, data, agent, at)
            for turn in self._turns_of(kind, record, agent, at):
                after = self._tips.get(agent)
                side = f"agent-{agent}" if after is None else ""
                copy_of, removed = as_text(mark) if isinstance(mark, str) else "", ""
                self._copies.pass_copy(copy_of)
                if not agent and mark is None:
                    removed = self._copies.find_removed()
                yield TranscriptTurn(
                    turn, after or "", side, is_ours=mark is not None, copy_of=copy_of, instead_of=removed
                )
                self._tips[agent], self._roles[agent] = turn.id, turn.role
                if not agent:
                    self._builder.tip = turn.id

    def _take_settings(self, kind: str, data: JsonObject, agent: str, at: LinePlace) -> None:
        builder = self._builder
        match kind:
            case "session.start" | "session.resume":
                builder.native_id = as_text(data.get("sessionId")) or builder.native_id
                context = child(data, "context")
                builder.cwd = builder.cwd or as_text(context.get("cwd"))
                builder.git_branch = as_text(context.get("branch")) or builder.git_branch
                self._effort = as_text(data.get("reasoningEffort")) or self._effort
            case "session.model_change" if not agent:
                self._effort = as_text(data.get("reasoningEffort"))
            case "session.title_changed":
                builder.title = as_text(data.get("title")) or builder.title
            case "session.binary_asset":
                self._assets.add(as_text(data.get("assetId")), at)
            case "session.usage_record":
                usage = child(data, "usage")
                if len(self._usages) >= _WAITING_USAGES:
                    self._usages.clear()
                self._usages[as_text(usage.get("apiCallId"))] = usage
            case "session.snapshot_rewind":
                before = self._before.get(as_text(data.get("upToEventId")))
                if before is not None:
                    self._tips[""] = builder.tip = before
            case "skill.invoked" if data.get("trigger") == "user-invoked":
                self._skills.append(data)

    def _turns_of(self, kind: str, record: JsonObject, agent: str, at: LinePlace) -> Iterator[Turn]:
        data = child(record, "data")
        match kind:
            case "user.message":
                yield self._user_message(record, data, agent, at)
            case "assistant.message":
                yield self._answer(record, data, at)
            case "tool.user_requested":
                arguments = child(data, "arguments")
                command = as_text(arguments.get("command")) or as_text(data.get("toolName"))
                call = call_part(data.get("toolCallId"), "shell", {"command": command})
                yield self._turn(record, "user", f"!{command}", at, parts=[call])
            case "tool.execution_complete":
                yield self._result(record, data, at)
            case "session.compaction_complete" if data.get("summaryContent"):
                usage = _usage(child(data, "compactionTokensUsed"))
                text = as_text(data["summaryContent"])
                yield self._turn(record, "system", text, at, parts=[summary_part()], usage=usage)
            case "abort" if self._roles.get(agent) in ("user", "tool"):
                yield self._turn(record, "assistant", "", at, partial=True)  # Copilot does not record what there was
            case _ if text := _notice(kind, data):
                yield self._turn(record, "system", text, at, parts=[notice_part()])
            case _:
                self._name_unknown(kind, at)

    def _user_message(self, record: JsonObject, data: JsonObject, agent: str, at: LinePlace) -> Turn:
        text, parts = as_text(data.get("content")), attachment_parts(data.get("attachments"), self._assets)
        if not agent:
            self._before[as_text(record.get("id"))] = self._tips[""]
        is_typed = agent or not as_text(data.get("source")).startswith(_NOT_TYPED)
        if not is_typed or data.get("isAutopilotContinuation") is True:
            return self._turn(record, "system", text, at, parts=[notice_part(), *parts])
        skills, self._skills = self._skills, []
        bodies = [as_text(skill.get("content")).strip() for skill in skills if _is_invoked(skill, text)]
        return self._turn(record, "user", "\n\n".join([text, *filter(None, bodies)]), at, parts=parts)

    def _answer(self, record: JsonObject, data: JsonObject, at: LinePlace) -> Turn:
        reasoning = data.get("reasoningText")
        usage = _usage(self._usages.pop(as_text(data.get("apiCallId")), {}))
        return self._turn(
            record,
            "assistant",
            as_text(data.get("content")),
            at,
            parts=[
                *([reasoning_part(reasoning)] if reasoning else []),
                *(
                    call_part(call.get("toolCallId"), call.get("name"), call.get("arguments"))
                    for call in objects(data.get("toolRequests"))
                ),
            ],
            model=as_text(data.get("model")),
            usage=usage or usage_of(output=data.get("outputTokens")),
        )

    def _result(self, record: JsonObject, data: JsonObject, at: LinePlace) -> Turn:
        result = child(data, "result")
        text = as_text(result.get("content")) or as_text(child(data, "error").get("message"))
        failed, images = data.get("success") is False, result_images(result, self._assets)
        part = result_part(data.get("toolCallId"), text, failed=failed, images=images)
        return self._turn(record, "tool", text, at, parts=[part])

    def _turn(
        self,
        record: JsonObject,
        role: str,
        text: str,
        at: LinePlace,
        *,
        parts: Sequence[JsonObject] = (),
        model: str = "",
        partial: bool = False,
        usage: JsonObject | None = None,
    ) -> Turn:
        usage = usage or {}
        return self._builder.turn(
            f"{self._builder.native_id}:{as_text(record.get('id')) or at.number}",
            role,
            text,
            self._builder.moment(record.get("timestamp"), at=at),
            records=[record],
            parts=parts,
            tokens=usage.get("output_tokens") if role == "assistant" else None,
            model=model,
            partial=partial,
            usage=usage,
            effort=self._effort if role == "assistant" else "",
        )

    def _name_unknown(self, kind: str, at: LinePlace) -> None:
        if kind in _KNOWN or kind.startswith(_IGNORED_FAMILIES) or kind in self._unknown:
            return
        self._unknown.add(kind)
        self._builder.damage(f"events of type {kind[:40]!r} are not known, and are not read", at=at)


_KNOWN = _IGNORED | {
    "abort",
    "session.binary_asset",
    "session.compaction_complete",
    "session.context_cleared",
    "session.handoff",
    "session.model_change",
    "session.resume",
    "session.snapshot_rewind",
    "session.start",
    "session.title_changed",
    "session.usage_record",
    "skill.invoked",
    "system.notification",
}
"""Events that are ignored, or from which nothing but a setting is taken."""


def _notice(kind: str, data: JsonObject) -> str:
    """What Copilot told the model by itself with an event; else empty."""
    match kind:
        case "system.notification":
            return as_text(data.get("content"))
        case "session.handoff":
            return "\n\n".join(filter(None, (as_text(data.get("summary")), as_text(data.get("context")))))
        case "session.context_cleared":
            return as_text(data.get("initialMessage"))
        case "skill.invoked" if data.get("trigger") != "user-invoked":
            return as_text(data.get("content"))
    return ""


def _is_invoked(skill: JsonObject, text: str) -> bool:
    """Whether a message is the command that invokes the skill."""
    return bool(name := as_text(skill.get("name"))) and text.split(maxsplit=1)[:1] == [f"/{name}"]


def _usage(usage: JsonObject) -> JsonObject:
    """In a record of Copilot, the input includes what was cached; its costs are not in a currency."""
    sizes = [as_count(usage.get(name)) for name in ("inputTokens", "outputTokens")]
    if not any(sizes):
        return {}
    return usage_of(
        input=usage.get("inputTokens"),
        cached=usage.get("cacheReadTokens"),
        cache_written=usage.get("cacheWriteTokens"),
        output=usage.get("outputTokens"),
        reasoning=usage.get("reasoningTokens"),
    )
