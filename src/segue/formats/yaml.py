"""Untrusted YAML as JSON values: size, depth, number of nodes and references are checked before anything is built."""

from __future__ import annotations

import math
from datetime import date

SIZE_CHARACTERS = 64 * 1024
DEPTH = 12
NODES = 2000
"""The limits of a text: far more than users write, far less than what makes a parser slow."""


class InvalidYamlError(ValueError):
    """Why a text cannot be read, and on which line of its file (0 if unknown)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


def load_yaml(
    text: str, *, what: str = "it", first_line: int = 1, size: int = SIZE_CHARACTERS, nodes: int = NODES
) -> object:
    """Parse YAML 1.2 into JSON values. Raises InvalidYamlError and nothing else.

    `what` names the text in the reason, and `first_line` is the line of its file where it starts.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    if len(text) > size:
        raise InvalidYamlError(f"{what} is larger than {size // 1024} KB", first_line - 1 or 1)
    try:
        _check_growth(text, what, first_line, nodes)
        found: object = YAML(typ="safe", pure=True).load(text)
    except InvalidYamlError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + first_line if mark is not None else 0
        raise InvalidYamlError(f"{what} is not YAML ({_first_line(error.problem)})", line) from None
    except YAMLError as error:
        raise InvalidYamlError(f"{what} is not YAML ({_first_line(str(error))})") from None
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError, RecursionError) as error:
        # The parser raises these for impossible dates, numbers and keys.
        raise InvalidYamlError(f"{what} contains an impossible value ({_first_line(str(error))})") from None
    return _json(found, what)


def _check_growth(text: str, what: str, first_line: int, most: int) -> None:
    """Read only the parser events first: they are cheap, however large the values would become."""
    from ruamel.yaml import YAML
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, DocumentStartEvent, ScalarEvent

    depth = nodes = documents = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        line = event.start_mark.line + first_line
        match event:
            case AliasEvent():
                raise InvalidYamlError(f"{what} contains a reference (*), which is not supported", line)
            case CollectionStartEvent():
                depth += 1
                nodes += 1
            case CollectionEndEvent():
                depth -= 1
            case ScalarEvent():
                nodes += 1
        documents += isinstance(event, DocumentStartEvent)
        if depth > DEPTH:
            raise InvalidYamlError(f"{what} is nested more than {DEPTH} levels deep", line)
        if nodes > most or documents > 1:
            raise InvalidYamlError(f"{what} has too many values", line)


def _json(value: object, what: str) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case date():  # or a datetime
            return value.isoformat()
        case list() | tuple():
            return [_json(item, what) for item in value]
        case dict():
            return {
                key if isinstance(key, str) else str(_json(key, what)): _json(item, what) for key, item in value.items()
            }
        case _:
            raise InvalidYamlError(
                f"{what} contains {type(value).__name__}; only texts, numbers, lists and objects are allowed"
            )


def _first_line(problem: str | None) -> str:
    lines = (problem or "").strip().split("\n")
    return lines[0][:120] or "it cannot be read"
