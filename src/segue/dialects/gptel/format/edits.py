"""What users and Emacs have changed in a session.md since we wrote it.

If the bounds belong to this text, they tell whose text it is. If another editor changed only the text, lines decide:
one that is still there belongs to its turn, one typed inside a turn changes that turn, and any other was typed by the
user. Only what the file is known to have shown can be removed by editing it.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from segue.dialects.gptel.format.conversation import (
    GUARD,
    KINDS,
    PROMPT,
    BranchText,
    Span,
    TextPiece,
    call_of,
    displayable,
    format_bounds,
    is_visible,
    needs_guard,
    parse_bounds,
    parse_pieces,
    parse_spans,
    render_block,
)
from segue.dialects.gptel.format.settings import BOUNDS
from segue.model import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from segue.dialects.gptel.format.footer import BufferPage, FooterMark

_NONE = -1
_USER = -2
FROM_TEXT = "text"
"""The prefix of the id of a turn that was found in a text."""

TurnOrText = Turn | TextPiece
"""A recorded turn, or a new message in the text."""


def turns_in(page: BufferPage, path: Sequence[Turn]) -> list[TurnOrText]:
    """The turns of a branch as the file shows them; `path` are the recorded ones."""
    base = count_shown_turns(page.mark, path)
    if base is not None and page.mark is not None and page.mark.has_our_body:
        return list(path)
    old = path if base is None else path[:base]
    if _are_bounds_of(page, old, is_known=base is not None):
        found = list(parse_pieces(page.body, page.variables.get(BOUNDS)))
    elif old:
        found = list(_by_lines(page, old, is_known=base is not None))
    else:
        found = list(parse_pieces(page.body, _news(page, is_known=base is not None)))
    return list(_merged(path, found, base))


def spans_in(page: BufferPage, path: Sequence[Turn]) -> list[Span]:
    """Everything in the current text of a file that is not the user's."""
    base = count_shown_turns(page.mark, path)
    old = path if base is None else path[:base]
    if _are_bounds_of(page, old, is_known=base is not None):
        return parse_spans(page.variables.get(BOUNDS), len(page.body))
    if old:
        return sorted(_spans_by_lines(page, old, is_known=base is not None))
    return parse_spans(_news(page, is_known=base is not None), len(page.body))


def count_shown_turns(mark: FooterMark | None, path: Sequence[Turn]) -> int | None:
    """How many of the turns the file showed when it was written; None if unknown.

    Our line is believed only where these turns make the text that it sums up: the events may be older than the file,
    or those of another copy. What was recorded later the file does not show.
    """
    if mark is None:
        return None
    text = BranchText()
    found = 0 if text.above_sum() == mark.text_sum else None
    for count, turn in enumerate(path, start=1):
        text.extend([turn])
        if text.above_sum() == mark.text_sum:
            found = count
    return found


def _are_bounds_of(page: BufferPage, old: Sequence[Turn], *, is_known: bool) -> bool:
    """Whether the bounds in the footer belong to the current text."""
    if BOUNDS not in page.variables or page.news is not None:
        return False
    is_moved = page.mark is None or page.mark.has_our_body or not page.has_our_bounds
    spans = list(parse_bounds(page.variables[BOUNDS]))
    fits = _is_at_lines if not is_moved and not is_known else _is_inside
    return (is_moved or not is_known) and all(fits(page.body, span) for span in spans) and _cover(page.body, spans, old)


def _is_inside(body: str, span: Span) -> bool:
    return 0 <= span.start <= span.end <= len(body)


def _is_at_lines(body: str, span: Span) -> bool:
    """Whether it starts and ends at line ends; a bound that another editor shifted hardly does."""
    start, end = span.start, span.end
    return _is_inside(body, span) and f"\n{body}"[start] == "\n" and "\n" in {f"\n{body}"[end], f"{body}\n"[end]}


