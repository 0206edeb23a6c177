"""A session as text for other readers: Markdown for people, JSON and JSON lines for programs, and such lines read back.

JSON holds what was recorded, exactly; the names are those of the model, and what `extra` holds stands beside them.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from segue.formats.terminal import escaped
from segue.model import Session, Turn, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model import Event, Head, JsonObject, Overview

_AS_THEY_ARE = frozenset({"parts", "native", "scope", "overrides", "values", "data"})
"""Fields that hold JSON already."""
_PLACES = frozenset({"branch", "seq", "sum"})
"""What a recorded turn says of its place in another session; reading it here, it takes a new one."""


class BadTurnError(ValueError):
    """A line that is no turn, and why."""


def json_document(value: object) -> str:
    """JSON to be read by programs and, at need, by people."""
    return escaped(json.dumps(value, ensure_ascii=False, indent=2))


def json_line(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))


def iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def plain(value: Event | Head | Session) -> JsonObject:
    """Every field, also those that hold nothing, so that a script need not ask which are there."""
    if isinstance(value, Unknown):
        return {"type": value.type, **value.data, "id": value.id, "seq": value.seq}
    tag = value.__struct_config__.tag
    found: JsonObject = {"type": tag} if tag is not None else {}
    extra: JsonObject = {}
    for name, field in asdict(value).items():
        if name == "extra":
            extra = field
        else:
            found[name] = field if name in _AS_THEY_ARE else _plain(field)
    return found | {name: field for name, field in extra.items() if name not in found}


def plain_branch(session: Session, branch: str | None = None) -> JsonObject:
    """A session with the turns of one branch (of the active one) from its first turn on."""
    whole = plain(session)
    del whole["own_turns"]
    return whole | {"turns": [plain(turn) for turn in session.path(branch or session.branch)]}


def jsonl(session: Session, branch: str | None = None) -> str:
    """One turn a line, as `decode_turn` reads them back."""
    return "".join(f"{json_line(plain(turn))}\n" for turn in session.path(branch or session.branch))


def markdown(session: Session, branch: str | None = None) -> str:
    name = branch or session.branch
    return "\n".join(_markdown(session, session.path(name), name)) + "\n"


def markdown_turns(overview: Overview, turns: tuple[Turn, ...], branch: str, *, first: int = 1) -> str:
    """As `markdown`, of a part that begins with the turn `first`."""
    return "\n".join(_markdown(overview, turns, branch, first=first)) + "\n"


def decode_turn(line: bytes, *, now: datetime, branch: str, id: str) -> Turn:
    """The turn a line of JSON says, with `now` and `id` where it says none. Raises BadTurnError with the reason."""
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
        raise BadTurnError(f"it is no turn, but {kind!r:.40}")
    if missing := [name for name in ("role", "content") if name not in found]:
        raise BadTurnError(f"it has no {' and no '.join(missing)}")
    known = {name: value for name, value in found.items() if name in Turn.__struct_fields__ and name != "extra"}
    extra = {name: value for name, value in found.items() if name not in known and name not in _PLACES}
    known |= {"branch": branch, "seq": 0, "timestamp": _time(known.get("timestamp"), now)}
    try:
        turn = msgspec.convert({"type": "turn", "tokens": None, "id": id, **known}, Turn)
    except msgspec.ValidationError as error:
        raise BadTurnError(f"it is no valid turn ({error})") from None
    return msgspec.structs.replace(turn, extra=extra)


def part_lines(turn: Turn) -> Iterator[str]:
    """What the turn has beyond its text, a line of JSON a part."""
    return (json_line(part) for part in turn.parts)


def _markdown(about: Overview, turns: tuple[Turn, ...], branch: str, *, first: int = 1) -> Iterator[str]:
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
    for number, turn in enumerate(turns, start=first):
        tokens = "" if turn.tokens is None else f" · {turn.tokens} tokens"
        yield f"\n## {number}. {_flat(turn.role)} · {iso(turn.timestamp)}{tokens}"
        if turn.content:
            yield f"\n{turn.content}"
        for part in part_lines(turn):
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", part)), default=0))
            yield f"\n{fence}json\n{part}\n{fence}"
    if about.decisions:
        yield "\n## Decisions\n"
        for decision in about.decisions:
            yield f"- {_flat(decision.content)}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _plain(value: object) -> object:
    match value:
        case Struct():
            return plain(value)  # type: ignore[arg-type]  # whatever the fields of a session hold
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
