"""The record of a tool beside the turn that was made of it, without the long texts that the turn has already.

In place of such a text is an object `{"$same": [path]}`, with the place of the text in the turn: `["content"]`, or
`["parts", 0, "arguments", "command"]`. `from` and `to` are there if it is only that range of its characters; `before`
and `after` if the record has more around it. `native_records` gives the records back as the tool wrote them.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.integrations.format.values import as_text, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from segue.model import JsonObject, Turn

SAME = "$same"
_SHORTEST = 100
"""A shorter text is not worth a reference."""
_MOST_SOURCES = 64
_NESTED = (dict, list)
Path = list[str | int]


def compact_records(records: Sequence[JsonObject], content: str, parts: Sequence[JsonObject]) -> list[object]:
    """The records with references to the long texts of the turn."""
    sources: dict[str, Path] = {}
    for path, text in _texts({"content": content, "parts": list(parts)}, []):
        if len(text) >= _SHORTEST and len(sources) < _MOST_SOURCES:
            sources.setdefault(text, path)
    return [_compact(record, sources) for record in records] if sources else [_escape(record) for record in records]


def native_records(turn: Turn, get_blob: Callable[[str], bytes] | None = None) -> list[JsonObject]:
    """The records of the tool, as it wrote them; `get_blob` gives the bytes of images that the store has apart."""
    records = turn.native.get("records") if turn.native is not None else None
    whole: JsonObject = {"content": turn.content, "parts": list(turn.parts)}
    return objects([_restore(record, whole, get_blob) for record in records] if isinstance(records, list) else [])


def with_content(turn: Turn, content: str, parts: tuple[JsonObject, ...] | None = None) -> Turn:
    """The turn with another text, and other parts if they are given; its records stay what they are."""
    parts = turn.parts if parts is None else parts
    if content == turn.content and parts == turn.parts:
        return turn
    native = turn.native and {**turn.native, "records": compact_records(native_records(turn), content, parts)}
    return replace(turn, content=content, parts=parts, native=native)


def _texts(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, [*path, name])
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, [*path, number])


def _compact(value: object, sources: dict[str, Path]) -> object:
    if isinstance(value, str):
        return value if len(value) < _SHORTEST else _reference(value, sources)
    if isinstance(value, list):
        return [_compact(item, sources) for item in value]
    if isinstance(value, dict):
        return _literal(value) if SAME in value else {name: _compact(item, sources) for name, item in value.items()}
    return value


def _escape(value: object) -> object:
    """The value, in which nothing can be taken for a reference."""
    return _compact(value, {})


def _literal(value: JsonObject) -> JsonObject:
    return {SAME: [], "value": value}


def _reference(text: str, sources: dict[str, Path]) -> object:
    if (path := sources.get(text)) is not None:
        return {SAME: path}
    for source, path in sources.items():
        if len(source) > len(text) and (start := source.find(text)) >= 0:
            return {SAME: path, "from": start, "to": start + len(text)}
        if len(text) // 2 < len(source) < len(text) and (start := text.find(source)) >= 0:
            return {SAME: path, "before": text[:start], "after": text[start + len(source) :]}
    return text


def _restore(value: object, whole: JsonObject, get_blob: Callable[[str], bytes] | None) -> object:
    if isinstance(value, list):
        return [_restore(item, whole, get_blob) if type(item) in _NESTED else item for item in value]
    if not isinstance(value, dict):
        return value
    path = value.get(SAME)
    if not isinstance(path, list):
        return {
            name: _restore(item, whole, get_blob) if type(item) in _NESTED else item for name, item in value.items()
        }
    if not path:
        return value.get("value")
    text = _find(whole, path, get_blob)
    start, end = value.get("from"), value.get("to")
    text = text[start if isinstance(start, int) else 0 : end if isinstance(end, int) else len(text)]
    return f"{as_text(value.get('before'))}{text}{as_text(value.get('after'))}"


def _find(whole: JsonObject, path: Path, get_blob: Callable[[str], bytes] | None) -> str:
    found: object = whole
    holder: object = whole
    for name in path:
        holder = found
        if isinstance(found, dict):
            found = found.get(str(name))
        elif isinstance(found, list) and isinstance(name, int) and name < len(found):
            found = found[name]
        else:
            return ""
    if found is None and isinstance(holder, dict) and get_blob is not None and isinstance(holder.get("hash"), str):
        return b64encode(get_blob(as_text(holder["hash"]))).decode("ascii")
    return as_text(found)
