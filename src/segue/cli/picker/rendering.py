"""Sessions as text in the picker. All of it is untrusted: made printable, and never parsed as markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from segue.cli._rendering import format_copies, format_project
from segue.console.durations import ago
from segue.formats.terminal import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from segue.cli.picker.model import PickerMatch
    from segue.index import IndexEntry
    from segue.queries import IndexedText

_STATUS = {"active": "$text-success", "interrupted": "$text-warning", "completed": "dim", "damaged": "$text-error"}
_ROLES = {"user": "$text-success", "assistant": "$text-primary", "system": "$text-warning", "tool": "$text-secondary"}
_MATCH_STYLE = "bold $text-warning"
_LONGEST_TURN, _LONGEST_ROW = 3_000, 400


def render_row(match: PickerMatch, now: datetime) -> Content:
    """Two lines: the title, and the match or the facts of a session."""
    entry = match.entry
    title = Content.styled(_flat(entry.title or entry.id), "bold")
    is_in_text = match.hit is not None and match.hit.kind != "title"
    return Content.assemble(title, "\n  ", _snippet(match) if is_in_text else _facts(entry, now))


def render_summary(match: PickerMatch, now: datetime) -> Content:
    """The text above the turns of a session."""
    entry = match.entry
    lines = [
        Content.styled(_flat(entry.title), "bold") if entry.title else Content(""),
        Content.assemble(_flat(entry.id), "  ", _facts(entry, now)),
        *(Content.styled(_flat(line), "dim") for line in _origin_lines(entry)),
    ]
    if entry.summary:
        lines.append(Content(_flat(entry.summary)))
    if entry.damage:
        lines.append(Content.styled(_flat(entry.damage), "$text-error"))
    hit = match.hit
    if hit is not None and hit.kind in {"decision", "learning"}:  # title and summary are shown anyway
        lines.append(Content.assemble((f"{hit.kind}: ", "dim"), _snippet(match)))
    return Content("\n").join(line for line in lines if line)


def render_turns(texts: Sequence[IndexedText], match: PickerMatch) -> Content:
    """The turns one below the other, with the matches highlighted."""
    words = {text.casefold() for text, is_match in match.hit.snippet if is_match} if match.hit else set()
    return Content("\n\n").join(
        Content.assemble((one_line(turn.role), _ROLES.get(turn.role, "bold")), "\n", _highlighted(turn.text, words))
        for turn in texts
    )


def _highlighted(text: str, words: set[str]) -> Content:
    shown = Content(printable(text if len(text) <= _LONGEST_TURN else f"{text[:_LONGEST_TURN]}…").strip("\n"))
    plain = shown.plain.casefold()
    if len(plain) != len(shown.plain):
        return shown  # a letter whose lower-case form is longer would shift all positions
    for word in words:
        at = plain.find(word)
        while at >= 0:
            shown = shown.stylize(_MATCH_STYLE, at, at + len(word))
            at = plain.find(word, at + len(word))
    return shown


def _snippet(match: PickerMatch) -> Content:
    spans = match.hit.snippet if match.hit else ()
    return Content.assemble(*((_flat(text), _MATCH_STYLE if is_match else "dim") for text, is_match in spans))


def _facts(entry: IndexEntry, now: datetime) -> Content:
    status = "damaged" if entry.damage else entry.status
    turns = entry.turn_count
    count = "" if turns is None else f"{turns} turn{'' if turns == 1 else 's'}"
    facts = [ago(entry.updated_at, now), entry.agent or entry.tool, format_project(entry), count, format_copies(entry)]
    dim = Content.styled(_flat(" · ".join(fact for fact in facts if fact)), "dim")
    return Content.assemble((status, _STATUS.get(status, "")), (" · ", "dim"), dim)


def _origin_lines(entry: IndexEntry) -> Iterator[str]:
    yield entry.source
    if entry.project or entry.folder:
        yield entry.folder or entry.project
    if entry.branch not in {"", "main"}:
        yield f"branch {entry.branch}"
    if entry.tags:
        yield f"tags {', '.join(entry.tags)}"


def _flat(text: str) -> str:
    return one_line(text[:_LONGEST_ROW].replace("\n", " ").replace("\t", " "))
