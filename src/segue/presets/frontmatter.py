"""Splits the text of a file into its fields and its body. Pure, and safe with untrusted files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from segue.formats.yaml import InvalidYamlError, load_yaml

if TYPE_CHECKING:
    from segue.model import JsonObject

FRONT_BYTES = 64 * 1024

_WHAT = "its front matter"
_FENCE = re.compile(r"---[ \t]*")
_PLAIN_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]+(?![\"'\[{|>&*!%@`#])(.*\S)[ \t]*")


class InvalidFrontMatterError(ValueError):
    """Why the text is invalid, and on which line of the file."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


class FrontMatter(NamedTuple):
    """The fields between two lines of `---` at the beginning of a text, and the text after them."""

    fields: JsonObject
    body: str


def parse_front_matter(text: str) -> FrontMatter:
    """Raises InvalidFrontMatterError, and nothing else."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return FrontMatter({}, "\n".join(lines).strip())
    end = next((number for number, line in enumerate(lines) if number and _FENCE.fullmatch(line)), None)
    if end is None:
        raise InvalidFrontMatterError("its front matter has no end: a line with only ---", 1)
    front = "\n".join(lines[1:end])
    return FrontMatter(_parse_fields(front), "\n".join(lines[end + 1 :]).strip())


def _parse_fields(front: str) -> JsonObject:
    try:
        found = _load(front)
    except InvalidFrontMatterError:
        # Users and tools write unquoted sentences with colons: `description: Use it so: …` is not YAML, but its meaning
        # is clear.
        quoted = _quote_values(front)
        if quoted == front:
            raise
        try:
            found = _load(quoted)
        except InvalidFrontMatterError:
            found = None
        if found is None:
            raise
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InvalidFrontMatterError(f"{_WHAT} is not a list of fields", 2)
    return {key: value for key, value in found.items() if isinstance(key, str)}


def _quote_values(front: str) -> str:
    """Quote each unquoted one-line value that contains a colon or a hash."""
    lines = []
    for line in front.split("\n"):
        match = _PLAIN_LINE.fullmatch(line)
        needs_quotes = match is not None and re.search(r":(?:\s|$)|\s#", match[2]) is not None
        lines.append(f"{match[1]}: {json.dumps(match[2], ensure_ascii=False)}" if match and needs_quotes else line)
    return "\n".join(lines)


def _load(front: str) -> object:
    try:
        return load_yaml(front, what=_WHAT, first_line=2, size=FRONT_BYTES)  # after the first fence
    except InvalidYamlError as error:
        raise InvalidFrontMatterError(str(error), error.line) from None
