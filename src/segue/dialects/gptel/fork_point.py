"""The turn of the user at which a new branch starts: by its number, or by a position in the text."""

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
"""What may differ around a turn: white space, and the marks of a prompt."""


def count_shared_turns(path: Sequence[Turn], number: int | None, *, exclude: bool) -> int:
    """How many turns a new branch shares that starts at this turn of the user, counted from 1; None is the end."""
    if number is None:
        asked = [at for at, turn in enumerate(path) if turn.role == "user"]
        return asked[-1] if exclude and asked else len(path)
    if not 1 <= number <= len(path):
        hint = f"the last turn is {len(path)}" if path else "there are no turns yet: leave the number out"
        raise UsageError(f"there is no turn {number}", hint=hint)
    if path[number - 1].role != "user":
        known = [str(at) for at, turn in enumerate(path, start=1) if turn.role == "user"]
        raise UsageError(
            f"turn {number} is not a turn of the user, but of role {path[number - 1].role}",
            hint=f"the turns of the user are {', '.join(known[-20:])}" if known else "there is no turn of the user yet",
        )
    return number - 1 if exclude else number


def find_turn_at(path: Sequence[Turn], page: BufferPage, position: int) -> int | None:
    """The number of the user's turn at a position, or before it if that is in an answer; None after the last turn.

    `page` is the text as the editor shows it; the position is in characters, counted from 1.
    """
    body, bounds = page.body, page.variables.get(BOUNDS)
    end = body.find("\n", position - 1)
    upto = body if end < 0 else body[:end]
    asked = [number for number, turn in enumerate(path, start=1) if turn.role == "user" and is_visible(turn)]
    pieces = list(parse_pieces(body, bounds))
    if sum(piece.role == "user" for piece in pieces) != len(asked):
        return _find_turn_by_text(path, body[: position - 1])  # the bounds are not those of this text
    above = list(parse_pieces(upto, bounds))
    last_line = upto.rpartition("\n")[2]
    if len(above) == len(pieces) and not last_line.strip("# \t") and above and above[-1].role != "user":
        return None
    count = sum(piece.role == "user" for piece in above)
    return asked[max(0, count - 1)] if asked else None


def _find_turn_by_text(path: Sequence[Turn], before: str) -> int | None:
    """The same from the text before the position, ignoring white space and prompts."""
    before = before.removeprefix(GUARD)
    count = len(_LOOSE.sub("", before))
    is_after = "\n" in before[len(before.rstrip(" \t\r\n#")) :]
    end, found = 0, None
    for number, turn in enumerate(path, start=1):
        end += len(_LOOSE.sub("", render_block(turn).whole)) if is_visible(turn) else 0
        if turn.role == "user" and is_visible(turn):
            found = number
        if count < end or (count == end and not is_after):
            return found
    return None
