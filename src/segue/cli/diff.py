from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.cli._lookup import find_readable
from segue.console import options, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.console.output import Line
    from segue.formats.branch_tree import BranchDiff
    from segue.library import Library


@options.verb("segue diff qa-2026 main other-idea", "segue diff qa-2026 main other-idea --json")
@options.first_session
@click.argument("left", metavar="BRANCH", type=options.text, shell_complete=options.complete_branches)
@click.argument("right", metavar="BRANCH", type=options.text, shell_complete=options.complete_branches)
@options.library
@options.as_json
def command(*, library: Library, id: str, left: str, right: str, as_json: bool) -> None:
    """Compare two branches: where they part, and the turns after."""
    from segue.formats.branch_tree import diff_branches
    from segue.formats.transcript import to_json_object

    found = find_readable(library, id)
    difference = diff_branches(found.library.load(found.id), left, right)
    if as_json:
        output.data(
            {
                "shared": len(difference.shared),
                "left": {"branch": left, "turns": [to_json_object(turn) for turn in difference.left]},
                "right": {"branch": right, "turns": [to_json_object(turn) for turn in difference.right]},
            }
        )
    else:
        output.page(_lines(difference, left, right))


def _lines(difference: BranchDiff, left: str, right: str) -> Iterator[Line]:
    from segue.cli._rendering import render_turns
    from segue.formats.branch_tree import first_words
    from segue.formats.terminal import one_line

    count = len(difference.shared)
    names = f"{one_line(left)} and {one_line(right)}"
    if not difference.left and not difference.right:
        yield (f"{names} are identical: {count} turn{'' if count == 1 else 's'}",)
        return
    if difference.shared:
        last = difference.shared[-1]
        where = f"after turn {count}: {last.role}: {first_words(last)}"
        yield (f"{names} part ", ("bold", one_line(where)))
    else:
        yield (f"{names} have no turn in common",)
    for mark, style, name, turns in (("-", "red", left, difference.left), ("+", "green", right, difference.right)):
        yield ()
        more = f"{len(turns)} more turn{'' if len(turns) == 1 else 's'}" if turns else "no more turns"
        yield ((style, one_line(f"{mark} {name}: {more}")),)
        yield from render_turns(turns, first=count + 1)
