"""What a call would change in a file, as a unified diff for the user who decides about it."""

from __future__ import annotations

import errno
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TYPE_CHECKING

from segue.durable.descent import descend
from segue.errors import StorageError
from segue.tools.call import ToolFailedError
from segue.tools.text_file import read_text_file, split_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CONTEXT = 3
_MOST_LINES = 4000
"""More changed lines are not compared: that would take long, and no one reads it."""
_SHOWN_LINES = 300
_SHOWN_CHARACTERS = 1000
_NO_NEWLINE = "\\ No newline at end of file"


def read_current(path: str) -> str | None:
    """The text of a file; None if it does not exist. Raises ToolFailedError if it is not a text file."""
    folder, name = split_path(path)
    try:
        with descend(folder) as held:
            return read_text_file(held, name)
    except StorageError as error:
        if error.errno == errno.ENOENT:
            return None
        raise


def diff_file(path: str, name: str, after: str) -> str:
    """The change of a file, called `name`, to this text; in words if its content is not a text."""
    try:
        before = read_current(path)
    except (ToolFailedError, StorageError) as error:
        return f"--- {name}\n+++ {name}\n@@ the file before cannot be shown: {error} @@\n{_added(after)}"
    return render_diff(before, after, name)


def render_diff(before: str | None, after: str, name: str) -> str:
    """A unified diff; `before` is None for a new file."""
    old, new = _lines(before or ""), _lines(after)
    header = [f"--- {'/dev/null' if before is None else name}", f"+++ {name}"]
    if old == new:
        return "\n".join([*header, "@@ nothing changes @@"])
    body = list(_hunks(old, new))
    shown = [_cut(line) for line in body[:_SHOWN_LINES]]
    more = [f"… {len(body) - _SHOWN_LINES:,} more lines of the diff"] if len(body) > _SHOWN_LINES else []
    return "\n".join([*header, *shown, *more])


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    rest = zip(reversed(old[start:]), reversed(new[start:]), strict=False)
    end = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rest))
    first = max(0, start - _CONTEXT)
    old, new = old[first : len(old) - max(0, end - _CONTEXT)], new[first : len(new) - max(0, end - _CONTEXT)]
    if len(old) + len(new) > _MOST_LINES:
        yield _range(first, len(old), len(new))
        yield from (f"-{line}" for line in old)
        yield from (f"+{line}" for line in new)
        return
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
        old_start, old_end, new_start, new_end = group[0][1], group[-1][2], group[0][3], group[-1][4]
        yield _range(first + old_start, old_end - old_start, new_end - new_start, first + new_start)
        for kind, a, b, c, d in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[a:b])
                continue
            yield from (f"-{line}" for line in old[a:b])
            yield from (f"+{line}" for line in new[c:d])


def _range(old_start: int, old_count: int, new_count: int, new_start: int | None = None) -> str:
    second = old_start if new_start is None else new_start
    old = f"{old_start + (1 if old_count else 0)},{old_count}"
    return f"@@ -{old} +{second + (1 if new_count else 0)},{new_count} @@"


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n{_NO_NEWLINE}"] if last else lines


def _added(text: str) -> str:
    lines = [f"+{_cut(line)}" for line in _lines(text)]
    more = [f"… {len(lines) - _SHOWN_LINES:,} more lines"] if len(lines) > _SHOWN_LINES else []
    return "\n".join([*lines[:_SHOWN_LINES], *more])


def _cut(line: str) -> str:
    missing = len(line) - _SHOWN_CHARACTERS
    return line if missing <= 0 else f"{line[:_SHOWN_CHARACTERS]}… ({missing:,} more characters)"