def _cover(body: str, spans: Sequence[Span], old: Sequence[Turn]) -> bool:
    """Whether no recorded answer that is still there unchanged is outside of the bounds."""
    answers = [span for span in spans if span.kind == KINDS["assistant"]]
    for turn in old:
        if turn.role == "assistant" and is_visible(turn):
            places = list(_places(body, displayable(turn.content).strip()))
            if places and not any(one.start <= at and end <= one.end for at, end in places for one in answers):
                return False
    return True


def _places(body: str, text: str) -> Iterator[tuple[int, int]]:
    """Every position of the text as lines of its own."""
    lines, at = f"\n{body}\n", -1
    while (at := lines.find(f"\n{text}\n", at + 1)) >= 0:
        yield at, at + len(text)


def _news(page: BufferPage, *, is_known: bool) -> object:
    """The bounds of new messages: those of a gptel that had not read ours, or those that still fit."""
    if page.news is not None or is_known:
        return page.news
    return format_bounds(span for span in parse_bounds(page.variables.get(BOUNDS)) if _is_at_lines(page.body, span))


def is_cut(page: BufferPage, data: bytes, path: Sequence[Turn]) -> bool:
    """Whether the file is the beginning of one that we wrote, and ends inside a turn or inside the footer."""
    if page.mark is not None:
        return page.is_cut
    text = BranchText()
    ends = {0}
    for turn in path:
        text.extend([turn])
        ends.add(text.size_bytes)
    above = text.above()
    if data.startswith(above + b"\f"):
        return not page.variables
    message = data.rstrip().removesuffix(b"\n###").rstrip()
    return above.startswith(data) and len(message) not in {len(above[:end].rstrip()) for end in ends}


def _merged(path: Sequence[Turn], found: list[TextPiece], base: int | None) -> Iterator[TurnOrText]:
    """The turns that are still there as recorded, and new messages at their positions.

    What cannot be seen in a text, or is not known to have been shown, nobody removed; but what was taken in while it
    was still being written has grown.
    """
    visible = [at for at, turn in enumerate(path) if is_visible(turn)]
    known = [(path[at].role, displayable(path[at].content).strip()) for at in visible]
    limit = len(path) if base is None else base
    done = 0
    for tag, first, last, start, end in opcodes(known, [(piece.role, piece.text) for piece in found]):
        upto = visible[last] if last < len(visible) else len(path)
        news = found[start:end] if tag != "equal" else []
        changed = visible[first:last] if tag != "equal" else []
        gone = {at for at in changed if at < (base or 0) or _has_grown(path[at], news)}
        remaining = [at for at in range(done, upto) if at not in gone]
        place = min([*gone, limit])
        yield from (path[at] for at in remaining if at < place)
        yield from news
        yield from (path[at] for at in remaining if at >= place)
        done = upto
    yield from path[done:]


def _has_grown(turn: Turn, news: Sequence[TextPiece]) -> bool:
    text = displayable(turn.content).strip()
    is_from_text = turn.id.startswith(f"{FROM_TEXT}-")
    return is_from_text and any(piece.role == turn.role and piece.text.startswith(text) for piece in news)


class _Run(NamedTuple):
    """Adjacent lines that belong to the same turn."""

    owner: int
    start: int
    """Their offset in the body."""
    text: str
    """Separators between turns are blank in it, with their length kept if offsets must stay valid."""


def _runs(page: BufferPage, path: Sequence[Turn], *, is_known: bool, is_as_long: bool) -> Iterator[_Run]:
    lines = page.body.split("\n")
    places = list(accumulate((len(line) + 1 for line in lines), initial=0))
    owners = _owners(lines, path, is_known=is_known)
    blank = " " if is_as_long else ""
    lines = [line if owner != _NONE else blank * len(line) for line, owner in zip(lines, owners, strict=True)]
    start = 0
    for at in range(1, len(lines) + 1):
        is_prompt = at < len(lines) and owners[at] == _USER and lines[at].startswith(PROMPT)
        if at == len(lines) or owners[at] not in {owners[start], _NONE} or is_prompt:
            yield _Run(owners[start], places[start], "\n".join(lines[start:at]))
            start = at


