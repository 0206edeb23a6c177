from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from segue.cli._sources import entry_json, filter_options, find_sources, open_index, parse_filters
from segue.console import options, output
from segue.console.recent import RecentSession, record_list
from segue.errors import SegueError
from segue.queries import MOST_COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from segue.cli._sources import Sources
    from segue.console.output import Line, Span
    from segue.index import Copy, IndexEntry, SearchHit
    from segue.library import Library

_NARROWEST = 20
"""The columns that a snippet gets on the narrowest terminal."""


@options.verb(
    "segue search login token",
    "segue search '\"token expires\"' --since 30d",
    "segue search 'auth*' --branch other-idea --json",
    "segue search login --pick",
)
@click.argument("words", metavar="TEXT...", nargs=-1, required=True, type=options.text)
@filter_options
@click.option("--branch", metavar="NAME", type=options.text, help="Only text on this branch.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most N sessions."
)
@click.option("--pick", is_flag=True, help="Choose a session to resume.")
@options.library
@options.as_json
def command(
    *, library: Library, words: tuple[str, ...], limit: int, pick: bool, as_json: bool, **given: str | None
) -> int | None:
    """Search the text of sessions; the best match comes first.

    Titles, summaries, turns, arguments of tool calls, decisions and learnings are searched. All words must occur in the
    same turn, call, title or note; the last one may be the beginning of a word. Quote a phrase to match it exactly;
    word* matches a prefix. On a terminal the matches are highlighted, with the command that forks a session at the
    turn. Elsewhere each session is one line, with tabs between id, kind of match, branch, number of matches, title,
    last activity, store, text and number of the turn.
    """
    sources = find_sources(library)
    filters, text = parse_filters(sources, given), " ".join(words)
    if pick:
        from segue.cli.picker import pick as open_picker

        return open_picker(sources, filters, text)
    with open_index(sources, with_text=True) as index:
        hits = index.search(text, filters, limit=limit, unfinished=True, turns_first=True)
        total = index.count(text, filters, unfinished=True) if len(hits) == limit else len(hits)
        ids = {hit.entry.id for hit in hits}
        found = index.short_ids(ids, sources.names) if output.stdout_is_tty() and not as_json else {}
    recorded = record_list(RecentSession(hit.entry.source, hit.entry.id) for hit in hits) if hits else 0
    if as_json:
        output.data([_plain(hit) for hit in hits])
    elif hits:
        output.page(_lines(hits, sources, found, numbered=recorded))
    else:
        output.warn(f"no match for {text!r}; try fewer words, or word* for a prefix")
    if total >= MOST_COUNTED and any(source.queries for source in sources.sources):
        output.warn(f"more than {total - len(hits):,} more match; show more with --limit, or add words")
    elif total > len(hits):
        output.warn(f"{total - len(hits):,} more match; show all with --limit {total}")
    return None


def _lines(hits: list[SearchHit], sources: Sources, short: Mapping[str, str], *, numbered: int) -> Iterator[Line]:
    """On a terminal, the first `numbered` entries begin with `@1` and so on, as commands take them."""
    from segue.cli._rendering import format_copies, format_project, format_source
    from segue.console.durations import time_formatter
    from segue.formats.terminal import one_line

    when = time_formatter()
    if not output.stdout_is_tty():
        for hit in hits:
            entry = hit.entry
            snippet = "".join(text for text, _ in hit.snippet)
            fields = (
                *(entry.id, _format_kind(hit), hit.branch, str(hit.matches), entry.title),
                *(when(entry.updated_at), entry.source, snippet, str(hit.turn or "")),
            )
            yield ("\t".join(map(one_line, fields)),)
        return
    has_stores = len(sources.libraries) > 1
    for number, hit in enumerate(hits, 1):
        entry = hit.entry
        id = short.get(entry.id, entry.id)
        more = f"{hit.matches} matches" if hit.matches > 1 else ""
        place = format_source(entry) if has_stores and entry.source in sources.libraries else ""
        facts = [when(entry.updated_at), entry.agent, format_project(entry), more, format_copies(entry), place]
        if number > 1:
            yield ()
        line = f"@{number}  " if number <= numbered else ""
        yield (("dim", line), ("bold", _flatten(entry.title) or "(no title)"), ("dim", f"  {one_line(id)}"))
        yield (("dim", one_line(f"  {' · '.join(fact for fact in facts if fact)}")),)
        intro = f"  {one_line(_format_place(hit))}: "
        yield (("dim", intro), *_fit(hit.snippet, output.terminal_width() - len(intro)))
        if command := _next_command(sources, hit, id):
            yield (("dim", f"  {one_line(command)}"),)


