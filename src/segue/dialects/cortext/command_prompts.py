"""The instructions of a conversation: those of the command with which it was started, in their current version.

They are the text of the conversation's type, unless the user changed the command file of the AI tool in which it was
started. Then they are the text of that file, as the tool uses it.
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.dialects.cortext.command_files import INSTRUCTIONS, file_format, is_untouched, path_of_command
from segue.dialects.cortext.format.names import conversation_type, split_id
from segue.durable.small_file import CONFIG_BYTES, UnusableFileError, read_small_file
from segue.errors import SegueError
from segue.presets import Preset

if TYPE_CHECKING:
    from segue.dialects.cortext.workspace import Workspace
    from segue.model import Overview

COMMAND_TOOL = "command_tool"
"""The override that names the AI tool whose command started a conversation."""

_FRONT_MATTER = re.compile(r"---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(rf"^{re.escape(INSTRUCTIONS)}[ \t]*$", re.MULTILINE)


def preset_of(workspace: Workspace, about: Overview) -> Preset | None:
    """The type of a conversation with its current instructions; None if neither type nor command exists any more."""
    tool = about.overrides.get(COMMAND_TOOL) or about.overrides.get("tool")
    return find_preset(workspace, conversation_type(about.extra, split_id(about.id)[1]), str(tool or ""))


def find_preset(workspace: Workspace, type: str, tool: str) -> Preset | None:
    """A type with the instructions that its command has in an AI tool."""
    found = workspace.types().find(type)
    edited = _read_edited(workspace, type, tool)
    if edited is None:
        return found
    path, prompt = edited
    return replace(found or Preset(name=type), system_prompt=prompt, path=path)


def _read_edited(workspace: Workspace, type: str, tool: str) -> tuple[str, str] | None:
    """The path and the instructions of a command file that is not as we wrote it; None if there is none."""
    path = path_of_command(tool, type)
    if not path:
        return None
    root = os.path.realpath(workspace.root)
    try:
        text = read_small_file(f"{root}/{path}", size_bytes=CONFIG_BYTES, inside=root).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, UnusableFileError, SegueError):
        return None
    text = text.replace("\r\n", "\n")
    return None if is_untouched(text) else (f"{root}/{path}", _instructions(tool, text))


def _instructions(tool: str, text: str) -> str:
    """What is below our heading, or all of it if the user removed the heading."""
    format_ = file_format(tool)
    if format_ is not None and format_.syntax == "toml":
        try:
            body = str(tomllib.loads(text).get("prompt", ""))
        except tomllib.TOMLDecodeError:
            body = text
    else:
        body = _FRONT_MATTER.sub("", text, count=1) if text.startswith("---") else text
    return (_HEADING.split(body, maxsplit=1)[-1]).strip()
