"""What a message with the role `user` in a rollout is: words of the user, a command of theirs, a notice, or nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from segue.integrations.format.parts import image_part
from segue.integrations.format.values import as_text, child, objects, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model import JsonObject

TEXTS = ("input_text", "output_text", "text")
_BOILERPLATE = (
    "# AGENTS.md instructions",
    "<apps_instructions>",
    "<collaboration_mode>",
    "<context_window",
    "<current_time_reminder>",
    "<environment_context>",
    "<environments_instructions>",
    "<image_resize_notice>",
    "<managed_developer_instructions>",
    "<model_switch>",
    "<multi_agent_",
    "<permissions",
    "<personality_spec>",
    "<plugins_instructions>",
    "<realtime_conversation>",
    "<recommended_plugins>",
    "<skills_instructions>",
    "<tools>",
    "<turn_aborted>",
    "<user_instructions>",
)
"""How texts start that Codex adds to every conversation."""
_NOTICES = (
    "<codex_internal_context",
    "<goal_context>",
    "<hook_prompt",
    "<skill>",
    "<subagent_notification>",
    "<user_action>",
)
"""How other texts start that Codex adds, and no person said."""
_REQUEST = re.compile(
    r"(?P<context># (?:Context from my IDE setup|Files mentioned by the user):\n.*?)"
    r"\n## My request for Codex:\n(?P<words>.*)",
    re.DOTALL,
)
"""What an editor puts before the words of the user: open files and selections."""
_COMMAND = re.compile(
    r"<user_shell_command>\s*<command>\n(?P<command>.*?)\n</command>\n<result>\n(?P<result>.*?)\n?</result>", re.DOTALL
)
_OUTPUT = re.compile(r"Exit code: (?P<code>-?\d+)\n(?:Duration: [^\n]*\n)?Output:\n(?P<output>.*)", re.DOTALL)
_IMAGE_TAG = re.compile(r"<image(?: [^\n]*)?>|</image>")
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,")


class ShellCommand(NamedTuple):
    """A command that the user ran with `!`, and its output."""

    command: str
    output: str
    failed: bool


class Message(NamedTuple):
    """The words of the user, what the user ran, and what Codex told the model by itself."""

    words: str
    images: list[JsonObject]
    commands: list[ShellCommand]
    notices: str


def parse_message(item: JsonObject) -> Message:
    words: list[JsonObject] = []
    notices: list[JsonObject] = []
    commands: list[ShellCommand] = []
    for block, kind in _blocks(item):
        text = as_text(block.get("text"))
        is_said = kind.startswith("user.") or (kind in {"", "unknown"} and item.get("role") == "user")
        if not kind.startswith("user.") and text.startswith(_BOILERPLATE):
            continue
        if kind in {"", "shell.user_command"} and (found := _COMMAND.match(text)):
            commands.append(_parse_command(found))
        elif is_said and (request := _REQUEST.match(text)):
            words.append({**block, "text": request["words"].strip("\n")})
            notices.append({**block, "text": request["context"].strip("\n")})
        elif is_said and (kind.startswith("user.") or not text.startswith(_NOTICES)):
            words.append(block)
        elif item.get("role") == "user" or _is_of_a_hook(item):
            notices.append(block)
    images = images_in(words)
    if images:  # Codex puts a line before and after each
        words = [block for block in words if not _IMAGE_TAG.fullmatch(as_text(block.get("text")))]
    return Message(texts(words, TEXTS), images, commands, texts(notices, TEXTS))


def images_in(content: object) -> list[JsonObject]:
    return [_image(block) for block in objects(content) if block.get("type") == "input_image"]


def _image(block: JsonObject) -> JsonObject:
    url = as_text(block.get("image_url"))
    found = _DATA_URL.match(url)
    return image_part(found["type"], url[found.end() :]) if found else image_part()


def _blocks(item: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    """The blocks of a message, and what each is if the rollout says so."""
    content = item.get("content")
    blocks = objects(content if isinstance(content, list) else [{"type": "text", "text": as_text(content)}])
    kinds = child(item, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    known = [as_text(kind) for kind in kinds] if isinstance(kinds, list) else []
    for number, block in enumerate(blocks):
        yield block, known[number] if number < len(known) else ""


def _is_of_a_hook(item: JsonObject) -> bool:
    """Whether a hook of the user added it: everything else that has the role `developer` is in every conversation."""
    about = objects(child(item, "internal_chat_message_metadata_passthrough").get("content_item_metadata"))
    return any(child(block, "provenance").get("hook") is True for block in about)


def _parse_command(found: re.Match[str]) -> ShellCommand:
    result = _OUTPUT.match(found["result"])
    if result is None:
        return ShellCommand(found["command"], found["result"], failed=False)
    return ShellCommand(found["command"], result["output"], failed=result["code"] != "0")
