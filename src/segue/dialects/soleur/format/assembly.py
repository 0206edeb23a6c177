"""Puts the events of a file in order: ours, and what other programs and users have added since."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec.structs import fields, replace

from segue.dialects.soleur.format.document import (
    LAYOUT_VERSION,
    NATIVE,
    TOP,
    SoleurDocument,
    SoleurRecord,
    is_malformed,
    message_checksum,
    text_value,
)
from segue.dialects.soleur.format.edits import pair_messages, rebased
from segue.errors import Damage
from segue.formats.records import ROLE_SYNONYMS, BadRecordError, encode_indented, parse_event, parse_moment
from segue.model import EPOCH, MAIN, ROLES, Attachment, BranchCreated, BranchSwitched, Metadata, StatusChanged, Unknown

if TYPE_CHECKING:
    from segue.model import Event, JsonObject

"""How other programs name the roles; an unknown role is read as `system`."""

CONTEXT_PATH = "project_context"
"""The path of an attachment that another program made by filling in the field of this name."""

_METADATA = {item.encode_name for item in fields(Metadata)} | {"type", "sum"}


class Assembly:
    """Puts the events in order, one by one."""

    def __init__(self, found: JsonObject, session_id: str, place: str) -> None:
        self.damages: list[Damage] = []
        self.context = b""
        self._found = found
        self._session_id = session_id
        self._place = place
        self._records: list[SoleurRecord] = []
        self._names: set[str] = set()
        self._branch = MAIN
        self._added: list[str] = []
        self._orphans: list[object] = []
        ours = found.get("segue")
        self._ours: JsonObject = ours if isinstance(ours, dict) else {}

    def build(self) -> None:
        entries = self._objects("events", self._ours.get("events"))
        self._names = {text_value(entry.get("id")) for entry in entries}
        first = entries.pop(0) if entries and entries[0].get("type") == "metadata" else None
        messages = self._objects("messages", self._found.get("messages"))
        decisions = self._objects("decisions", self._found.get("decisions"))
        turns, decided = pair_messages(messages, entries, "turn"), pair_messages(decisions, entries, "decision")
        self._begin(first, messages)
        for at, entry in enumerate(rebased(entries, turns)):
            branch = entry.get("branch", MAIN)
            for one in turns.new_before.get(at, ()):
                self._add_turn({}, one, branch)
            for one in decided.new_before.get(at, ()):
                self._add_decision({}, one)
            if at in turns.shown_with:
                self._add_turn(entry, turns.shown_with[at], branch)
            elif at in decided.shown_with:
                self._add_decision(entry, decided.shown_with[at])
            elif "sum" in entry:
                self._orphans.append(entry)
            else:
                self._add(entry, {})
        for one in turns.new_at_end:
            self._add_turn({}, one, self._branch)
        for one in decided.new_at_end:
            self._add_decision({}, one)
        self._add_context()
        if first is None:
            self._add_saved()

    def document(self, *, is_noted: bool) -> SoleurDocument:
        if is_noted and self._ours and (self._added or self._orphans):
            name = f"edited-{crc32(encode_indented([self._added, self._orphans])):08x}"
            data: JsonObject = {"added": self._added, "removed": self._orphans}
            self._keep(Unknown(type="edited", data=data, id=self._free(name), seq=self._next()), {})
        version = self._ours.get("version")
        return SoleurDocument(
            self._records,
            top={name: value for name, value in self._found.items() if name not in {"messages", "decisions", "segue"}},
            context=self._found.get("project_context"),
            version=version if isinstance(version, int) else LAYOUT_VERSION,
        )

    def _begin(self, entry: JsonObject | None, messages: list[JsonObject]) -> None:
        found = self._found
        other = {name: value for name, value in found.items() if name not in TOP and name != "segue"}
        plain: JsonObject = {name: value for name, value in other.items() if name not in _METADATA}
        if clash := {name: value for name, value in other.items() if name in _METADATA}:
            plain[NATIVE] = clash
        if isinstance(found.get("project_name"), str):
            plain["project_name"] = found["project_name"]
        born = {"created_at": found.get("created_at") or (messages[0].get("timestamp") if messages else None)}
        above = {"session_id": self._session_id, "agent": text_value(found.get("agent_type")), **born}
        self._add({"type": "metadata", "id": "metadata", "status": "paused", **plain, **(entry or {}), **above}, {})
        if not self._records:  # the reason is among the damages; the session starts anyway
            first = Metadata(session_id=self._session_id, agent="", created_at=EPOCH, status="paused", id="metadata")
            self._keep(replace(first, seq=1), {})

    def _add_turn(self, entry: JsonObject, shown: JsonObject, branch: object) -> None:
        role = text_value(shown.get("role"))
        plain = {
            "type": "turn",
            "role": ROLE_SYNONYMS.get(role, role if role in ROLES else "system"),
            "branch": branch,
            **_shared_fields(entry, shown),
        }
        self._add(plain, shown, None if entry else f"message-{message_checksum(shown)}")

    def _add_decision(self, entry: JsonObject, shown: JsonObject) -> None:
        tags = shown.get("tags")
        plain = {
            "type": "decision",
            **_shared_fields(entry, shown),
            "tags": [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
            "source": text_value(shown.get("source")),
        }
        self._add(plain, shown, None if entry else f"decision-{message_checksum(shown)}")

    def _add_context(self) -> None:
        """Record the field `project_context`, if it is not what we wrote."""
        value = self._found.get("project_context")
        known = self._ours.get("context")
        if value is None and known is not None:
            self._orphans.append({"context": known})
        if value in (None, "") or known == f"{crc32(encode_indented(value)):08x}":
            return
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        self.context = text.encode("utf-8", "backslashreplace")
        name = f"sha256:{hashlib.sha256(self.context).hexdigest()}"
        if any(isinstance(record.event, Attachment) and record.event.hash == name for record in self._records):
            return
        plain: JsonObject = {"type": "attachment", "path": CONTEXT_PATH, "hash": name, "size_bytes": len(self.context)}
        self._add({**plain, "timestamp": self._last().isoformat()}, {}, f"context-{name[7:15]}")

    def _add_saved(self) -> None:
        """A file without our key comes from a program that saved it and ended."""
        try:
            moment = parse_moment(self._found.get("updated_at"))
        except BadRecordError:
            return
        if moment > self._last():
            self._keep(StatusChanged(status="paused", timestamp=moment, id=self._free("saved"), seq=self._next()), {})

    def _add(self, plain: JsonObject, visible: JsonObject, new_name: str | None = None) -> None:
        """Number and name one event; if it is not valid, report a damage."""
        if new_name is not None:
            plain["id"] = name = self._free(new_name)
            self._added.append(name)
        elif not text_value(plain.get("id")):
            plain["id"] = self._free(f"event-{self._next()}")
        try:
            event = parse_event(plain, self._next())
        except BadRecordError as error:
            self.damages.append(Damage(f"{self._place} {plain.get('type', 'event')} {plain['id']}", str(error)))
            return
        self._keep(event, visible)

    def _keep(self, event: Event, visible: JsonObject) -> None:
        self._records.append(SoleurRecord(event, visible))
        if isinstance(event, BranchSwitched) or (isinstance(event, BranchCreated) and event.switch):
            self._branch = event.branch if isinstance(event, BranchSwitched) else event.name

    def _objects(self, name: str, value: object) -> list[JsonObject]:
        """The items of a list that are objects; for each other one, a damage."""
        if not isinstance(value, list):
            if value is not None:
                self.damages.append(Damage(f"{self._place} {name}", "it is not a list"))
            return []
        for at, item in enumerate(value):
            if not isinstance(item, dict):
                self.damages.append(Damage(f"{self._place} {name}[{at}]", "it is not an object"))
        return [item for item in value if isinstance(item, dict)]

    def _next(self) -> int:
        return len(self._records) + 1

    def _last(self) -> datetime:
        moments = [getattr(record.event, "timestamp", None) for record in self._records]
        first = self._records[0].event
        assert isinstance(first, Metadata)  # noqa: S101 - it was put there first
        return max([first.created_at, *[moment for moment in moments if isinstance(moment, datetime)]])

    def _free(self, name: str) -> str:
        """The name, or the name with a number if it is taken."""
        number, free = 1, name
        while free in self._names:
            number += 1
            free = f"{name}-{number}"
        self._names.add(free)
        return free


def _shared_fields(entry: JsonObject, shown: JsonObject) -> JsonObject:
    """What a turn and a decision have in common: our fields, overridden by those that are shown."""
    return {
        **({NATIVE: shown} if is_malformed(shown) else {}),
        **{name: value for name, value in entry.items() if name != "sum"},
        "content": _text(shown.get("content")),
        "timestamp": shown.get("timestamp"),
    }


def _text(content: object) -> str:
    """The readable text of content that may have structure."""
    if isinstance(content, list):
        return "".join(_text(part.get("text") if isinstance(part, dict) else part) for part in content)
    return text_value(content)
