"""Calls of our own commands in a session of an AI tool: a slash command made them, so they are not the conversation.

`cortext resume` hands over the conversation in a file. If what the tool read there were recorded as a part of the
conversation, every resume would contain all earlier ones.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.integrations.format.values import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from segue.model import JsonObject, Turn

CONTEXT_FOLDER = (".workspace", "context")
"""Below a workspace: the files with which conversations are handed over."""
_PROGRAM = "cortext"
_VERBS = frozenset({"new", "stop", "complete", "resume", "list", "init"})
COMMAND_OPENINGS = (
    "The user starts a conversation of the type ",
    "The user resumes an earlier conversation of this workspace.",
    "The user pauses the current conversation.",
)
"""How the texts of our slash commands begin: some tools record them as messages of the user."""
_TYPED = re.compile(r"\s*(?:/\S[^\n]*\n\n)?\s*")
"""What may be before such a text: the command as it was typed."""
_CONFIRMATION = "Session saved."
"""How a tool confirms a stop, as the slash command asks it to."""

_CONTEXT_FILE = re.compile(rf"(?:^|/){re.escape('/'.join(CONTEXT_FOLDER))}/[A-Za-z0-9][\w.-]*\.md$")
_SCRIPTS = frozenset({"command", "cmd", "script", "input"})
"""The arguments in which tools pass a line of shell, as one text or as its words."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_COMPANIONS = frozenset({"cd", "pushd", "popd", "export", "set", "true", ":", "echo"})
"""Commands that may be next to ours without adding anything of their own."""
_OPERATORS = ";&|\n"
_REDIRECTION = re.compile(r"\d?>&\d|&>>?")
"""Redirections that contain an operator; in quotes it makes no difference here."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def without_own_calls(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The turns without our slash commands: their texts, calls and results, and answers that only confirm them.

    A turn that consists of nothing else is left out; its other parts stay.
    """
    found: list[Turn] = []
    own: dict[str, bool] = {}  # by the id of a call, which some tools use again: whether the last one was ours
    has_stopped = False
    for turn in turns:
        kept = tuple(part for part in turn.parts if not _is_own_part(part, own))
        if len(kept) < len(turn.parts):
            has_stopped = has_stopped or any(_is_stop(part) for part in turn.parts)
            turn = _without_parts(turn, kept)  # noqa: PLW2901 - the turn as it is recorded
            if not turn.content.strip() and all(part.get("type") == "reasoning" for part in kept):
                continue
        elif has_stopped and turn.role == "assistant" and turn.content.lstrip().startswith(_CONFIRMATION):
            has_stopped = False
            continue
        elif turn.role == "user":
            has_stopped = False
            if _TYPED.sub("", turn.content, count=1).startswith(COMMAND_OPENINGS):
                continue
        found.append(turn)
    return tuple(found)


def _is_own_part(part: JsonObject, own: dict[str, bool]) -> bool:
    id = as_text(part.get("id"))
    if part.get("type") == "tool_call":
        own[id] = _is_own_call(part.get("arguments"))
        return own[id]
    return part.get("type") == "tool_result" and own.get(id, False)


def _without_parts(turn: Turn, kept: tuple[JsonObject, ...]) -> Turn:
    """The turn with these parts alone; the text of a turn with results is that of its results."""
    results = [as_text(part.get("content")) for part in kept if part.get("type") == "tool_result"]
    content = "\n\n".join(filter(None, results)) if turn.role == "tool" else turn.content
    return replace(turn, parts=kept, content=content, native=None)


def _is_own_call(arguments: object) -> bool:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return _is_own_script(str(arguments))
    if isinstance(arguments, dict):
        if any(_is_own_script(script) for script in _scripts(arguments)):
            return True
        return any(isinstance(value, str) and _CONTEXT_FILE.search(value) for value in arguments.values())
    return False


def _is_stop(part: JsonObject) -> bool:
    return part.get("type") == "tool_call" and re.search(r"\bcortext\s+(?:stop|complete)\b", str(part)) is not None


def _scripts(arguments: JsonObject) -> Iterator[str]:
    for name, value in arguments.items():
        if name in _SCRIPTS and isinstance(value, str):
            yield value
        elif name in _SCRIPTS and isinstance(value, list) and value:
            words = [as_text(word) for word in value]
            yield words[-1] if _is_shell(words) else shlex.join(words)


def _is_own_script(script: str) -> bool:
    """Whether a line of shell runs our commands, and nothing else that has a result."""
    try:
        pipelines = _pipelines(script)
    except ValueError:  # quotes that a shell reads, and shlex does not
        return re.match(rf"\s*(?:cd \S+ && )?(?:\S*/)?{_PROGRAM}\s+(?:{'|'.join(_VERBS)})\b", script) is not None
    kinds = [_kind(words) for words in pipelines if words]
    return "own" in kinds and "other" not in kinds


def _kind(words: Sequence[str]) -> str:
    """What a pipeline does, by its first command: what follows only filters its output."""
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
    if not words or words[0].startswith("#") or words[0] in _COMPANIONS:
        return "companion"
    if _is_shell(words):
        return "own" if _is_own_script(words[-1]) else "other"
    is_ours = PurePosixPath(words[0]).name == _PROGRAM and not _VERBS.isdisjoint(words[1:])
    return "own" if is_ours or any(_CONTEXT_FILE.search(word) for word in words[1:]) else "other"


def _is_shell(words: Sequence[str]) -> bool:
    return len(words) > 2 and PurePosixPath(words[0]).name in _SHELLS and words[-2].startswith("-")  # noqa: PLR2004 - bash -c SCRIPT


def _pipelines(script: str) -> list[list[str]]:
    """The words of the first command of each pipeline. ValueError for an open quote."""
    lexer = shlex.shlex(_REDIRECTION.sub(" ", script), posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    found: list[list[str]] = [[]]
    is_filter = False
    for token in lexer:
        if token and all(letter in _OPERATORS for letter in token):
            is_filter = token in {"|", "|&"}
            if not is_filter:
                found.append([])
        elif not is_filter:
            found[-1].append(token)
    return found
