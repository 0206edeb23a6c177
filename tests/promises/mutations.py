"""Files as accidents, other programs and strangers leave them: what is made of a good one, with a seed."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING
from zlib import crc32

from segue.formats.sealed.seal import is_sealed, seal

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    Mutation = Callable[[bytes, random.Random], bytes]

ODD_TEXTS = (
    "",
    "\ud800",
    "a\udfffb",
    "\0",
    "\x1b[2J",
    "9999-12-31T23:59:59-12:00",
    "0001-01-01T00:00:00+12:00",
    "2026-01-05T09:30:00",
    "10000-01-01T00:00:00Z",
    "yesterday",
    "../../etc/passwd",
    "main",
    "x" * 5000,
)
ODD_NUMBERS = (0, -1, 2**31, 2**53 + 1, 2**63, 2**64, 2**70, -(2**70), 10**400, 1.5, -0.0, 1e308, 253402300800, 1e18)
ODD_REST: tuple[object, ...] = (None, True, False, [], {}, [None], {"": None}, [[]] * 3, {"\ud800": "\udfff"})
DEEP = (150, 300, 2000)
RAW = (b"NaN", b"-Infinity", b"1e999", b"[" * 3000, b'"\\ud800', b"\xff\xfe", b"\xed\xa0\x80", b"{}{}", b"\0")
CELLS = (
    None,
    b"",
    b"\xff\x00blob",
    1.5,
    -1,
    2**62,
    "",
    "\0",
    "x" * 5000,
    "9999-12-31T23:59:59-12:00",
    "{",
    "[]",
    "null",
)

_SUMMED = re.compile(rb',"sum":"[0-9a-f]{8}(\+?|@[0-9]+)"(\}\}?)$')


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One to three changes, mostly one."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(_MUTATIONS)(data, rng)
    return data


def _flip(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) or 1)
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :] if data else b"\1"


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _splice(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    piece = data[start : start + rng.randrange(1, 200)]
    at = rng.randrange(len(data) + 1)
    return data[:at] + piece + data[at + rng.choice((0, len(piece))) :]


def _drop(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.randrange(1, 100) :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((*RAW, rng.randbytes(8))) + data[at:]


def _lines(data: bytes, rng: random.Random) -> bytes:
    """A line twice, elsewhere, not at all, or the last one without its newline."""
    lines = data.splitlines(keepends=True) or [b"\n"]
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines.insert(to, lines[at])
        case 1:
            lines[at], lines[to] = lines[to], lines[at]
        case 2:
            del lines[at]
        case _:
            return data.rstrip(b"\n")
    return b"".join(lines)


def _values(data: bytes, rng: random.Random) -> bytes:
    """Something else in the place of a value of the JSON; half of the time with the checksums for it."""
    knows_sums = rng.random() < 0.5
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return _value_in_a_line(data, rng, knows_sums=knows_sums)
    resealed = knows_sums and is_sealed(data) and isinstance(whole, dict) and "sum" in whole["segue"]
    if resealed:
        del whole["segue"]["sum"]
    laid = json.dumps(_swap(whole, rng), indent=2).encode()
    end = b"\n  }\n}"
    return seal(laid.removesuffix(end) + b",\n") if resealed and laid.endswith(end) else laid


def _value_in_a_line(data: bytes, rng: random.Random, *, knows_sums: bool) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    ending = _SUMMED.search(lines[at])
    try:
        found = json.loads(lines[at])
    except (ValueError, RecursionError):
        return _flip(data, rng)
    if ending is None or not knows_sums:
        lines[at] = _dump(_swap(found, rng))
        return b"\n".join(lines)
    mark, closing = ending[1], ending[2]
    inner = found
    if closing == b"}}" and isinstance(found.get("segue"), dict):
        inner = found["segue"]
    inner.pop("sum", None)
    swapped = _swap(found, rng)
    body = _dump(swapped)
    body = body[: -len(closing)] if body.endswith(closing) else body[:-1]
    total = crc32(mark, crc32(body)) if closing == b"}}" else crc32(body)
    lines[at] = b'%b,"sum":"%08x%b"%b' % (body, total, mark, closing)
    return b"\n".join(lines)


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _swap(value: object, rng: random.Random) -> object:
    """The value with one place in it changed; it goes down by chance."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        match rng.randrange(12):
            case 0:
                return {name: inner for name, inner in value.items() if name != key}
            case 1:
                return {(rng.choice(ODD_TEXTS) if name == key else name): inner for name, inner in value.items()}
            case 2:
                return {**value, key: value[rng.choice(list(value))]}
            case _:
                return {**value, key: _swap(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return [*value[:at], *value[at + 1 :]] if rng.random() < 0.5 else [*value, value[at]]
        return [*value[:at], _swap(value[at], rng), *value[at + 1 :]]
    return odd_value(rng)


def odd_value(rng: random.Random) -> object:
    kind = rng.randrange(8)
    if kind == 0:
        nested: object = 1
        for _ in range(rng.choice(DEEP[:2])):
            nested = [nested] if rng.random() < 0.5 else {"x": nested}
        return nested
    return rng.choice((ODD_TEXTS, ODD_NUMBERS, ODD_REST)[kind % 3])


def _deep(data: bytes, rng: random.Random) -> bytes:
    """As deep as no decoder goes, in the place of a text."""
    depth = rng.choice(DEEP)
    texts = list(re.finditer(rb'"[^"\\]*"', data)) or list(re.finditer(b"", data))
    found = rng.choice(texts)
    return data[: found.start()] + b"[" * depth + b"]" * depth + data[found.end() :]


_MUTATIONS: tuple[Mutation, ...] = (
    _flip,
    _flip,
    _cut,
    _splice,
    _drop,
    _insert,
    _lines,
    _values,
    _values,
    _values,
    _deep,
)


def mutate_database(path: Path, rng: random.Random) -> None:
    """A cell of another type than its column, as SQLite allows; or bytes of the file."""
    if rng.random() < 0.25:
        path.write_bytes(rng.choice((_flip, _cut, _splice, _drop))(path.read_bytes(), rng))
        return
    with closing(sqlite3.connect(path)) as database, suppress(sqlite3.Error):
        database.execute("PRAGMA ignore_check_constraints = ON")
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice(tables)
        columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
        rows = [number for (number,) in database.execute(f'SELECT rowid FROM "{table}"')]  # noqa: S608
        if rows:
            column, row, cell = rng.choice(columns), rng.choice(rows), rng.choice(CELLS)
            known = database.execute(f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', (row,)).fetchone()[0]  # noqa: S608
            if isinstance(known, str) and known[:1] in {"{", "["}:
                cell = _values(known.encode(), rng).decode("utf-8", "replace")
            place = "CAST(? AS TEXT)" if isinstance(cell, bytes) and rng.random() < 0.5 else "?"
            database.execute(f'UPDATE "{table}" SET "{column}" = {place} WHERE rowid = ?', (cell, row))  # noqa: S608
            database.commit()


def replace_file(path: Path, rng: random.Random) -> None:
    """Something that is no file in its place, or a name that is no text beside it."""
    data = path.read_bytes()
    name = os.fsencode(path)
    match rng.randrange(6):
        case 0:
            path.unlink()
            path.symlink_to(path.name)
        case 1:
            path.unlink()
            path.mkdir()
        case 2:
            path.unlink()
            os.mkfifo(path)
        case 3:
            path.write_bytes(b"")
        case 4:
            os.utime(path, ns=(2**62, 2**62))
        case _:
            stem, dot, suffix = name.rpartition(b".")
            with open(stem + b"\xff" + dot + suffix, "wb") as copy:
                copy.write(data)
