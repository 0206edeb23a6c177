"""Stored sessions are hostile: whatever a file claims, a bridge gives data, or an error that says what to do.

Never an error of another kind, and never does anything run that a file contains.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import random
import warnings
from base64 import b64encode
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from msgspec.structs import replace

import segue
from segue.errors import NotFoundError, SegueError
from segue.model import Metadata, Record, Turn
from segue.model.blobs import blob_names
from tests.bridges.hostile_calls import BRIDGES, Bridge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.library import Library
    from segue.model import Event

Sessions = dict[str, list["Event"]]


class Payload:
    """An object whose pickle makes a folder when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


class Node(NamedTuple):
    """A value in the JSON of an event: what holds it, and under which key."""

    holder: Any
    key: Any


def _deep(levels: int) -> object:
    value: object = "deep"
    for _ in range(levels):
        value = [value]
    return value


def _values(code: bytes) -> list[object]:
    text = b64encode(code).decode()
    nowhere = "sha256:" + "0" * 64
    return [
        None,
        True,
        -1,
        2**63,
        2**4000,
        1e308,
        "",
        "text",
        "half \ud800, nul \x00",
        nowhere,
        text,
        [],
        {},
        [5],
        {"a": 5},
        _deep(150),
        ["text", {"type": "text", "kind": "request", "parts": [7]}],
        {"blob": nowhere},
        {"blob": "../../etc/passwd"},
        {"json": "{"},
        {"json": "NaN"},
        {"value": 5},
        {"value": {}},
        {"type": "pickle", "base64": text},
        {"type": "msgpack", "base64": text},
        {"type": "json", "base64": text},
        {"$same": ["content", 10**9]},
        {"py/object": "os.system", "lc": 2, "id": ["os", "system"], "kwargs": {"command": "true"}},
    ]


