r"""Escapes the text of messages inside Markdown of ours: it reads the same, and cannot pass for our headings and turns.

A heading, a definition or raw HTML gets a backslash, and so does a code fence that is never closed. Fenced code stays
exactly as it is; so does HTML between backticks. `unescape_markdown` gives back the original text.

Only what is certainly code counts as code: a fence at the beginning of a line that is closed again, or one in a list
whose lines all stay in that list. In every other place a backslash too many is better than one that is missing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PART = "json part"
"""The info string of the fence around a part of a turn; it is used nowhere else."""

_SPECIAL = re.compile(r"[#<`~=\\-]|\]:")
"""A line without one of these is plain text."""
_LINE_END = re.compile(r"(\r\n|\n|\r)")
_INDENT = re.compile(r"[ \t]*+")
_FENCE = r"(?:`{3,}+(?=[^`]*$)|~{3,}+)"
_OPENING = re.compile(rf"( {{0,3}})({_FENCE})(.*)", re.DOTALL)
_CLOSING = re.compile(r"[ \t]*+(`{3,}+|~{3,}+)[ \t]*+")
_CONTAINERS = r"(?:[ \t]*+(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t])))*+[ \t]*+"
_STARTS = (
    re.compile(rf"{_CONTAINERS}(\\*+)(?=#{{1,6}}(?:[ \t]|$))"),  # a heading
    re.compile(rf" {{0,3}}(\\*+)(?={_FENCE})"),  # a fence
)
_UNDERLINE = re.compile(r"[ \t>]*+(\\*+)(?=(?:=++|-++)[ \t]*$)")
_DEFINITION = re.compile(r"\](\\*+):")
_TAG = re.compile(r"(?<!\\)(\\*+)<(?=[A-Za-z/!?])")
_TICKS = re.compile("`+")
_DEEPEST = 3
"""The most columns before a fence: with more it may be something else."""


def escape_markdown(text: str) -> str:
    return "".join(_lines(text, is_back=False))


def unescape_markdown(text: str) -> str:
    """The inverse of `escape_markdown`."""
    return "".join(_lines(text, is_back=True))


def escape_markdown_line(text: str) -> str:
    """Escape a text that follows something else on its line."""
    return _TAG.sub(_more, _DEFINITION.sub(r"]\1\\:", text))


def find_fences(lines: list[str], *, parts: bool = False) -> dict[int, int]:
    """The first lines of certain code blocks, with the last line of each; those of parts only with `parts`."""
    found: dict[int, int] = {}
    after = 0
    for at, end in sorted(_closed(lines).items()):
        is_part = lines[at].strip().lstrip("`~") == PART
        if at >= after and (parts or not is_part):
            found[at] = end
            after = end + 1
    return found


def _closed(lines: list[str]) -> dict[int, int]:
    """Every closed fence with its closing line, found from the end; all lines between stay in its container."""
    found: dict[int, int] = {}
    closing: dict[str, tuple[list[int], list[int]]] = {
        "`": ([], []),
        "~": ([], []),
    }  # the longer the fence, the farther away
    deep = {"`": len(lines), "~": len(lines)}  # the next line that closes it inside a list but not outside
    less = [len(lines)] * (_DEEPEST + 1)  # the next line that is indented less
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if (opening := _OPENING.fullmatch(line)) is not None:
            indent, mark = len(opening[1]), opening[2]
            lengths, places = closing[mark[0]]
            nearest = bisect_right(lengths, -len(mark)) - 1
            if nearest >= 0:
                end = places[nearest]
                if not indent or end < min(less[indent], deep[mark[0]]):
                    found[at] = end
        columns = _columns(line)
        if (bare := _CLOSING.fullmatch(line)) is not None:
            mark = bare[1]
            if columns > _DEEPEST:
                deep[mark[0]] = at
            else:
                lengths, places = closing[mark[0]]
                while lengths and lengths[-1] >= -len(mark):
                    lengths.pop()
                    places.pop()
                lengths.append(-len(mark))
                places.append(at)
        if line.strip(" \t"):
            less = [at if columns < indent else before for indent, before in enumerate(less)]
    return found


def _columns(line: str) -> int:
    indent = _INDENT.match(line)
    return len(indent[0].expandtabs(4)) if indent else 0


def _lines(text: str, *, is_back: bool) -> Iterator[str]:
    if _SPECIAL.search(text) is None:
        yield text
        return
    pieces = _LINE_END.split(text)
    lines, line_ends = pieces[::2], [*pieces[1::2], ""]
    blocks = find_fences(lines) if "```" in text or "~~~" in text else {}
    change = _unescape_line if is_back else _escape_line
    at, is_after_text, is_clear = 0, False, True
    while at < len(lines):
        end = blocks.get(at)
        if end is not None:
            yield from (lines[number] + line_ends[number] for number in range(at, end + 1))
            at, is_after_text, is_clear = end + 1, True, True
            continue
        line = lines[at]
        if _SPECIAL.search(line) is not None:
            line, is_clear = change(line, is_after_text, is_clear)
            is_after_text = True
        elif line.strip(" \t"):
            is_after_text = True
        else:
            is_after_text, is_clear = False, True
        yield line + line_ends[at]
        at += 1


def _escape_line(line: str, is_after_text: bool, is_clear: bool) -> tuple[str, bool]:  # noqa: FBT001 - the state after the line before
    start = _start(line, is_after_text)
    code, is_clear = _code(line, is_clear and _STARTS[1].match(line) is None)
    line = _TAG.sub(lambda tag: tag[0] if _is_within(tag.end(), code) else _more(tag), line)
    line = _DEFINITION.sub(r"]\1\\:", line)
    return (line if start is None else f"{line[:start]}\\{line[start:]}"), is_clear


def _unescape_line(line: str, is_after_text: bool, is_clear: bool) -> tuple[str, bool]:  # noqa: FBT001 - the state after the line before
    start = _start(line, is_after_text)
    if start is not None and line[start : start + 1] == "\\":
        line = line[:start] + line[start + 1 :]
    line = _DEFINITION.sub(lambda found: f"]{found[1][1:]}:", line)
    code, is_clear = _code(line, is_clear and _STARTS[1].match(line) is None)
    return _TAG.sub(lambda tag: tag[0] if _is_within(tag.end(), code) else _less(tag), line), is_clear


def _start(line: str, is_after_text: bool) -> int | None:  # noqa: FBT001 - the state after the line before
    """Where a line starts to be something other than text, including its backslashes."""
    for pattern in (*_STARTS, _UNDERLINE) if is_after_text else _STARTS:
        if (found := pattern.match(line)) is not None:
            return found.start(1)
    return None


def _more(tag: re.Match[str]) -> str:
    r"""An odd number of backslashes: `\<` is no tag, and `\\<` would be one again."""
    return "\\" * (2 * len(tag[1]) + 1) + "<"


def _less(tag: re.Match[str]) -> str:
    return "\\" * (len(tag[1]) // 2) + "<"


def _code(line: str, is_clear: bool) -> tuple[list[int], bool]:  # noqa: FBT001 - the state after the line before
    """Where code between backticks starts and ends, alternating, and whether no backtick is left open.

    A backtick that was left open before may pair with any of these; and if the line may be a row of a table, a cell may
    end between them. Then nothing is certain.
    """
    places: list[int] = []
    runs = [ticks.span() for ticks in _TICKS.finditer(line)]
    later: dict[int, list[int]] = {}
    for number in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[number][1] - runs[number][0], []).append(number)
    number = 0
    while number < len(runs):
        begin, end = runs[number]
        before = begin
        while before > (places[-1] if places else 0) and line[before - 1] == "\\":
            before -= 1
        begin += (begin - before) % 2  # an escaped backtick does not open code
        same = later.get(end - begin, [])
        while same and same[-1] <= number:
            same.pop()
        if begin < end and not same:
            is_clear = False
            break
        if begin < end:
            number = same.pop()
            places += (end, runs[number][1])
        number += 1
    return places if is_clear and "|" not in line else [], is_clear


def _is_within(place: int, code: list[int]) -> bool:
    return bisect_left(code, place) % 2 == 1
