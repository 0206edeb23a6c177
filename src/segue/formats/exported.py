"""Reads exports back: the events of a session from JSON, JSON Lines or Markdown, as `transcript` writes them.

JSON contains a whole session. JSON Lines and Markdown contain the turns of one branch. An export has no history of
titles, tags or statuses, so the events are not those that were recorded, but they add up to the same session.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.formats.markdown_escaping import unescape_markdown
from segue.formats.records import BadRecordError, convert_to, parse_event, parse_json, parse_moment
from segue.formats.transcript import BadTurnError, decode_turn, read_markdown
from segue.ids import is_id
from segue.model import (
    MAIN,
    Branch,
    BranchCreated,
    BranchSwitched,
    Event,
    Metadata,
    OverridesChanged,
    Overview,
    ScopeChanged,
    StatusChanged,
    SummaryWritten,
    Turn,
    fold,
)
from segue.store import FORMAT_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from segue.model import JsonObject

MARK = "export:"
"""The beginning of the ids of events that an export has no ids for."""
_LISTS = ("decisions", "learnings", "patterns", "attachments", "tasks_done", "records", "unknown")
_OURS = {*Overview.__struct_fields__, "own_turns", "unknown", "blobs"}
_HEADER = re.compile(r"- (session|agent|status|branch|created|tags): (.*)")
_MOST_VALUES = 4_000_000
"""JSON with more values than this would not fit into memory."""


class BadExportError(ValueError):
    """Why a file is not an export that can be read."""


class ExportedSession(Struct, frozen=True, kw_only=True):
    """The content of an export."""

    events: list[Event]
    """The metadata first."""
    is_whole: bool
    """Whether it is the whole session, and not only the turns of one branch."""
    blobs: dict[str, bytes] = {}


def read_export(data: bytes, *, id: str, now: datetime) -> ExportedSession:
    """The session in an export, in whichever format it is; `id` and `now` are for formats that do not contain them.

    Raises BadExportError with the reason.
    """
    if data.count(b",") + data.count(b"[") + data.count(b"{") > _MOST_VALUES:
        raise BadExportError(f"it has more than {_MOST_VALUES:,} values")
    if data.startswith(b"# "):
        return _read_markdown(data, id, now)
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        raise BadExportError("it is not an export of a session" if data.strip() else "it is empty")
    try:
        found = parse_json(data)
    except BadRecordError as error:
        if b"\n" not in data.strip():
            raise BadExportError(str(error)) from None
        return _read_lines(enumerate(data.split(b"\n"), start=1), id, now, what="line")
    if isinstance(found, dict) and {"own_turns", "branches"} <= found.keys():
        return _read_json(found)
    match found:
        case {"turns": list(turns)} | [*turns]:
            lines = (json.dumps(turn).encode() for turn in turns)
            return _read_lines(enumerate(lines, start=1), id, now, what="turn")
        case {"role": _, "content": _}:
            return _read_lines([(1, data)], id, now, what="line")
    raise BadExportError("it is JSON, but not an export of a session")


def _read_json(found: JsonObject) -> ExportedSession:
    try:
        own = convert_to(found.pop("own_turns"), dict[str, list[dict[str, object]]])
        lists = [convert_to(found.pop(name, []), list[dict[str, object]]) for name in _LISTS]
        blobs = {name: b64decode(text) for name, text in convert_to(found.pop("blobs", {}), dict[str, str]).items()}
        preset = found.pop("preset", None)
        plain = [*(turn for turns in own.values() for turn in turns), *(item for items in lists for item in items)]
        plain += [convert_to(preset, dict[str, object])] if preset is not None else []
        about = convert_to({name: value for name, value in found.items() if name in _OURS}, Overview)
        events = sorted((_event(one) for one in plain), key=lambda event: event.seq)
    except (BadRecordError, ValueError) as error:
        raise BadExportError(f"it is not a valid export ({error})") from None
    extra = {name: value for name, value in found.items() if name not in _OURS}
    metadata = Metadata(
        session_id=about.id,
        agent=about.agent,
        created_at=about.created_at,
        status="paused" if about.status == "active" else about.status,
        version=about.version,
        title=about.title,
        tags=about.tags,
        id=f"{MARK}metadata",
        extra=extra,
    )
    whole = [metadata, *_with_branches(events, about.branches), *_settings(about)]
    numbered: list[Event] = [replace(event, seq=seq) for seq, event in enumerate(whole, start=1)]
    return ExportedSession(events=[*numbered, *_last_moment(numbered, about)], is_whole=True, blobs=blobs)


def _event(plain: JsonObject) -> Event:
    seq = convert_to(plain.pop("seq", 0), int)
    if seq < 0:
        raise BadRecordError("a number is negative")
    return parse_event(plain, seq)


def _with_branches(events: Iterable[Event], branches: Mapping[str, Branch]) -> Iterator[Event]:
    """The events, each branch created before its first turn, and after the branch that it comes from."""
    created = {MAIN}

    def create(name: str) -> Iterator[Event]:
        ahead: list[Branch] = []
        while name not in created:
            branch = branches.get(name)
            if branch is None or branch in ahead:
                raise BadExportError(f"its branch {name!a:.60} comes from nowhere")
            ahead.append(branch)
            name = branch.parent or MAIN
        for branch in reversed(ahead):
            created.add(branch.name)
            yield BranchCreated(
                name=branch.name,
                parent=branch.parent or MAIN,
                at=branch.at,
                timestamp=branch.created_at,
                switch=False,
                id=_mark("branch", branch.name),
            )

    for event in events:
        if isinstance(event, Turn):
            yield from create(event.branch)
        yield event
    for name, branch in branches.items():
        if branch.name != name:
            raise BadExportError(f"its branch {name!a:.60} has another name")
        yield from create(name)


def _settings(about: Overview) -> Iterator[Event]:
    now = about.updated_at
    if about.summary:
        yield SummaryWritten(content=about.summary, timestamp=now, id=_mark("summary", about.summary))
    if about.scope is not None:
        yield ScopeChanged(scope=about.scope, timestamp=now, id=_mark("scope", about.scope))
    if about.overrides:
        yield OverridesChanged(values=about.overrides, timestamp=now, id=_mark("overrides", about.overrides))
    if about.branch != MAIN:
        yield BranchSwitched(branch=about.branch, timestamp=now, id=_mark("switch", [about.branch, about.seq]))


def _last_moment(events: list[Event], about: Overview) -> Iterator[Event]:
    """The last activity, where no other event has its time."""
    status = events[0].status if isinstance(events[0], Metadata) else about.status
    if fold(events).updated_at < about.updated_at:
        mark = _mark("status", [status, about.seq])
        yield StatusChanged(status=status, timestamp=about.updated_at, id=mark, seq=len(events) + 1)


def _read_markdown(data: bytes, id: str, now: datetime) -> ExportedSession:
    try:
        text = data.decode()
        turns = read_markdown(text)
    except UnicodeDecodeError:
        raise BadExportError("it is not UTF-8") from None
    except (BadTurnError, ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, BadTurnError) else "it is not an export of a session"
        raise BadExportError(reason) from None
    first, _, rest = text.partition("\n")
    header = {found[1]: found[2] for line in rest.split("\n## ", 1)[0].split("\n") if (found := _HEADER.match(line))}
    name = header.get("session", "").strip("`")
    title = unescape_markdown(first.removeprefix("# "))
    tags = tuple(tag for tag in unescape_markdown(header.get("tags", "")).split(", ") if tag)
    lines = enumerate((json.dumps(turn).encode() for turn in turns), start=1)
    return _read_lines(
        lines,
        name if is_id(name) else id,
        _moment(header.get("created", ""), now),
        what="turn",
        title="" if title == name else title,
        tags=tuple(dict.fromkeys(tags)),
        agent=unescape_markdown(header.get("agent", "")),
    )


def _read_lines(
    lines: Iterable[tuple[int, bytes]],
    id: str,
    start: datetime,
    *,
    what: str,
    title: str = "",
    tags: tuple[str, ...] = (),
    agent: str = "",
) -> ExportedSession:
    """A session of turns; one without an id or a time gets an id from its content, and the time of the turn before."""
    turns: list[Turn] = []
    for number, line in lines:
        if not line.strip():
            continue
        last = turns[-1].timestamp if turns else start
        mark = _mark("turn", [len(turns), sha256(line).hexdigest()])
        try:
            turns.append(decode_turn(line, now=last, branch=MAIN, id=mark))
        except BadTurnError as error:
            raise BadExportError(f"{what} {number}: {error}") from None
    if not turns:
        raise BadExportError("it contains no turns")
    metadata = Metadata(
        session_id=id,
        agent=agent,
        created_at=min(start, turns[0].timestamp),
        status="paused",
        version=FORMAT_VERSION,
        title=title,
        tags=tags,
        id=f"{MARK}metadata",
    )
    return ExportedSession(events=[metadata, *turns], is_whole=False)


def _moment(text: str, now: datetime) -> datetime:
    try:
        return parse_moment(text) if text else now
    except BadRecordError:
        return now


def _mark(kind: str, content: object) -> str:
    """The id of an event without one; the same content always gets the same."""
    digest = sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
    return f"{MARK}{kind}:{digest[:24]}"
