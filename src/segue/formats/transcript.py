"""A session as text: Markdown for users, JSON and JSON Lines for programs, and such lines read back.

JSON contains exactly what was recorded; the names are those of the model, and the fields of `extra` are next to them.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from segue.formats.markdown_escaping import PART, escape_markdown, escape_markdown_line, find_fences, unescape_markdown
from segue.formats.terminal import escaped
from segue.model import Event, Overview, Session, Turn, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.model import Head, JsonObject

_AS_THEY_ARE = frozenset({"parts", "native", "scope", "overrides", "values", "data"})
"""Fields that are JSON already."""
_PLACES = frozenset({"branch", "seq", "sum"})
"""Where a turn was in another session; when it is imported, it gets a new place."""
_FORMAT = "- format: segue markdown 1"
"""The last line of the head of an export: after it, the text of messages is escaped."""
_DERIVED = "markdown:"
_HEADING = re.compile(r"## \d+\. (\w+) · (\S+)(?: · (\d+) tokens)?\n")
Events = Iterable[Event] | Mapping[str, Iterable[Event]]


class BadTurnError(ValueError):
    """A line that is not a turn, and why."""


def json_document(value: object) -> str:
    """Indented JSON, for programs and users."""
    return escaped(json.dumps(value, ensure_ascii=False, indent=2))


def json_line(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))


def iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def to_json_object(value: Event | Head | Overview) -> JsonObject:
    """Every field, also empty ones, so that a script need not check which are there."""
    if isinstance(value, Unknown):
        return {"type": value.type, **value.data, "id": value.id, "seq": value.seq}
    tag = value.__struct_config__.tag
    found: JsonObject = {"type": tag} if tag is not None else {}
    extra: JsonObject = {}
    for name, field in asdict(value).items():
        if name == "extra":
            extra = field
        elif isinstance(value, Overview) and name == "records":
            found[name] = [to_json_object(record) for record in field.values()]  # each has its name
        else:
            found[name] = field if name in _AS_THEY_ARE else _plain(field)
    return found | {name: field for name, field in extra.items() if name not in found}


def iter_json(
    about: Overview,
    unknown: Sequence[Unknown],
    rest: Mapping[str, Events],
    blobs: Iterable[tuple[str, bytes]] = (),
    *,
    more: JsonObject | None = None,
) -> Iterator[str]:
    """The JSON document of a session in pieces; `rest` are its fields that are lists of events, or objects of such.

    `blobs` are the attached files by their names; the field is left out if there are none. `more` are fields of the
    session that are not recorded with it.
    """
    known = to_json_object(about) | (more or {}) | {"unknown": [to_json_object(event) for event in unknown]}
    yield json_document({name: value for name, value in known.items() if name not in rest}).removesuffix("\n}")
    for name, value in rest.items():
        yield f",\n  {json_line(name)}: "
        if isinstance(value, Mapping):
            yield from _object_pieces(value)
        else:
            yield from _list_pieces(value, indent="  ")
    start = ',\n  "blobs": {'
    for name, data in blobs:
        yield f"{start}\n    {json_line(name)}: {json_line(b64encode(data).decode())}"
        start = ","
    yield "\n}\n" if start != "," else "\n  }\n}\n"


def iter_jsonl(turns: Iterable[Turn]) -> Iterator[str]:
    """One turn per line, as `decode_turn` reads them back."""
    return (f"{json_line(to_json_object(turn))}\n" for turn in turns)


def jsonl(session: Session, branch: str | None = None) -> str:
    return "".join(iter_jsonl(session.path(branch or session.branch)))


def markdown(session: Session, branch: str | None = None, *, records: int = 0) -> str:
    name = branch or session.branch
    return "".join(iter_markdown(session, session.path(name), name, records=records))


def markdown_turns(overview: Overview, turns: Iterable[Turn], branch: str, *, first: int = 1) -> str:
    """Like `markdown`, for a part that begins with the turn number `first`."""
    return "".join(iter_markdown(overview, turns, branch, first=first))


def iter_markdown(
    overview: Overview, turns: Iterable[Turn], branch: str, *, first: int = 1, records: int = 0
) -> Iterator[str]:
    """The same, turn by turn. `records` is how many records of programs the session has: they are not shown."""
    return (f"{line}\n" for line in _markdown(overview, turns, branch, first=first, records=records))


def read_markdown(text: str) -> list[JsonObject]:
    """The turns that `markdown` wrote, as in JSON Lines. Raises BadTurnError for any other Markdown."""
    if not re.match(rf"# [^\n]*\n\n(?:- [^\n]*\n)*{re.escape(_FORMAT)}\n", text):
        raise BadTurnError("it was not exported by this version, so the end of a turn cannot be found")
    turns: list[JsonObject] = []
    for (role, timestamp, tokens), content, parts in _sections(text):
        turn: JsonObject = {
            "type": "turn",
            "role": role,
            "content": unescape_markdown(content),
            "timestamp": timestamp,
            "tokens": None if tokens is None else int(tokens),
            "parts": [json.loads(part) for part in parts],
        }
        # Markdown has no ids, so the content gives them: importing the same file again adds nothing.
        data = json.dumps([len(turns), turn]).encode()
        turns.append({**turn, "id": f"{_DERIVED}{sha256(data).hexdigest()[:32]}"})
    return turns


def has_derived_id(turn: Turn) -> bool:
    """Whether the turn comes from Markdown, which has no ids."""
    return turn.id.startswith(_DERIVED)


def decode_turn(line: bytes, *, now: datetime, branch: str, id: str) -> Turn:
    """The turn of a line of JSON, with `now` and `id` if it has none. Raises BadTurnError with the reason."""
    try:
        found = json.loads(line.decode())
    except UnicodeDecodeError:
        raise BadTurnError("it is not UTF-8") from None
    except RecursionError:
        raise BadTurnError("it is nested too deeply") from None
    except ValueError as error:
        raise BadTurnError(f"it is not JSON ({str(error).partition(': line ')[0]})") from None
    if not isinstance(found, dict):
        raise BadTurnError("it is JSON, but not an object")
    if (kind := found.pop("type", "turn")) != "turn":
        raise BadTurnError(f"it is not a turn, but {kind!r:.40}")
    if missing := [name for name in ("role", "content") if name not in found]:
        raise BadTurnError(f"it has no {' and no '.join(missing)}")
    known = {name: value for name, value in found.items() if name in Turn.__struct_fields__ and name != "extra"}
    extra = {name: value for name, value in found.items() if name not in known and name not in _PLACES}
    known |= {"branch": branch, "seq": 0, "timestamp": _time(known.get("timestamp"), now)}
    try:
        turn = msgspec.convert({"type": "turn", "tokens": None, "id": id, **known}, Turn)
    except msgspec.ValidationError as error:
        raise BadTurnError(f"it is not a valid turn ({error})") from None
    return msgspec.structs.replace(turn, extra=extra)


def part_lines(turn: Turn) -> Iterator[str]:
    """What the turn has in addition to its text, one line of JSON per part."""
    return (json_line(part) for part in turn.parts)


def _markdown(about: Overview, turns: Iterable[Turn], branch: str, *, first: int, records: int) -> Iterator[str]:
    yield f"# {_flat(about.title or about.id)}"
    yield ""
    yield f"- session: `{about.id}`"
    if about.agent:
        yield f"- agent: {_flat(about.agent)}"
    yield f"- status: {about.status}"
    yield f"- branch: {_flat(branch)}"
    yield f"- created: {iso(about.created_at)}"
    yield f"- last activity: {iso(about.updated_at)}"
    if about.tags:
        yield f"- tags: {_flat(', '.join(about.tags))}"
    if records:
        yield f"- records: {records}, not shown"
    yield _FORMAT
    for number, turn in enumerate(turns, start=first):
        tokens = "" if turn.tokens is None else f" · {turn.tokens} tokens"
        yield f"\n## {number}. {_flat(turn.role)} · {iso(turn.timestamp)}{tokens}"
        if turn.content:
            yield f"\n{escape_markdown(turn.content)}"
        for part in part_lines(turn):
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", part)), default=0))
            yield f"\n{fence}{PART}\n{part}\n{fence}"
    if about.decisions:
        yield "\n## Decisions\n"
        for decision in about.decisions:
            yield escape_markdown(f"- {' '.join(decision.content.split())}")


def _sections(text: str) -> Iterator[tuple[Sequence[str | None], str, list[str]]]:
    """The heading of each turn, its text and its parts, as they are in the file."""
    lines = re.split("(?<=\n)|(?<=\r)(?!\n)", text)
    blocks = find_fences([line.rstrip("\r\n") for line in lines], parts=True)
    heading: Sequence[str | None] | None = None
    content: list[str] = []
    parts: list[str] = []
    at = 0
    while at <= len(lines):
        line = lines[at] if at < len(lines) else ""
        end = blocks.get(at, at)
        if line.startswith("## ") or at == len(lines):
            if heading is not None:
                yield heading, _body(content, is_last=at == len(lines) and not parts), parts
            found = _HEADING.fullmatch(line)
            heading, content, parts = found.groups() if found else None, [], []
        elif end > at and line.strip().lstrip("`") == PART:
            parts.append("".join(lines[at + 1 : end]))
        elif not parts:
            content += lines[at : end + 1]
        at = end + 1


def _body(lines: list[str], *, is_last: bool) -> str:
    """Without the empty line before it, and what ends it."""
    return "".join(lines)[1:].removesuffix("\n" if is_last else "\n\n")


def _object_pieces(lists: Mapping[str, Iterable[Event]]) -> Iterator[str]:
    start = "{"
    for name, events in lists.items():
        yield f"{start}\n    {json_line(name)}: "
        yield from _list_pieces(events, indent="    ")
        start = ","
    yield "{}" if start == "{" else "\n  }"


def _list_pieces(events: Iterable[Event], *, indent: str) -> Iterator[str]:
    start = "["
    for event in events:
        yield f"{start}\n{indent}  " + json_document(to_json_object(event)).replace("\n", f"\n{indent}  ")
        start = ","
    yield "[]" if start == "[" else f"\n{indent}]"


def _flat(text: str) -> str:
    return escape_markdown_line(" ".join(text.split()))


def _plain(value: object) -> object:
    match value:
        case Struct():
            return to_json_object(value)  # type: ignore[arg-type]  # any struct in a field of a session
        case datetime():
            return iso(value)
        case tuple():
            return [_plain(item) for item in value]
        case dict():
            return {name: _plain(item) for name, item in value.items()}
    return value


def _time(value: object, now: datetime) -> datetime:
    if value is None:
        return now
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None:
        raise BadTurnError(f"{value!r:.40} is not a time such as 2026-11-15T09:30:00Z")
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
