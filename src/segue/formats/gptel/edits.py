"""What people and Emacs have done to a session.md since we wrote it.

Where Emacs moved the bounds along with the text, they say who said what. Where another editor changed the text alone,
the bounds are worth nothing, and the lines tell: one that is still there belongs to its turn, one typed inside a turn
changes that turn, and any other was typed by the user.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from segue.formats.gptel.conversation import (
    GUARD,
    PROMPT,
    Conversation,
    Piece,
    block_of,
    is_visible,
    needs_guard,
    pieces_of,
    shown,
    unprompted,
)
from segue.formats.gptel.footer import FOOTER
from segue.formats.gptel.settings import BOUNDS
from segue.model import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.formats.gptel.footer import Page

_NOBODY = -1
_USER = -2
Said = Turn | Piece
"""A turn as it was recorded, or something that is new."""


def path_of(page: Page, path: Sequence[Turn], edits: int) -> list[Said]:
    """The branch as the file shows it; `path` is what was recorded of it, after so many edits were taken in."""
    mark = page.mark
    if mark is not None and mark.has_our_body:
        return list(path)
    # What was recorded after the file was written it does not show. Nobody knows how far that was once the numbers
    # are others: then nothing counts as removed.
    is_known = mark is not None and mark.upto.edits == edits
    upto = mark.upto.seq if mark is not None and is_known else len(path) and path[-1].seq
    old = [turn for turn in path if turn.seq <= upto]
    if old and (mark is None or mark.has_our_bounds or BOUNDS not in page.variables):
        found = list(_by_lines(page.body, old, is_known=is_known))
    else:
        found = list(pieces_of(page.body, page.variables.get(BOUNDS)))
    return [*_merged(old, found, is_known=is_known), *path[len(old) :]]


def is_cut(page: Page, data: bytes, path: Sequence[Turn]) -> bool:
    """Whether the file is the beginning of one of ours, and no more."""
    if page.mark is not None or not data:
        return page.is_cut
    above = Conversation(path).above()
    return data != above and (data.startswith(above + FOOTER) or (above + FOOTER).startswith(data))


def _merged(path: Sequence[Turn], found: list[Piece], *, is_known: bool) -> Iterator[Said]:
    """The turns that are still there as they were recorded, and what is new where it stands.

    What cannot be seen in a text, or may never have been shown, nobody removed.
    """
    visible = [at for at, turn in enumerate(path) if is_visible(turn)]
    known = [(path[at].role, shown(path[at].content).strip()) for at in visible]
    done = 0
    for tag, first, last, start, end in opcodes(known, [(piece.role, piece.text) for piece in found]):
        upto = visible[last] if last < len(visible) else len(path)
        gone = set(visible[first:last]) if is_known and tag != "equal" else set()
        yield from (path[at] for at in range(done, upto) if at not in gone)
        if tag != "equal":
            yield from found[start:end]
        done = upto
    yield from path[done:]


def _by_lines(body: str, path: Sequence[Turn], *, is_known: bool) -> Iterator[Piece]:
    lines = body.split("\n")
    owners = _owners(lines, path, is_known=is_known)
    lines = [line if owner != _NOBODY else "" for line, owner in zip(lines, owners, strict=True)]
    start = 0
    for at in range(1, len(lines) + 1):
        is_prompt = at < len(lines) and owners[at] == _USER and lines[at].startswith(PROMPT)
        if at == len(lines) or owners[at] not in {owners[start], _NOBODY} or is_prompt:
            yield from _piece("\n".join(lines[start:at]), owners[start], path)
            start = at


def _piece(text: str, owner: int, path: Sequence[Turn]) -> Iterator[Piece]:
    if owner < 0:
        typed = unprompted(text.strip())
        if typed:
            yield Piece("user", typed)
        return
    turn, block = path[owner], block_of(path[owner])
    if turn.role == "user":
        said = text.removeprefix(PROMPT).strip()
    else:
        said = text.strip()
        if said == block.whole.strip():
            said = shown(turn.content).strip()
        elif block.head and said.startswith(block.head) and said.endswith(block.tail):
            said = said[len(block.head) : -len(block.tail)]
            said = said.removeprefix(block.text[: len(block.text) - len(shown(turn.content))]).strip()
    if said or (turn.role == "tool" and text.strip()):
        yield Piece(turn.role, said)


def _owners(lines: list[str], path: Sequence[Turn], *, is_known: bool) -> list[int]:
    """Which turn each line belongs to: _NOBODY for what separates them, _USER for what was typed between them.

    Where nobody knows which of the turns were shown, what was typed is in the place of none.
    """
    old: list[str] = []
    was: list[int] = []
    for at, turn in enumerate(path):
        if is_visible(turn):
            block = block_of(turn)
            if not old and needs_guard(block):
                old, was = [GUARD, ""], [_NOBODY, _NOBODY]
            own = block.whole.split("\n")
            old += [*own, ""]
            was += [*[at] * len(own), _NOBODY]
    if was and path[was[-2]].role == "assistant":  # an answer is followed by a prompt
        old += [PROMPT, ""]
        was += [_NOBODY, _NOBODY]
    owners: list[int] = []
    for tag, first, last, start, end in opcodes(old, lines):
        if tag == "equal":
            owners += was[first:last]
            continue
        owner = _owner_of_typed(was, first, last) if is_known else _USER
        for line in lines[start:end]:
            if line.startswith(PROMPT) and (owner < 0 or path[owner].role != "user"):
                owner = _USER
            owners.append(owner if line.strip() else _NOBODY)
    return owners


def _owner_of_typed(was: list[int], first: int, last: int) -> int:
    """Whose are lines that stand in the place of these: theirs if they all were one turn's, or lie within one."""
    replaced = {owner for owner in was[first:last] if owner >= 0}
    if len(replaced) == 1:
        return replaced.pop()
    before = was[first - 1] if first > 0 else _NOBODY
    after = was[last] if last < len(was) else _NOBODY
    return before if not replaced and before == after and before >= 0 else _USER


def opcodes(old: Sequence[object], new: Sequence[object]) -> list[tuple[str, int, int, int, int]]:
    """As SequenceMatcher gives them; what is equal at both ends costs nothing."""
    start, limit = 0, min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    middle = SequenceMatcher(None, old[start : len(old) - end], new[start : len(new) - end], autojunk=False)
    codes: list[tuple[str, int, int, int, int]] = [("equal", 0, start, 0, start)] if start else []
    codes += [(tag, a + start, b + start, c + start, d + start) for tag, a, b, c, d in middle.get_opcodes()]
    if end:
        codes.append(("equal", len(old) - end, len(old), len(new) - end, len(new)))
    return codes