def _by_lines(page: BufferPage, path: Sequence[Turn], *, is_known: bool) -> Iterator[TextPiece]:
    news = _news(page, is_known=is_known)
    for run in _runs(page, path, is_known=is_known, is_as_long=bool(news)):
        if run.owner < 0:
            yield from parse_pieces(run.text, news, offset=run.start)
        else:
            yield from _piece(run.text, path[run.owner])


def _spans_by_lines(page: BufferPage, path: Sequence[Turn], *, is_known: bool) -> Iterator[Span]:
    yield from parse_spans(_news(page, is_known=is_known), len(page.body))
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
    """The prompt, or the first line, which belong to no message: without a bound they would be the user's."""
    place = run.start
    for line in run.text.split("\n"):
        was = body[place : place + len(line)]
        if was.strip() and not line.strip():
            yield Span(place, place + len(line), "ignore")
        place += len(line) + 1


def _marked(text: str, start: int, turn: Turn) -> Iterator[Span]:
    """The spans of a turn that is not the user's; for a tool, the fences are separate."""
    block, end = render_block(turn), start + len(text)
    head, tail = len(block.head), len(block.tail)
    if head and text.startswith(block.head) and text.endswith(block.tail):
        yield Span(start, start + head, "ignore")
        yield Span(start + head, end - tail, "tool", displayable(str(call_of(turn)["id"])))
        yield Span(end - tail, end, "ignore")
    elif text:
        yield Span(start, end, KINDS[turn.role], displayable(str(call_of(turn)["id"])) if turn.role == "tool" else "")


def _piece(text: str, turn: Turn) -> Iterator[TextPiece]:
    block = render_block(turn)
    if turn.role == "user":
        message = text.removeprefix(PROMPT).strip()
    else:
        message = text.strip()
        if message == block.whole.strip():
            message = displayable(turn.content).strip()
        elif block.head and message.startswith(block.head) and message.endswith(block.tail):
            message = message[len(block.head) : -len(block.tail)]
            message = message.removeprefix(block.text[: len(block.text) - len(displayable(turn.content))]).strip()
    if message or (turn.role == "tool" and text.strip()):
        yield TextPiece(turn.role, message)


def _owners(lines: list[str], path: Sequence[Turn], *, is_known: bool) -> list[int]:
    """The turn that each line belongs to: _NONE for separators, _USER for what was typed between turns.

    Where nobody knows which of the turns were shown, what was typed is in the place of none.
    """
    old: list[str] = []
    was: list[int] = []
    for at, turn in enumerate(path):
        if is_visible(turn):
            block = render_block(turn)
            if not old and needs_guard(block):
                old, was = [GUARD, ""], [_NONE, _NONE]
            own = block.whole.split("\n")
            old += [*own, ""]
            was += [*[at] * len(own), _NONE]
    if was and path[was[-2]].role == "assistant":  # an answer is followed by a prompt
        old += [PROMPT, ""]
        was += [_NONE, _NONE]
    owners: list[int] = []
    for tag, first, last, start, end in opcodes(old, lines):
        if tag == "equal":
            owners += was[first:last]
            continue
        owner = _owner_of_typed(was, first, last) if is_known else _USER
        for line in lines[start:end]:
            if line.startswith(PROMPT) and (owner < 0 or path[owner].role != "user"):
                owner = _USER
            owners.append(owner if line.strip() else _NONE)
    return owners


def _owner_of_typed(was: list[int], first: int, last: int) -> int:
    """The turn of lines that replace these: the same if all belonged to one turn, or are inside of one."""
    replaced = {owner for owner in was[first:last] if owner >= 0}
    if len(replaced) == 1:
        return replaced.pop()
    before = was[first - 1] if first > 0 else _NONE
    after = was[last] if last < len(was) else _NONE
    return before if not replaced and before == after and before >= 0 else _USER


def opcodes(old: Sequence[object], new: Sequence[object]) -> list[tuple[str, int, int, int, int]]:
    """The opcodes of SequenceMatcher; equal parts at both ends cost nothing."""
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
