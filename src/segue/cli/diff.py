from __future__ import annotations

from typing import TYPE_CHECKING

import click

from segue.console import options, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.console.output import Line
    from segue.formats.branch_tree import BranchDiff
    from segue.library import Library


@options.verb("segue diff qa-2026 main other-idea", "segue diff qa-2026 main other-idea --json")
@options.session
@click.argument("left", metavar="BRANCH", type=options.text, shell_complete=options.complete_branches)
@click.argument("right", metavar="BRANCH", type=options.text, shell_complete=options.complete_branches)
@options.library
@options.as_json
def command(*, library: Library, id: str, left: str, right: str, as_json: bool) -> None:
    """Show where two branches part, and what each says from there on."""
    from segue.formats.branch_tree import diff_branches
    from segue.formats.transcript import to_json_object

    parting = diff_branches(library.load(id), left, right)
    if as_json:
        output.data(
            {
                "shared": len(parting.shared),
                "left": {"branch": left, "turns": [to_json_object(turn) for turn in parting.left]},
                "right": {"branch": right, "turns": [to_json_object(turn) for turn in parting.right]},
            }
        )
    else:
        output.page(_lines(parting, left, right))


def _lines(parting: BranchDiff, left: str, right: str) -> Iterator[Line]:
    from segue.cli._view import turn_lines
    from segue.formats.branch_tree import first_words
    from segue.formats.terminal import one_line

    count = len(parting.shared)
    names = f"{one_line(left)} and {one_line(right)}"
    if not parting.left and not parting.right:
        yield (f"{names} say the same: {count} turn{'' if count == 1 else 's'}",)
        return
    if parting.shared:
        last = parting.shared[-1]
        where = f"after turn {count}: {last.role}: {first_words(last)}"
        yield (f"{names} part ", ("bold", one_line(where)))
    else:
        yield (f"{names} share nothing",)
    for mark, style, name, turns in (("-", "red", left, parting.left), ("+", "green", right, parting.right)):
        yield ()
        more = f"{len(turns)} more turn{'' if len(turns) == 1 else 's'}" if turns else "ends there"
        yield ((style, one_line(f"{mark} {name}: {more}")),)
        yield from turn_lines(turns, first=count + 1)
