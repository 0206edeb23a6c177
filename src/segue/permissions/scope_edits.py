"""Adds a pattern to the YAML of a scope: one line is inserted, and every other character stays as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.permissions.scope import LISTS, InvalidScopeError, quote, read_scope, with_pattern

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

    from segue.permissions.scope import PatternList


def add_pattern(text: str, name: str, pattern: str) -> str:
    """Add a pattern to the text, and keep every other character.

    The result is parsed again: InvalidScopeError unless it has exactly one pattern more.
    """
    before = read_scope(text)
    wanted = with_pattern(before, name, pattern)
    if wanted == before:
        return text
    added = _inserted(text, LISTS[name], quote(pattern))
    try:
        if read_scope(added) == wanted:
            return added
    except InvalidScopeError:
        pass
    position = LISTS[name]
    raise InvalidScopeError(f"{position.section}.{position.key} is formatted in a way that cannot be edited safely")


def _inserted(text: str, position: PatternList, item: str) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.nodes import MappingNode, SequenceNode

    newline = "\r\n" if "\r\n" in text else "\n"
    root: Node | None = YAML(typ="safe", pure=True).compose(text.removeprefix("\ufeff"))
    shift = text.startswith("\ufeff")
    section = _value(root, position.section)
    found = section if isinstance(section, SequenceNode) else _value(section, position.key)
    if isinstance(found, SequenceNode):
        last = found.value[-1] if found.value else None
        if found.flow_style:
            at = last.end_mark.index if last else found.end_mark.index - 1
            return _spliced(text, at + shift, f", {item}" if last else item)
        start = text.rfind("\n", 0, found.value[0].start_mark.index + shift) + 1
        indent = text[start : text.index("-", start)]
        return _after_line(text, found.value[-1].end_mark.index + shift, [f"{indent}- {item}"], newline)
    if found is not None:  # the key exists without a value
        key = _key(section, position.key)
        indent = " " * (key.start_mark.column + 2)
        return _after_line(text, key.end_mark.index + shift, [f"{indent}- {item}"], newline)
    if isinstance(section, MappingNode) and section.value:
        if section.flow_style:
            return _spliced(text, section.start_mark.index + shift + 1, f"{position.key}: [{item}], ")
        first = section.value[0][0].start_mark
        indent = " " * first.column
        lines = [f"{indent}{position.key}:", f"{indent}  - {item}"]
        return _spliced(text, first.index - first.column + shift, "".join(f"{line}{newline}" for line in lines))
    if section is not None:
        if isinstance(section, MappingNode):
            return _spliced(text, section.start_mark.index + shift + 1, f"{position.key}: [{item}]")
        at = _key(root, position.section).end_mark.index + shift
        return _after_line(text, at, [f"  {position.key}:", f"    - {item}"], newline)
    lines = [f"{position.section}:", f"  {position.key}:", f"    - {item}"]
    return _after_line(text, len(text.rstrip("\r\n")), lines, newline)


def _pair(node: Node | None, name: str) -> tuple[Node, Node] | None:
    from ruamel.yaml.nodes import MappingNode

    pairs = node.value if isinstance(node, MappingNode) else []
    return next(((key, value) for key, value in pairs if key.value == name), None)


def _value(node: Node | None, name: str) -> Node | None:
    pair = _pair(node, name)
    return pair[1] if pair else None


def _key(node: Node | None, name: str) -> Node:
    pair = _pair(node, name)
    if pair is None:
        raise InvalidScopeError(f"there is no {name}")
    return pair[0]


def _spliced(text: str, at: int, piece: str) -> str:
    return f"{text[:at]}{piece}{text[at:]}"


def _after_line(text: str, at: int, lines: list[str], newline: str) -> str:
    """Insert lines after the one that contains this position."""
    end = text.find("\n", at)
    if end < 0:
        head = f"{text}{newline}" if text.strip("\ufeff\r\n") else text
        return head + "".join(f"{line}{newline}" for line in lines)
    return _spliced(text, end + 1, "".join(f"{line}{newline}" for line in lines))
