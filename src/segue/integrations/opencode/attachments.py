"""What a message of the user consists of in opencode: words, files, images, and texts that opencode added itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from segue.formats.records import BadRecordError, parse_json
from segue.integrations.format.parts import file_part, image_part
from segue.integrations.format.values import as_text, child

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.model import JsonObject

SHELL_MARKER = "The following tool was executed by the user"
"""The text before a command that the user ran, and before a task that a slash command of the user started."""
_READING = "Called the Read tool with the following input: "
_READING_RESOURCE = "Reading MCP resource: "
_FAILED = "Read tool failed to read "
_BOILERPLATE = (
    SHELL_MARKER,
    "Summarize the task tool output above and continue with your task.",
    "Continue if you have next steps, or stop and ask for clarification",
    "Use the above message and context to generate a prompt and call the task tool with subagent:",
    "<system-reminder>",
)
"""How texts start that opencode adds by itself, and that say nothing about the conversation."""
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,")


class UserParts(NamedTuple):
    text: str
    """What the user said."""
    attached: list[JsonObject]
    notice: str
    """What opencode told the model on this occasion."""


def parse_user_parts(parts: Iterable[JsonObject]) -> UserParts:
    said: list[str] = []
    attached: list[JsonObject] = []
    notices: list[str] = []
    reading: _Reading | None = None
    for part in parts:
        text = as_text(part.get("text"))
        match part.get("type"):
            case "text" if part.get("ignored") is True or not text:
                continue
            case "text" if part.get("synthetic") is not True:
                said.append(text)
            case "text" if path := _path_read(text):
                attached += [reading.part()] if reading else []
                reading = _Reading(path)
            case "text" if reading and reading.content is None and not text.startswith(_FAILED):
                reading = _Reading(reading.path, text)
            case "text" if not text.strip().startswith(_BOILERPLATE):
                notices.append(text)
            case "subtask":
                command = as_text(part.get("command"))
                said.append("\n\n".join(filter(None, [command and f"/{command}", as_text(part.get("prompt"))])))
            case "file" if image := image_of(part):
                attached.append(image)
                reading = None  # what was read is the image
            case "file":
                named = as_text(child(part, "source").get("path") or part.get("filename"))
                attached.append((reading or _Reading(named)).part())
                reading = None
    attached += [reading.part()] if reading else []
    return UserParts("\n\n".join(said), attached, "\n\n".join(notices))


def image_of(part: JsonObject) -> JsonObject | None:
    """The image in a file part; without its data if opencode does not have it; None for another file."""
    kind, url = as_text(part.get("mime")), as_text(part.get("url"))
    if not kind.startswith("image/"):
        return None
    found = _DATA.match(url)
    return image_part(kind, url[found.end() :] if found else "")


def part_record(part: JsonObject) -> JsonObject:
    """A part as opencode stores it, without the data of files, and without what opencode adds later."""
    found = dict(part)
    if isinstance(url := found.get("url"), str) and (start := _DATA.match(url)):
        found["url"] = start[0]
    if isinstance(state := found.get("state"), dict):
        state = dict(state)
        if isinstance(time := state.get("time"), dict):
            state["time"] = {name: value for name, value in time.items() if name != "compacted"}
        if isinstance(attached := state.get("attachments"), list):
            state["attachments"] = [part_record(one) if isinstance(one, dict) else one for one in attached]
        found["state"] = state
    return found


class _Reading(NamedTuple):
    """A file that is being read for the user."""

    path: str
    content: str | None = None

    def part(self) -> JsonObject:
        return file_part(self.path, self.content)


def _path_read(text: str) -> str:
    """What is read, if the text says that something is read; else empty."""
    if text.startswith(_READING_RESOURCE):
        return text.removeprefix(_READING_RESOURCE)
    if not text.startswith(_READING):
        return ""
    given = text.removeprefix(_READING)
    try:
        arguments = parse_json(given.encode("utf-8", "surrogatepass"))
    except BadRecordError:
        return given
    return as_text(arguments.get("filePath")) or given if isinstance(arguments, dict) else given
