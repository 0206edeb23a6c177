from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import click

from segue.cli._external import warn_damages
from segue.cli._lookup import find_readable
from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.errors import DamagedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segue.errors import Damage
    from segue.library import Library
    from segue.model import Overview, Turn, Unknown, Usage
    from segue.store import Examination


@options.verb(
    "segue show qa-2026",
    "segue show --last",
    "segue show login bug",
    "segue show @2 -n 10",
    "segue show @2 --plain",
    "segue show qa-2026 --branch other-idea --markdown",
    "segue show qa-2026 --json | jq -r '.turns[].content'",
)
@options.session
@options.branch
@click.option("-n", "count", metavar="N", type=click.IntRange(min=0), help="Show only the last N turns.")
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@click.option("--plain", is_flag=True, help="Print answers as they are, instead of rendered.")
@options.library
@options.as_json
def command(
    *, library: Library, id: str, branch: str | None, count: int | None, markdown: bool, plain: bool, as_json: bool
) -> int | None:
    """Show the turns of a session.

    On a terminal, answers are rendered and the output goes through your pager; elsewhere, and with --plain, the text is
    printed as it is.

    ID is a session of the store or of an AI tool, as shown by segue list. Of a damaged session everything readable is
    shown.
    """
    if markdown + plain + as_json > 1:
        raise UsageError("--markdown, --plain and --json cannot be used together", hint="omit all but one of them")
    how = "json" if as_json else "markdown" if markdown else "plain" if plain else ""
    found = find_readable(library, id)
    library, name = found.library, found.id
    warn_damages(found.damages)
    try:
        if count is not None:
            turns = library.tail(name, count, branch=branch)
            _show_last(library.overview(name), turns, branch, how)
            return None
        session = library.stream(name)
    except DamagedError:
        return _show_damaged(library.verify(name), name, branch, count, how)
    path = session.path(branch or session.overview.branch)
    _show_all(session.overview, session.unknown, path, branch, how, usage=session.usage, records=session.record_count)
    return None


def _show_all(
    about: Overview,
    unknown: tuple[Unknown, ...],
    turns: Iterable[Turn],
    branch: str | None,
    how: str,
    *,
    usage: Usage,
    records: int = 0,
) -> None:
    """Print turn by turn, since the session may be larger than memory."""
    from segue.cli._rendering import render_head, render_turns
    from segue.formats.transcript import iter_json, iter_markdown
    from segue.model import hide_redacted

    shown = branch or about.branch
    turns = hide_redacted(about, turns)
    if how == "json":
        output.write_chunks(iter_json(about, unknown, {"turns": turns}, more={"usage": usage.as_json()}))
    elif how == "markdown":
        output.write_chunks(iter_markdown(about, turns, shown, records=records))
    else:
        count = about.get_branch(shown).turn_count
        rendered = render_turns(turns, first=1, as_markdown=_is_rendered(how))
        output.page(chain(render_head(about, shown, count, usage, records=records), rendered))


def _show_damaged(examination: Examination, name: str, branch: str | None, count: int | None, how: str) -> int:
    """Print everything readable, then each damage."""
    from segue.model import overview_of, total_usage

    session = examination.session
    if session is None:
        raise DamagedError(name, examination.damages)
    turns = session.path(branch or session.branch)
    if count is None:
        own = (turn for turns in session.own_turns.values() for turn in turns)
        _show_all(overview_of(session), session.unknown, turns, branch, how, usage=total_usage(own))
    else:
        _show_last(session, session.tail(count, branch=branch), branch, how)
    return _print_damages(name, examination.damages)


def _show_last(about: Overview, turns: tuple[Turn, ...], branch: str | None, how: str) -> None:
    """Print the last turns with their numbers in the whole session."""
    from segue.cli._rendering import render_head, render_turns
    from segue.formats.transcript import markdown_turns, to_json_object
    from segue.model import head_of, hide_redacted

    shown = branch or about.branch
    turns = tuple(hide_redacted(about, turns))
    total = about.get_branch(shown).turn_count
    first = max(1, total - len(turns) + 1)
    if how == "json":
        output.data({**to_json_object(head_of(about)), "turns": [to_json_object(turn) for turn in turns]})
    elif how == "markdown":
        output.text(markdown_turns(about, turns, shown, first=first))
    else:
        rendered = render_turns(turns, first=first, as_markdown=_is_rendered(how))
        output.page([*render_head(about, shown, total), *rendered])


def _is_rendered(how: str) -> bool:
    return not how and output.renders_markdown()


def _print_damages(id: str, damages: tuple[Damage, ...]) -> int:
    for damage in damages:
        output.warn(f"{damage}")
    if damages:
        output.warn(f"session {id} is damaged and may be shown with gaps; to repair it: segue recover {id}")
        return Exit.DAMAGED
    return Exit.DONE
