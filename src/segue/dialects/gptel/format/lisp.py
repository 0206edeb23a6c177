"""Parses and prints Lisp values: numbers, texts, symbols and lists, and nothing else.

Nothing is ever evaluated, and no syntax is read that stands for anything else: no `#`, which begins texts with
properties, records, byte code and circles, no quotes, no vectors, no characters, no comments.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

DEPTH = 50
"""How deep lists may nest; bounds are three deep."""


class Symbol(str):
    """A Lisp symbol."""

    __slots__ = ()


class Pair(NamedTuple):
    """Two values with a dot between them, as older bounds are written."""

    first: object
    rest: object


class BadLispError(ValueError):
    """Text that is not a value, and why."""


_TOKEN = re.compile(r"""\s*(?:([()])|"((?:[^"\\]|\\.)*)"|((?![#?])(?:[^\s()\[\]'"`,;\\]|\\.)+))""", re.DOTALL)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:e[+-]?[0-9]+)?|[0-9]+e[+-]?[0-9]+)")
_DIGITS = 18
"""The number of digits of the longest integer: any of that length fits into 64 bits."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,8})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|\^(.)|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "e": "\x1b", "a": "\a", "b": "\b", "v": "\v", "d": "\x7f"}
_LETTERS |= {"s": " ", " ": "", "\n": ""}
_PRINTED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
_PLAIN_SYMBOL = re.compile(r"[A-Za-z_*+/<>=!&%$~^@:-][\w*+/<>=!&%$~^@:.-]*", re.ASCII)


def print_lisp(value: object) -> str:
    """The printed form on one line. TypeError for a value without one."""
    match value:
        case None | False | []:
            return "nil"
        case True:
            return "t"
        case Symbol():
            shown = "".join([mark if mark.isprintable() else "\ufffd" for mark in value])
            is_plain = _PLAIN_SYMBOL.fullmatch(shown) and isinstance(_atom(shown), Symbol)
            return shown if is_plain else re.sub(r"^.|\W", r"\\\g<0>", shown) or "nil"
        case str():
            return _printed_text(value)
        case float() if not math.isfinite(value):
            return "nil"
        case int() | float():
            return repr(value)
        case Pair(first=first, rest=rest):
            return f"({print_lisp(first)} . {print_lisp(rest)})"
        case list() | tuple():
            return f"({' '.join(map(print_lisp, value))})"
        case dict():
            return print_lisp([item for key, one in value.items() for item in (Symbol(f":{key}"), one)])
    raise TypeError(f"{type(value).__name__} has no printed form")


def _printed_text(text: str) -> str:
    """A string that cannot be taken for the beginning of a list of variables, wherever a reader starts."""
    shown = re.sub(r"[\x00-\x1f\x7f\"\\]", lambda found: _PRINTED.get(found[0], f"\\{ord(found[0]):03o}"), text)
    shown = re.sub("[\ud800-\udfff]", "\ufffd", shown)
    return '"' + re.sub(r"(local) (variables)", r"\1\\s\2", shown, flags=re.IGNORECASE) + '"'


def parse_lisp(text: str) -> object:
    """The value of the whole text. Raises BadLispError and nothing else."""
    value, end = parse_lisp_at(text)
    if text[end:].strip():
        raise BadLispError("more than one value")
    return value


def parse_lisp_at(text: str, start: int = 0) -> tuple[object, int]:
    """The value at an offset, and the offset of its end."""
    waiting: list[list[object]] = []
    position = start
    while True:
        found = _TOKEN.match(text, position)
        if found is None:
            raise BadLispError("it ends too early, or is not Lisp")
        position = found.end()
        bracket, string, atom = found.groups()
        if bracket == "(":
            if len(waiting) == DEPTH:
                raise BadLispError("it is nested too deeply")
            waiting.append([])
            continue
        if bracket == ")":
            if not waiting:
                raise BadLispError("a closing parenthesis has no opening one")
            value: object = _joined(waiting.pop())
        else:
            value = _text(string) if string is not None else _atom(atom)
        if not waiting:
            return value, position
        waiting[-1].append(value)


def _joined(items: list[object]) -> object:
    """A list, or a pair if its second item is a dot; the empty list is None."""
    match items:
        case [first, Symbol("."), rest]:
            return Pair(first, rest)
        case []:
            return None
    return items


def _atom(text: str) -> object:
    if text in {"nil", "t"}:
        return text == "t" or None
    if _INTEGER.fullmatch(text):
        if len(text.lstrip("+-")) > _DIGITS:
            raise BadLispError("a number is too large")
        return int(text)
    if _FLOAT.fullmatch(text):
        if not math.isfinite(float(text)):
            raise BadLispError("a number is too large")
        return float(text)
    return Symbol(re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL))


def _text(body: str) -> str:
    return _ESCAPE.sub(_character, body)


def _character(found: re.Match[str]) -> str:
    hexadecimal, octal, control, letter = found[1] or found[2] or found[3], found[4], found[5], found[6]
    if letter is not None:
        return _LETTERS.get(letter, letter)
    if control is not None:
        return chr(ord(control) & 0x1F)
    number = int(hexadecimal, 16) if hexadecimal else int(octal, 8)
    is_character = number < 0xD800 or 0xE000 <= number < 0x110000  # noqa: PLR2004 - no surrogates, and the last code point
    return chr(number) if is_character else "\ufffd"
