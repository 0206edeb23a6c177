"""From the text of a file to its fields and its body. Pure, and safe with the files of strangers."""

from __future__ import annotations

import json
import math
import re
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from segue.model import JsonObject

FRONT_BYTES = 64 * 1024
DEPTH = 12
NODES = 2000
"""What front matter may hold at most: far more than people write, far less than what makes a parser suffer."""

_FENCE = re.compile(r"---[ \t]*")
_PLAIN_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]+(?![\"'\[{|>&*!%@`#])(.*\S)[ \t]*")


class InvalidFrontMatterError(ValueError):
    """Why the text cannot be read, and on which line of the file."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


class Document(NamedTuple):
    """A text that may begin with fields between two lines of `---`."""

    fields: JsonObject
    body: str


def read_document(text: str) -> Document:
    """Raises InvalidFrontMatterError, and nothing else."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return Document({}, "\n".join(lines).strip())
    end = next((number for number, line in enumerate(lines) if number and _FENCE.fullmatch(line)), None)
    if end is None:
        raise InvalidFrontMatterError("its front matter has no end: a line with nothing but ---", 1)
    front = "\n".join(lines[1:end])
    if len(front) > FRONT_BYTES:
        raise InvalidFrontMatterError(f"its front matter is larger than {FRONT_BYTES // 1024} KB", 1)
    return Document(_read_fields(front), "\n".join(lines[end + 1 :]).strip())


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
        raise InvalidFrontMatterError("its front matter is not a list of fields", 2)
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
    """YAML 1.2 as JSON values."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        _check_size(front)
        found: object = YAML(typ="safe", pure=True).load(front)
    except InvalidFrontMatterError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 2 if mark is not None else 0  # behind the first fence, counted from 1
        raise InvalidFrontMatterError(f"its front matter is not YAML ({_told(error.problem)})", line) from None
    except YAMLError as error:
        raise InvalidFrontMatterError(f"its front matter is not YAML ({_told(str(error))})") from None
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError, RecursionError) as error:
        # What the parser makes of impossible dates, numbers and keys.
        raise InvalidFrontMatterError(f"its front matter holds an impossible value ({_told(str(error))})") from None
    return _json(found)


def _check_size(front: str) -> None:
    """Read the events alone first: they cost nothing, whatever they would grow into."""
    from ruamel.yaml import YAML
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, DocumentStartEvent, ScalarEvent

    depth = nodes = documents = 0
    for event in YAML(typ="safe", pure=True).parse(front):
        line = event.start_mark.line + 2
        match event:
            case AliasEvent():
                raise InvalidFrontMatterError("its front matter refers to itself (*), which is not read here", line)
            case CollectionStartEvent():
                depth += 1
                nodes += 1
            case CollectionEndEvent():
                depth -= 1
            case ScalarEvent():
                nodes += 1
        documents += isinstance(event, DocumentStartEvent)
        if depth > DEPTH:
            raise InvalidFrontMatterError(f"its front matter is nested more than {DEPTH} deep", line)
        if nodes > NODES or documents > 1:
            raise InvalidFrontMatterError("there is too much in its front matter", line)


def _json(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case date():  # a moment is one as well
            return value.isoformat()
        case list() | tuple():
            return [_json(item) for item in value]
        case dict():
            return {key if isinstance(key, str) else str(_json(key)): _json(item) for key, item in value.items()}
        case _:
            kind = type(value).__name__
            raise InvalidFrontMatterError(f"its front matter holds {kind}, and not only texts, numbers and lists")


def _told(problem: str | None) -> str:
    lines = (problem or "").strip().split("\n")
    return lines[0][:120] or "it cannot be read"
