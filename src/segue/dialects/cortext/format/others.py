"""What other programs and users wrote into session.json, as events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import fields

from segue.dialects.cortext.format.document import CONFIG, TOP, WORDS
from segue.formats.records import BadRecordError, parse_moment
from segue.model import Metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.dialects.cortext.format.document import CortextDocument
    from segue.model import JsonObject

NATIVE = "native"
_METADATA = {item.encode_name for item in fields(Metadata)} | {"type", "sum"}
_TEXTS = ("conversation_type", "title", "context_summary")
_OVERRIDES = {
    "command": "command",
    "system_prompt_hash": "prompt_hash",
    "model": "model",
    "tools": "mcp_tools",
    "tool": "tool",
}
"""Where each field of agent_config is stored."""


def birth(found: JsonObject, session_id: str, first_message: object) -> Iterator[JsonObject]:
    """The session of a file without our key, as records without numbers, the metadata first."""
    config, status = _config(found), _status(found)
    born = found.get("created_at") or first_message
    malformed: JsonObject = {
        name: value for name, value in found.items() if name in _METADATA and name not in {*TOP, "segue"}
    }
    malformed |= {name: found[name] for name in _TEXTS if not isinstance(found.get(name, ""), str)}
    if not isinstance(found.get("agent_config", {}), dict):
        malformed["agent_config"] = found["agent_config"]
    yield {
        **{name: value for name, value in found.items() if name not in {*TOP, *_METADATA, "segue"}},
        **({NATIVE: malformed} if malformed else {}),
        **({"conversation_type": kind} if (kind := _text(found, "conversation_type")) else {}),
        **({"command": command} if (command := _text(config, "command")) else {}),
        "type": "metadata",
        "session_id": session_id,
        "agent": _text(config, "tool"),
        "created_at": born,
        "status": status or "paused",
        "title": _text(found, "title"),
        "id": "metadata",
    }
    values = {name: config[key] for key, name in _OVERRIDES.items() if config.get(key) and key != "command"}
    if values:
        yield {"type": "overrides", "values": values, "timestamp": born, "id": "agent-config"}
    if summary := _text(found, "context_summary"):
        yield {"type": "summary", "content": summary, "timestamp": born, "id": "context-summary"}
    if _is_moment(found.get("last_active")):
        yield {
            "type": "status",
            "status": status or "paused",
            "timestamp": found["last_active"],
            "id": "last-active",
        }


def edits(found: JsonObject, document: CortextDocument) -> Iterator[JsonObject]:
    """What has been changed since we wrote the file, as records without number and id."""
    was = document.shown()
    when = found.get("last_active") if _is_moment(found.get("last_active")) else was["last_active"]
    if isinstance(title := found.get("title"), str) and title != was["title"]:
        yield {"type": "title", "title": title, "timestamp": when}
    if isinstance(summary := found.get("context_summary"), str) and summary != was["context_summary"]:
        yield {"type": "summary", "content": summary, "timestamp": when}
    before, now = _config(was), _config(found)
    changed = {_OVERRIDES[key]: now[key] for key in CONFIG if key in now and now[key] != before[key]}
    if changed:
        yield {"type": "overrides", "values": {**document.overview.overrides, **changed}, "timestamp": when}
    if (status := _status(found)) and status != was["status"]:
        yield {"type": "status", "status": status, "timestamp": when}


def _config(found: JsonObject) -> JsonObject:
    config = found.get("agent_config")
    return config if isinstance(config, dict) else {}


def _status(found: JsonObject) -> str:
    status = found.get("status")
    return status if isinstance(status, str) and status in WORDS else ""


def _text(found: JsonObject, name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _is_moment(value: object) -> bool:
    try:
        return value is not None and bool(parse_moment(value))
    except BadRecordError:
        return False
