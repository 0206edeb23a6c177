from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli import options
from segue.cli.kept import readable, tell_damages
from segue.console import output
from segue.console.exits import Exit
from segue.errors import DamagedError, UsageError

if TYPE_CHECKING:
    from segue.errors import Damage
    from segue.library import Library
    from segue.model import Overview, Turn


@options.verb(
    "segue show qa-2026",
    "segue show qa-2026 --last 10",
    "segue show qa-2026 --branch other-idea --markdown",
    "segue show qa-2026 --json | jq -r '.turns[].content'",
)
@options.session
@options.branch
@click.option("--last", metavar="N", type=click.IntRange(min=0), help="Only the last turns, however long it is.")
@click.option("--markdown", is_flag=True, help="As Markdown.")
@options.library
@options.as_json
def command(
    *, library: Library, id: str, branch: str | None, last: int | None, markdown: bool, as_json: bool
) -> int | None:
    """Read a session: who said what, and when.

    ID is one of the store, or else one that an AI tool keeps, as segue list shows it. Of a damaged session all that can
    be read is shown.
    """
    if markdown and as_json:
        raise UsageError("--markdown and --json exclude each other", hint="leave one of them out")
    found = readable(library, id)
    library, name = found.library, found.id
    tell_damages(found.damages)
    if last is not None:
        try:
            turns = library.tail(name, last, branch=branch)
            _show_some(library.overview(name), turns, branch, markdown=markdown, as_json=as_json)
            return None
        except DamagedError:
            pass  # what can be read is found the slow way
    examination = library.verify(name)
    session = examination.session
    if session is None:
        raise DamagedError(name, examination.damages)
    turns = session.path(branch or session.branch)
    if last is not None:
        kept = turns[max(0, len(turns) - last) :]
        _show_some(session, kept, branch, markdown=markdown, as_json=as_json)
    elif as_json:
        from segue.formats.transcript import plain_branch

        output.data(plain_branch(session, branch))
    elif markdown:
        from segue.formats.transcript import markdown as render

        output.text(render(session, branch))
    else:
        from segue.cli.view import head_lines, turn_lines

        shown = branch or session.branch
        output.page([*head_lines(session, shown, len(turns)), *turn_lines(turns, first=1)])
    return _report(name, examination.damages)


def _show_some(about: Overview, turns: tuple[Turn, ...], branch: str | None, *, markdown: bool, as_json: bool) -> None:
    """The last turns, numbered as in the whole."""
    from segue.cli.view import head_lines, turn_lines
    from segue.formats.transcript import markdown_turns, plain
    from segue.model import head_of

    shown = branch or about.branch
    count = about.get_branch(shown).turn_count
    first = max(1, count - len(turns) + 1)
    if as_json:
        output.data({**plain(head_of(about)), "turns": [plain(turn) for turn in turns]})
    elif markdown:
        output.text(markdown_turns(about, turns, shown, first=first))
    else:
        output.page([*head_lines(about, shown, count), *turn_lines(turns, first=first)])


def _report(id: str, damages: tuple[Damage, ...]) -> int:
    for damage in damages:
        output.warn(f"{damage}")
    if damages:
        output.warn(f"session {id} is damaged, and what is shown may have gaps; segue recover {id} salvages it")
        return Exit.DAMAGED
    return Exit.DONE