@pytest.fixture(autouse=True)
def _own_index(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


QUICK = 5
LONG = 1500
FOUND = {
    "agent_framework": (47,),
    "claude_agent_sdk": (184,),
    "langgraph": (10, 28, 32, 38),
    "openai_agents": (75,),
    "pydantic_ai": (152,),
}
"""The rounds that once found something, in addition to the first ones."""


@pytest.fixture
def is_long(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("long"))


@pytest.mark.parametrize("bridge", BRIDGES, ids=lambda bridge: bridge.name)
def test_what_a_file_claims_is_data_or_an_error_that_says_what_to_do(
    bridge: Bridge, tmp_path: Path, pytestconfig: pytest.Config, *, is_long: bool
) -> None:
    seed: int = pytestconfig.getoption("--seed")
    marker = tmp_path / "it ran"
    values = _values(pickle.dumps(Payload(marker)))
    url = f"journal:{tmp_path}/original"
    asyncio.run(bridge.begin(url))
    with segue.open(url) as original:
        sessions: Sessions = {id: list(original.store.read(id)) for id in original.store.ids()}
        for number in range(LONG) if is_long else (*range(QUICK), *FOUND.get(bridge.name, ())):
            chance = random.Random(f"{seed} {bridge.name} {number}")
            changed = _changed(sessions, values, chance)
            place = f"journal:{tmp_path}/{number}"
            if _stored(original, changed, place):
                _try_all(bridge, place, f"{bridge.name}, round {number}")
    assert not marker.exists(), "code of a file ran"


@pytest.mark.parametrize("bridge", BRIDGES, ids=lambda bridge: bridge.name)
def test_a_pickle_in_a_file_is_never_read(bridge: Bridge, tmp_path: Path) -> None:
    """It is in the place of every value that is bytes, or a blob."""
    marker = tmp_path / "it ran"
    text = b64encode(pickle.dumps(Payload(marker))).decode()
    url = f"journal:{tmp_path}/original"
    asyncio.run(bridge.begin(url))
    count = 0
    with segue.open(url) as original:
        sessions: Sessions = {id: [_copy(one) for one in original.store.read(id)] for id in original.store.ids()}
        for node in [node for events in sessions.values() for event in events for node in _nodes(event)]:
            value = node.holder[node.key]
            if isinstance(value, dict) and value.keys() & {"base64", "blob"}:
                node.holder[node.key] = {"type": "pickle", "base64": text}
                count += 1
        assert _stored(original, sessions, f"journal:{tmp_path}/changed")
    _try_all(bridge, f"journal:{tmp_path}/changed", f"{bridge.name} with {count} pickles")
    assert not marker.exists(), "code of a file ran"


@pytest.mark.parametrize("bridge", BRIDGES, ids=lambda bridge: bridge.name)
def test_a_copy_under_another_name_is_not_taken_for_the_original(bridge: Bridge, tmp_path: Path) -> None:
    """The names in it are those of another session."""
    url = f"journal:{tmp_path}/original"
    asyncio.run(bridge.begin(url))
    with segue.open(url) as original:
        sessions: Sessions = {id: list(original.store.read(id)) for id in original.store.ids()}
        for id, events in list(sessions.items()):
            first = events[0]
            assert isinstance(first, Metadata)
            copy = f"{id}-copy"
            sessions[copy] = [replace(first, session_id=copy), *events[1:]]
        assert _stored(original, sessions, f"journal:{tmp_path}/copies")
    _try_all(bridge, f"journal:{tmp_path}/copies", bridge.name)


def _changed(sessions: Sessions, values: list[object], chance: random.Random) -> Sessions:
    """The sessions with one to three changes."""
    changed = {id: [_copy(event) for event in events] for id, events in sessions.items()}
    for _ in range(chance.randint(1, 3)):
        events = changed[chance.choice(sorted(changed))]
        at = chance.randrange(len(events))
        event = events[at]
        match chance.randrange(12):
            case 0 if at:
                del events[at]
            case 1 if at:
                events.append(replace(event, id=f"again-{chance.random()}"))
            case 2 if isinstance(event, Record):
                names = sorted({one.name for one in events if isinstance(one, Record)} | {"text"})
                events[at] = replace(event, name=chance.choice(names))
            case 3 if isinstance(event, Record):
                kinds = sorted({one.kind for one in events if isinstance(one, Record)} | {"text"})
                events[at] = replace(event, kind=chance.choice(kinds))
            case 4 if isinstance(event, Turn):
                events[at] = replace(event, native=None, parts=())
            case 5 if isinstance(event, Turn):
                events[at] = replace(event, role=chance.choice(["user", "assistant", "system", "tool"]), content="x")
            case _:
                _change_value(event, values, chance)
    return changed


def _change_value(event: Event, values: list[object], chance: random.Random) -> None:
    nodes = list(_nodes(event))
    if not nodes:
        return
    node = chance.choice(nodes)
    if chance.randrange(6) == 0 and isinstance(node.holder, dict):
        del node.holder[node.key]
    else:
        node.holder[node.key] = deepcopy(chance.choice(values))


def _nodes(event: Event) -> Iterator[Node]:
    """Every value in what a bridge stored in this event; the whole of it is not one."""
    opened: list[object] = []
    if isinstance(event, Record):
        opened.append(event.data)
    elif isinstance(event, Turn):
        opened += [event.native, event.extra, list(event.parts)]
    elif isinstance(event, Metadata):
        opened.append(event.extra)
    while opened:
        holder = opened.pop()
        pairs = list(holder.items()) if isinstance(holder, dict) else []
        pairs = list(enumerate(holder)) if isinstance(holder, list) else pairs
        for key, value in pairs:
            yield Node(holder, key)
            opened.append(value)


def _copy(event: Event) -> Event:
    return replace(deepcopy(event), seq=0)


def _stored(original: Library, sessions: Sessions, url: str) -> bool:
    """Store the sessions elsewhere; False if a store refuses what they claim."""
    with segue.open(url) as library:
        for id, events in sessions.items():
            blobs: dict[str, bytes] = {}
            for name in blob_names(*events):
                for source in original.store.ids():
                    try:
                        blobs[name] = original.store.get_blob(source, name)
                    except NotFoundError:
                        continue
            try:
                with library.store.create(id, events) as writer:
                    for data in blobs.values():
                        writer.put_blob(data)
            except SegueError:
                return False
    return True


def _try_all(bridge: Bridge, url: str, what: str) -> None:
    for name, call in bridge.calls:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                asyncio.run(call(url))
        except Exception as error:
            if isinstance(error, SegueError) and error.hint:
                continue
            if type(error).__module__.partition(".")[0] != bridge.package:
                raise AssertionError(f"{what}: {name} raised {type(error).__name__}: {error!s:.300}") from error
