from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._sources import entry_json, filter_options, find_sources, open_index, parse_filters
from segue.console import options, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.console.output import Line
    from segue.index import SearchHit
    from segue.library import Library


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

    Titles, summaries, turns, decisions and learnings are searched. All words must occur in the same turn, title or
    note. Quote a phrase to match it exactly; word* matches a prefix. On a terminal the matches are highlighted;
    elsewhere each session is one line, with tabs between id, kind of match, branch, number of matches, title, last
    activity, store and text.
    """
    sources = find_sources(library)
    filters, text = parse_filters(sources, given), " ".join(words)
    if pick:
        from segue.cli.picker import pick as open_picker

        return open_picker(sources, filters, text)
    with open_index(sources, with_text=True) as index:
        hits = index.search(text, filters, limit=limit)
    if as_json:
        output.data([_plain(hit) for hit in hits])
    elif hits:
        output.lines(_lines(hits, with_sources=len(sources.sources) > 1))
    else:
        output.warn(f"no match for {text!r}; try fewer words, or word* for a prefix")
    return None


def _lines(hits: list[SearchHit], *, with_sources: bool) -> Iterator[Line]:
    from segue.cli._rendering import format_source
    from segue.console.durations import time_formatter
    from segue.formats.terminal import one_line

    when = time_formatter()
    if not output.stdout_is_tty():
        for hit in hits:
            entry = hit.entry
            snippet = "".join(text for text, _ in hit.snippet)
            fields = (
                *(entry.id, hit.role or hit.kind, hit.branch, str(hit.matches), entry.title),
                *(when(entry.updated_at), entry.source, snippet),
            )
            yield ("\t".join(map(one_line, fields)),)
        return
    for at, hit in enumerate(hits):
        entry = hit.entry
        more = f"{hit.matches} matches" if hit.matches > 1 else ""
        facts = [when(entry.updated_at), entry.agent, more, format_source(entry) if with_sources else ""]
        if at:
            yield ()
        yield (("bold", one_line(entry.id)), f"  {one_line(entry.title)}")
        yield (("dim", one_line(f"  {' · '.join(fact for fact in facts if fact)}")),)
        where = hit.role or hit.kind
        if hit.branch and hit.branch != entry.branch:
            where += f" on {hit.branch}"
        marked = (("yellow", _flatten(text)) if is_match else _flatten(text) for text, is_match in hit.snippet)
        yield (("dim", f"  {one_line(where)}: "), *marked)


def _flatten(text: str) -> str:
    """Text on one line."""
    from segue.formats.terminal import one_line

    return one_line(text.replace("\n", " ").replace("\t", " "))


def _plain(hit: SearchHit) -> dict[str, object]:
    return entry_json(hit.entry) | {
        "found": {
            "kind": hit.kind,
            "role": hit.role,
            "branch": hit.branch,
            "seq": hit.seq,
            "text": "".join(text for text, _ in hit.snippet),
            "marked": [text for text, is_match in hit.snippet if is_match],
        },
        "matches": hit.matches,
    }
