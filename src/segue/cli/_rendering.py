"""Sessions and turns as text for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from segue.console import output
from segue.console.durations import time_formatter
from segue.formats.terminal import one_line
from segue.formats.transcript import json_line
from segue.model import usage_of_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from segue.console.output import Line, Span
    from segue.index import IndexEntry
    from segue.model import JsonObject, Overview, Turn, Usage

_STATUS_STYLES = {"active": "green", "paused": "", "completed": "dim", "interrupted": "yellow", "damaged": "red"}
_ROLE_STYLES = {"user": "green", "assistant": "cyan", "system": "yellow", "tool": "blue"}
_COLUMNS = ("", "TITLE", "TURNS", "ACTIVE", "STATUS", "AGENT", "PROJECT", "ALSO IN", "ID")
_TITLE, _EXTRA, _OPTIONAL = 1, (2,), (5, 7, 6, 0)
_LONGEST_AGENT, _LONGEST_PROJECT, _LONGEST_PLACES = 10, 12, 14
"""So that the title is readable in 80 columns."""
_CENT = 0.01
_LONGEST_DATA = 200


def print_sessions(
    entries: Sequence[IndexEntry], short_ids: Mapping[str, str], *, with_sources: bool = False, numbered: int = 0
) -> None:
    """On a terminal a table that fits its width, in the pager if it is long; elsewhere tabs between all fields.

    The first `numbered` lines of the table begin with the name under which they can be used, `@1` and so on.
    """
    when = time_formatter()
    if not output.stdout_is_tty():
        output.tabbed([*_fields(entry, when), *((entry.source,) if with_sources else ())] for entry in entries)
        return
    from segue.console.columns import fit

    rows = [
        [("dim", f"@{line}" if line <= numbered else ""), *_row(entry, short_ids.get(entry.id, entry.id), when)]
        for line, entry in enumerate(entries, 1)
    ]
    output.page(fit(_COLUMNS, rows, stretch=_TITLE, optional=_OPTIONAL, extra=_EXTRA, width=output.terminal_width()))


def format_copies(entry: IndexEntry) -> str:
    """The other places of a conversation, by the names of AI tools and the URLs of stores; empty if there are none."""
    from segue.integrations.registry import INTEGRATIONS

    names = [INTEGRATIONS[name].title if name in INTEGRATIONS else name for name in _places(entry)]
    return f"also in {', '.join(names)}" if names else ""


def _places(entry: IndexEntry) -> list[str]:
    """The commands of AI tools and the URLs of stores, each once."""
    from segue.integrations.registry import MODULES

    schemes = {copy.source: copy.source.partition(":")[0] for copy in entry.copies}
    return list(dict.fromkeys(name if name in MODULES else _short_source(url) for url, name in schemes.items()))


def format_project(entry: IndexEntry) -> str:
    """A short name of the project or folder of a session; empty if it is not known."""
    if entry.project and not entry.project.startswith(("/", "git:")):
        return entry.project.rpartition("/")[2]
    folder = entry.folder or entry.project
    if folder.startswith("/"):
        return "~" if folder == str(Path.home()) else folder.rpartition("/")[2]
    return ""


def format_source(entry: IndexEntry) -> str:
    """The source of a session, on a terminal with ~ for the home folder."""
    return _short_source(entry.source) if output.stdout_is_tty() else entry.source


def _short_source(source: str) -> str:
    scheme, colon, rest = source.partition(":")
    home = str(Path.home())
    is_below = rest.startswith(home) and rest[len(home) : len(home) + 1] in {"", "/"}
    return f"{scheme}{colon}~{rest[len(home) :]}" if is_below and home != "/" else source


def format_usage(usage: Usage) -> str:
    """As in `12,300 in (10,000 cached), 900 out · $0.12`; empty if nothing is known."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    tokens = [
        f"{usage.input_tokens:,} in{cached}" if usage.input_tokens else "",
        f"{usage.output_tokens:,} out" if usage.output_tokens else "",
    ]
    cost = f"${usage.cost_usd:.2f}" if usage.cost_usd >= _CENT else f"${usage.cost_usd:.4f}" if usage.cost_usd else ""
    return " · ".join(filter(None, [", ".join(filter(None, tokens)), cost]))


