"""What people and Emacs have done to a session.md since we wrote it.

Where Emacs moved the bounds along with the text, they say who said what. Where another editor changed the text alone,
the bounds are worth nothing, and the lines tell: one that is still there belongs to its turn, one typed inside a turn
changes that turn, and any other was typed by the user.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from segue.formats.gptel.conversation import (
    GUARD,
    KINDS,
    PROMPT,
    Conversation,
    Piece,
    Span,
    block_of,
    call_of,
    is_visible,
    needs_guard,
    pieces_of,
    shown,
    spans_of,
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
    if page.mark is not None and page.mark.has_our_body:
        return list(path)
    old, is_known = _shown(page, path, edits)
    if old and _is_told_by_lines(page):
        found = list(_by_lines(page, old, is_known=is_known))
    else:
        found = list(pieces_of(page.body, page.variables.get(BOUNDS)))
    return [*_merged(old, found, is_known=is_known), *path[len(old) :]]


def spans_in(page: Page, path: Sequence[Turn], edits: int) -> list[Span]:
    """Who said what in the text of such a file as it is now, wherever it was not the user."""
    old, is_known = _shown(page, path, edits)
    if old and _is_told_by_lines(page):
        return sorted(_spans_by_lines(page, old, is_known=is_known))
    return spans_of(page.variables.get(BOUNDS), len(page.body))


def _shown(page: Page, path: Sequence[Turn], edits: int) -> tuple[list[Turn], bool]:
    """The turns that the file showed when it was written, and whether anybody knows that.

    What was recorded later it does not show. Nobody knows how far that was once the numbers are others: then nothing
    counts as removed.
    """
    is_known = page.mark is not None and page.mark.upto.edits == edits
    upto = page.mark.upto.seq if page.mark is not None and is_known else len(path) and path[-1].seq
    return [turn for turn in path if turn.seq <= upto], is_known


def _is_told_by_lines(page: Page) -> bool:
    return page.mark is None or page.mark.has_our_bounds or BOUNDS not in page.variables


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


class _Run(NamedTuple):
    """Lines that stand together and belong to one."""

    owner: int
    start: int
    """Where they begin in the body."""
    text: str
    """What separates turns is blank in it, and as long as it was where the bounds are to hold."""


def _runs(page: Page, path: Sequence[Turn], *, is_known: bool, is_as_long: bool) -> Iterator[_Run]:
    lines = page.body.split("\n")
    places = list(accumulate((len(line) + 1 for line in lines), initial=0))
    owners = _owners(lines, path, is_known=is_known)
    blank = " " if is_as_long else ""
    lines = [line if owner != _NOBODY else blank * len(line) for line, owner in zip(lines, owners, strict=True)]
    start = 0
    for at in range(1, len(lines) + 1):
        is_prompt = at < len(lines) and owners[at] == _USER and lines[at].startswith(PROMPT)
        if at == len(lines) or owners[at] not in {owners[start], _NOBODY} or is_prompt:
            yield _Run(owners[start], places[start], "\n".join(lines[start:at]))
            start = at


def _by_lines(page: Page, path: Sequence[Turn], *, is_known: bool) -> Iterator[Piece]:
    for run in _runs(page, path, is_known=is_known, is_as_long=page.news is not None):
        if run.owner < 0:
            yield from pieces_of(run.text, page.news, offset=run.start)
        else:
            yield from _piece(run.text, path[run.owner])


def _spans_by_lines(page: Page, path: Sequence[Turn], *, is_known: bool) -> Iterator[Span]:
    yield from spans_of(page.news, len(page.body))
    is_users = False
    for run in _runs(page, path, is_known=is_known, is_as_long=True):
        text = run.text.strip()
        start = run.start + run.text.index(text)
        role = path[run.owner].role if run.owner >= 0 else "user"
        if role != "user":
            yield from _marked(text, start, path[run.owner])
        else:
            if is_users and text.startswith(PROMPT):
                yield Span(start, start + len(PROMPT), "ignore")
            yield from _blanked(page.body, run)
        is_users = role == "user" if text else is_users


def _blanked(body: str, run: _Run) -> Iterator[Span]:
    """The prompt, or the first line, that nobody said: without a bound they would be the user's."""
    place = run.start
    for line in run.text.split("\n"):
        was = body[place : place + len(line)]
        if was.strip() and not line.strip():
            yield Span(place, place + len(line), "ignore")
        place += len(line) + 1


def _marked(text: str, start: int, turn: Turn) -> Iterator[Span]:
    """What a turn of somebody else's covers: of a tool's, the fences apart from the rest."""
    block, end = block_of(turn), start + len(text)
    head, tail = len(block.head), len(block.tail)
    if head and text.startswith(block.head) and text.endswith(block.tail):
        yield Span(start, start + head, "ignore")
        yield Span(start + head, end - tail, "tool", shown(str(call_of(turn)["id"])))
        yield Span(end - tail, end, "ignore")
    elif text:
        yield Span(start, end, KINDS[turn.role], shown(str(call_of(turn)["id"])) if turn.role == "tool" else "")


def _piece(text: str, turn: Turn) -> Iterator[Piece]:
    block = block_of(turn)
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
