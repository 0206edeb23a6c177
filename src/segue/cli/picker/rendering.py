"""How sessions look in the picker. All of it is text of strangers: made printable, and never taken for markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from segue.console.durations import ago
from segue.formats.terminal import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from segue.cli.picker.picker_model import Found
    from segue.index import IndexedText, IndexEntry

_STATUS = {"active": "$text-success", "interrupted": "$text-warning", "completed": "dim", "damaged": "$text-error"}
_ROLES = {"user": "$text-success", "assistant": "$text-primary", "system": "$text-warning", "tool": "$text-secondary"}
_MARKED = "bold $text-warning"
_LONGEST_TURN, _LONGEST_ROW = 3_000, 400


def row(found: Found, now: datetime) -> Content:
    """Two lines: what it is called, and what is known of it or what was found in it."""
    entry = found.entry
    title = Content.styled(_flat(entry.title or entry.id), "bold")
    is_said = found.hit is not None and found.hit.kind != "title"
    return Content.assemble(title, "\n  ", _snippet(found) if is_said else _facts(entry, now))


def about(found: Found, now: datetime) -> Content:
    """What stands above the turns of a session."""
    entry = found.entry
    lines = [
        Content.styled(_flat(entry.title), "bold") if entry.title else Content(""),
        Content.assemble(_flat(entry.id), "  ", _facts(entry, now)),
        *(Content.styled(_flat(line), "dim") for line in _belongings(entry)),
    ]
    if entry.summary:
        lines.append(Content(_flat(entry.summary)))
    if entry.damage:
        lines.append(Content.styled(_flat(entry.damage), "$text-error"))
    hit = found.hit
    if hit is not None and hit.kind in {"decision", "learning"}:  # title and summary stand there anyway
        lines.append(Content.assemble((f"{hit.kind}: ", "dim"), _snippet(found)))
    return Content("\n").join(line for line in lines if line)


def turns(pieces: Sequence[IndexedText], found: Found) -> Content:
    """The turns one under the other; the words that were found are marked."""
    words = {text.casefold() for text, is_found in found.hit.snippet if is_found} if found.hit else set()
    return Content("\n\n").join(
        Content.assemble((one_line(piece.role), _ROLES.get(piece.role, "bold")), "\n", _marked(piece.text, words))
        for piece in pieces
    )


def _marked(text: str, words: set[str]) -> Content:
    shown = Content(printable(text if len(text) <= _LONGEST_TURN else f"{text[:_LONGEST_TURN]}…").strip("\n"))
    plain = shown.plain.casefold()
    if len(plain) != len(shown.plain):
        return shown  # some letters have no lower form of one letter: then places do not agree
    for word in words:
        at = plain.find(word)
        while at >= 0:
            shown = shown.stylize(_MARKED, at, at + len(word))
            at = plain.find(word, at + len(word))
    return shown


def _snippet(found: Found) -> Content:
    spans = found.hit.snippet if found.hit else ()
    return Content.assemble(*((_flat(text), _MARKED if is_found else "dim") for text, is_found in spans))


def _facts(entry: IndexEntry, now: datetime) -> Content:
    status = "damaged" if entry.damage else entry.status
    turns = entry.turn_count
    count = "" if turns is None else f"{turns} turn{'' if turns == 1 else 's'}"
    facts = [ago(entry.updated_at, now), entry.agent, entry.tool if entry.tool != entry.agent else "", count]
    dim = Content.styled(_flat(" · ".join(fact for fact in facts if fact)), "dim")
    return Content.assemble((status, _STATUS.get(status, "")), (" · ", "dim"), dim)


def _belongings(entry: IndexEntry) -> Iterator[str]:
    yield entry.source
    if entry.project or entry.folder:
        yield entry.folder or entry.project
    if entry.branch not in {"", "main"}:
        yield f"branch {entry.branch}"
    if entry.tags:
        yield f"tags {', '.join(entry.tags)}"


def _flat(text: str) -> str:
    return one_line(text[:_LONGEST_ROW].replace("\n", " ").replace("\t", " "))
