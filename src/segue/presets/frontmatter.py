"""From the text of a file to its fields and its body. Pure, and safe with the files of strangers."""

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
    """Why the text cannot be read, and on which line of the file."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


class FrontMatter(NamedTuple):
    """A text that may begin with fields between two lines of `---`."""

    fields: JsonObject
    body: str


def read_document(text: str) -> FrontMatter:
    """Raises InvalidFrontMatterError, and nothing else."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return FrontMatter({}, "\n".join(lines).strip())
    end = next((number for number, line in enumerate(lines) if number and _FENCE.fullmatch(line)), None)
    if end is None:
        raise InvalidFrontMatterError("its front matter has no end: a line with nothing but ---", 1)
    front = "\n".join(lines[1:end])
    return FrontMatter(_read_fields(front), "\n".join(lines[end + 1 :]).strip())


def _read_fields(front: str) -> JsonObject:
    try:
        found = _load(front)
    except InvalidFrontMatterError:
        # People and tools write whole sentences unquoted, with colons in them: `description: Use it so: …` is no YAML,
        # and what is meant is plain.
        quoted = _quoted(front)
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


def _quoted(front: str) -> str:
    """Every value that stands plainly on one line behind its key, in quotes where a colon or a hash asks for them."""
    lines = []
    for line in front.split("\n"):
        match = _PLAIN_LINE.fullmatch(line)
        needs = match is not None and re.search(r":(?:\s|$)|\s#", match[2]) is not None
        lines.append(f"{match[1]}: {json.dumps(match[2], ensure_ascii=False)}" if match and needs else line)
    return "\n".join(lines)


def _load(front: str) -> object:
    try:
        return load_yaml(front, what=_WHAT, first_line=2, size=FRONT_BYTES)  # behind the first fence
    except InvalidYamlError as error:
        raise InvalidFrontMatterError(str(error), error.line) from None
