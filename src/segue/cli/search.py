from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._finding import filters, find_sources, open_index, plain_entry, wanted
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
@click.argument("words", metavar="WORDS...", nargs=-1, required=True, type=options.text)
@filters
@click.option("--branch", metavar="NAME", type=options.text, help="Said on this branch.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Not more than so many."
)
@click.option("--pick", is_flag=True, help="Choose one to go on with.")
@options.library
@options.as_json
def command(
    *, library: Library, words: tuple[str, ...], limit: int, pick: bool, as_json: bool, **given: str | None
) -> int | None:
    """Find sessions by what was said in them: titles, summaries, turns, decisions and learnings.

    All of the words must stand in one place. "In quotes" they must stand so, and word* finds all that begins so. The
    best match comes first. On a terminal the words are marked; elsewhere a line a session, with tabs between id, what
    was found, branch, number of places, title, last activity, store and text.
    """
    places = find_sources(library)
    chosen, text = wanted(places, given), " ".join(words)
    if pick:
        from segue.cli._picking import pick as open_picker

        return open_picker(places, chosen, text)
    with open_index(places, words=True) as catalog:
        hits = catalog.search(text, chosen, limit=limit)
    if as_json:
        output.data([_plain(hit) for hit in hits])
    elif hits:
        output.lines(_lines(hits, with_places=len(places.sources) > 1))
    else:
        output.warn(f"nothing matches {text!r}; fewer words find more, and word* all that begins so")
    return None


def _lines(hits: list[SearchHit], *, with_places: bool) -> Iterator[Line]:
    from segue.cli._view import place_of
    from segue.console.durations import moment_words
    from segue.formats.terminal import one_line

    when = moment_words()
    if not output.stdout_is_tty():
        for hit in hits:
            entry = hit.entry
            place = "".join(text for text, _ in hit.snippet)
            fields = (
                *(entry.id, hit.role or hit.kind, hit.branch, str(hit.matches), entry.title),
                *(when(entry.updated_at), entry.source, place),
            )
            yield ("\t".join(map(one_line, fields)),)
        return
    for at, hit in enumerate(hits):
        entry = hit.entry
        more = f"{hit.matches} places" if hit.matches > 1 else ""
        facts = [when(entry.updated_at), entry.agent, more, place_of(entry) if with_places else ""]
        if at:
            yield ()
        yield (("bold", one_line(entry.id)), f"  {one_line(entry.title)}")
        yield (("dim", one_line(f"  {' · '.join(fact for fact in facts if fact)}")),)
        where = hit.role or hit.kind
        if hit.branch and hit.branch != entry.branch:
            where += f" on {hit.branch}"
        marked = (("yellow", flat(text)) if is_found else flat(text) for text, is_found in hit.snippet)
        yield (("dim", f"  {one_line(where)}: "), *marked)


def flat(text: str) -> str:
    """A piece of a text on one line."""
    from segue.formats.terminal import one_line

    return one_line(text.replace("\n", " ").replace("\t", " "))


def _plain(hit: SearchHit) -> dict[str, object]:
    return plain_entry(hit.entry) | {
        "found": {
            "kind": hit.kind,
            "role": hit.role,
            "branch": hit.branch,
            "seq": hit.seq,
            "text": "".join(text for text, _ in hit.snippet),
            "marked": [text for text, is_found in hit.snippet if is_found],
        },
        "matches": hit.matches,
    }
