"""Where a branch goes another way: at a turn of the user, by its number or by a place in the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segue.dialects.gptel.format.conversation import GUARD, is_visible, parse_pieces, render_block
from segue.dialects.gptel.format.settings import BOUNDS
from segue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.dialects.gptel.format.footer import BufferPage
    from segue.model import Turn

_LOOSE = re.compile(r"[\s#]+")
"""What may come and go around a turn: spaces, and the marks of a prompt."""


def cut_at(path: Sequence[Turn], number: int | None, *, exclude: bool) -> int:
    """How many turns a branch shares that goes on from this one of the user, counted from 1; None is the end."""
    if number is None:
        asked = [at for at, turn in enumerate(path) if turn.role == "user"]
        return asked[-1] if exclude and asked else len(path)
    if not 1 <= number <= len(path):
        hint = f"the last is {len(path)}" if path else "there is none yet: leave the number out"
        raise UsageError(f"there is no turn {number}", hint=hint)
    if path[number - 1].role != "user":
        known = [str(at) for at, turn in enumerate(path, start=1) if turn.role == "user"]
        raise UsageError(
            f"turn {number} is not the user's, but of role {path[number - 1].role}",
            hint=f"the user's are {', '.join(known[-20:])}" if known else "the user has said nothing yet",
        )
    return number - 1 if exclude else number


def turn_at(path: Sequence[Turn], page: BufferPage, position: int) -> int | None:
    """The number of the user's turn that a place is in, or in whose answer; None behind everything.

    `page` is the text as the editor has it, in which the place is counted in characters from 1.
    """
    body, bounds = page.body, page.variables.get(BOUNDS)
    end = body.find("\n", position - 1)
    upto = body if end < 0 else body[:end]
    asked = [number for number, turn in enumerate(path, start=1) if turn.role == "user" and is_visible(turn)]
    pieces = list(parse_pieces(body, bounds))
    if sum(piece.role == "user" for piece in pieces) != len(asked):
        return _turn_by_words(path, body[: position - 1])  # the bounds are not those of this text
    above = list(parse_pieces(upto, bounds))
    here = upto.rpartition("\n")[2]
    if len(above) == len(pieces) and not here.strip("# \t") and above and above[-1].role != "user":
        return None
    count = sum(piece.role == "user" for piece in above)
    return asked[max(0, count - 1)] if asked else None


def _turn_by_words(path: Sequence[Turn], before: str) -> int | None:
    """The same by what was said before the place, whatever spaces and prompts are between."""
    before = before.removeprefix(GUARD)
    count = len(_LOOSE.sub("", before))
    is_behind = "\n" in before[len(before.rstrip(" \t\r\n#")) :]
    end, found = 0, None
    for number, turn in enumerate(path, start=1):
        end += len(_LOOSE.sub("", render_block(turn).whole)) if is_visible(turn) else 0
        if turn.role == "user" and is_visible(turn):
            found = number
        if count < end or (count == end and not is_behind):
            return found
    return None
