"""Reads and writes metadata.yml, branch-metadata.yml and scope.yml: plain YAML."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC
from typing import TYPE_CHECKING
from zlib import crc32

from segue.formats.records import BadRecordError, parse_moment
from segue.formats.yaml import InvalidYamlError, load_yaml

if TYPE_CHECKING:
    from datetime import datetime

    from segue.model import JsonObject

SIZE_CHARACTERS = 256 * 1024
NODES = 20_000

_PLAIN = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_MARK = re.compile(rb"# segue ([0-9a-f]{8})\n")


def find_fields(data: bytes | None) -> JsonObject | None:
    """The fields of a file; None if it is missing, not YAML, or not a mapping."""
    try:
        found = load_yaml((data or b"-").decode("utf-8-sig"), size=SIZE_CHARACTERS, nodes=NODES)
    except (InvalidYamlError, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) else None


def write_fields(fields: JsonObject) -> bytes:
    """One field per line, with texts quoted if necessary."""
    return "".join([f"{line}\n" for line in _lines(fields, "")] or ["{}\n"]).encode()


def with_checksum(data: bytes) -> bytes:
    """The file with a first line that tells whether it was changed since."""
    return b"# segue %08x\n%b" % (crc32(data), data)


def has_checksum(data: bytes) -> bool:
    found = _MARK.match(data)
    return found is not None and crc32(data[found.end() :]) == int(found[1], 16)


def text_field(fields: JsonObject, *names: str) -> str:
    """The first of these fields that is a text; empty if none is."""
    return next((value for name in names if isinstance(value := fields.get(name), str)), "")


def moment_field(fields: JsonObject, name: str) -> datetime | None:
    try:
        return parse_moment(fields[name]) if fields.get(name) is not None else None
    except BadRecordError:
        return None


def format_utc(moment: datetime) -> str:
    """The time in UTC as ISO 8601."""
    with suppress(OverflowError):  # at the ends of the calendar it keeps its zone
        moment = moment.astimezone(UTC)
    return moment.isoformat()


def _lines(value: object, indent: str) -> list[str]:
    lines: list[str] = []
    if isinstance(value, dict):
        for key, one in value.items():
            lines += _entry(f"{indent}{_scalar(key)}:", one, f"{indent}  ")
    elif isinstance(value, list):
        for one in value:
            lines += _entry(f"{indent}-", one, f"{indent}  ")
    return lines


def _entry(start: str, value: object, indent: str) -> list[str]:
    if isinstance(value, dict | list) and value:
        return [start, *_lines(value, indent)]
    return [f"{start} {_scalar(value)}"]


def _scalar(value: object) -> str:
    """JSON is YAML; a plain word needs no quotes."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    text = json.dumps(re.sub("[\ud800-\udfff]", "\ufffd", value), ensure_ascii=False)
    return "".join([mark if mark.isprintable() else f"\\U{ord(mark):08x}" for mark in text])