def _fit(snippet: Sequence[tuple[str, bool]], width: int) -> Iterator[Span]:
    """As much of a snippet as a line has room for, with its first match."""
    from segue.console.columns import shorten, width_of

    pieces = [(_flatten(text), is_match) for text, is_match in snippet]
    room, before = max(width, _NARROWEST), max(width, _NARROWEST) // 3
    if sum(width_of(text) for text, _ in pieces) > room and not pieces[0][1] and len(pieces[0][0]) > before:
        pieces[0] = (f"…{pieces[0][0][-before:]}", False)
    for text, is_match in pieces:
        if room > 0:
            cut = shorten(text, room)
            yield ("yellow", cut) if is_match else cut
            room -= width_of(cut)


def _format_place(hit: SearchHit) -> str:
    """The role or call and the number of a turn, or the kind of another text."""
    place = f"{_format_kind(hit)}, turn {hit.turn}" if hit.turn else _format_kind(hit)
    if hit.branch and hit.branch != hit.entry.branch:
        place += f" on {hit.branch}"
    return f"{place}, in {hit.copy.source.partition(':')[0]} {hit.copy.id}" if hit.copy is not None else place


def _format_kind(hit: SearchHit) -> str:
    return f"call of {hit.call}" if hit.call else hit.role or hit.kind


def _next_command(sources: Sources, hit: SearchHit, id: str) -> str:
    """The command that forks the session at the turn, or imports the turn first; empty if the match is not a turn."""
    if not hit.turn:
        return ""
    entry = hit.entry
    if hit.copy is not None:
        return shlex.join(["segue", *_import_arguments(sources, entry, hit.copy, id)])
    fork = ["segue", *_call(sources, "fork", entry, id), "--at", str(hit.turn)]
    if _is_on_active_branch(sources, hit):
        return shlex.join(fork)
    switch = ["segue", *_call(sources, "switch", entry, id), hit.branch]
    return f"{shlex.join(switch)} && {shlex.join(fork)}"


def _import_arguments(sources: Sources, entry: IndexEntry, copy: Copy, id: str) -> list[str]:
    """The arguments that add to a session what another one of the conversation has, or show that one."""
    from segue.transfer.imported_copy import imported_session_id

    tool = copy.source.partition(":")[0]
    if copy.source in sources.libraries:
        return ["show", copy.id]
    if entry.id == imported_session_id(tool, copy.id):
        return ["import", tool, copy.id]
    return [*_call(sources, "resume", entry, id), "--from", tool]


def _call(sources: Sources, verb: str, entry: IndexEntry, id: str) -> list[str]:
    name, _, *store = sources.arguments(verb, entry)
    return [name, id, *store]


def _is_on_active_branch(sources: Sources, hit: SearchHit) -> bool:
    """Whether the active branch has the turn, as its own or as one that it shares with the branches above it."""
    entry = hit.entry
    if hit.branch == entry.branch or entry.source not in sources.libraries:
        return True
    try:
        overview = sources.libraries[entry.source].overview(entry.id)
    except SegueError:
        return True
    branch = overview.get_branch(overview.branch)
    for _ in overview.branches:
        if branch.name == hit.branch:
            return True
        if hit.turn > branch.at or branch.parent not in overview.branches:
            return False
        branch = overview.branches[branch.parent]
    return False


def _flatten(text: str) -> str:
    """Text on one line."""
    from segue.formats.terminal import one_line

    return one_line(text.replace("\n", " ").replace("\t", " "))


def _plain(hit: SearchHit) -> dict[str, object]:
    return entry_json(hit.entry) | {
        "found": {
            "kind": hit.kind,
            "role": "" if hit.kind == "call" else hit.role,
            "call": hit.call,
            "branch": hit.branch,
            "seq": hit.seq,
            "turn": hit.turn or None,
            "in": hit.copy.source if hit.copy is not None else hit.entry.source,
            "text": "".join(text for text, _ in hit.snippet),
            "marked": [text for text, is_match in hit.snippet if is_match],
        },
        "matches": hit.matches,
    }