def render_head(
    about: Overview, branch: str, turns: int, usage: Usage | None = None, *, records: int = 0
) -> Iterator[Line]:
    """The title, what is known of the session, and if they are recorded its git branch and what it used."""
    when = time_formatter()
    if about.title:
        yield (("bold", one_line(about.title)),)
    facts = [
        about.id,
        f"agent {about.agent}" if about.agent else "",
        about.status,
        f"branch {branch}",
        f"{turns} turn{'' if turns == 1 else 's'}",
        f"{records:,} record{'' if records == 1 else 's'}" if records else "",
        when(about.updated_at),
        f"tags {', '.join(about.tags)}" if about.tags else "",
    ]
    yield (("dim", one_line(" · ".join(fact for fact in facts if fact))),)
    more = []
    if isinstance(git_branch := about.extra.get("git_branch"), str) and git_branch:
        more.append(f"git branch {git_branch}")
    if usage is not None and (used := format_usage(usage)):
        more.append(f"tokens: {used}" if usage.output_tokens or usage.input_tokens else used)
    if more:
        yield (("dim", one_line(" · ".join(more))),)


def render_turns(
    turns: Iterable[Turn], *, first: int | None, branch: str = "", as_markdown: bool = False
) -> Iterator[Line]:
    """Each turn after a line with its role and time, numbered from `first` if that is given.

    With `as_markdown`, answers are rendered; what others wrote is never taken for Markdown.
    """
    when = time_formatter()
    for at, turn in enumerate(turns):
        number = "" if first is None else f"{first + at} "
        role: Span = (_ROLE_STYLES.get(turn.role, "bold"), f"{number}{one_line(turn.role)}")
        facts = [when(turn.timestamp)]
        if used := format_usage(usage_of_turn(turn)):
            facts.append(used)
        elif turn.tokens is not None:
            facts.append(f"{turn.tokens} tokens")
        if isinstance(effort := turn.extra.get("effort"), str) and effort:
            facts.append(f"effort {effort}")
        if turn.partial:
            facts.append("cut off")
        if branch and turn.branch != branch:
            facts.append(f"branch {turn.branch}")
        yield ()
        yield (role, ("dim", one_line(" · ".join(["", *facts]))))
        if turn.content and as_markdown and turn.role == "assistant":
            yield from output.markdown(turn.content)
        elif turn.content:
            yield (turn.content,)
        for part in turn.parts:
            yield (("dim", json_line(_shortened(_without_repetition(part, turn)))),)


def _without_repetition(part: JsonObject, turn: Turn) -> JsonObject:
    """A result without its content where that is the text of the turn, which is shown above it."""
    if part.get("type") == "tool_result" and turn.content and part.get("content") == turn.content:
        return {name: value for name, value in part.items() if name != "content"}
    return part


def _shortened(part: JsonObject) -> JsonObject:
    """The part without the data of its images, which nobody can read."""
    if isinstance(data := part.get("data"), str) and len(data) > _LONGEST_DATA:
        part = {**part, "data": f"[{len(data):,} characters of base64]"}
    if isinstance(images := part.get("images"), list):
        part = {**part, "images": [_shortened(image) if isinstance(image, dict) else image for image in images]}
    return part


def _row(entry: IndexEntry, short_id: str, when: Callable[[datetime], str]) -> list[Span]:
    from segue.console.columns import shorten, without_joiners

    status = "damaged" if entry.damage else entry.status
    style, shown = _STATUS_STYLES[status], "" if status == "paused" else status
    return [
        without_joiners(" ".join(entry.title.split())) or ("dim", "(no title)"),
        "" if entry.turn_count is None else str(entry.turn_count),
        when(entry.updated_at),
        (style, shown) if style else shown,
        shorten(entry.agent, _LONGEST_AGENT),
        shorten(format_project(entry), _LONGEST_PROJECT),
        shorten(", ".join(_places(entry)), _LONGEST_PLACES),
        short_id,
    ]


def _fields(entry: IndexEntry, when: Callable[[datetime], str]) -> list[str]:
    """All fields, for other programs."""
    return [
        entry.id,
        entry.agent,
        entry.title,
        "" if entry.turn_count is None else str(entry.turn_count),
        when(entry.created_at),
        when(entry.updated_at),
        "damaged" if entry.damage else entry.status,
    ]
