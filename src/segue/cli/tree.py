from __future__ import annotations

from typing import TYPE_CHECKING

from segue.console import options, output

if TYPE_CHECKING:
    from segue.console.output import Line
    from segue.formats.branch_tree import BranchNode
    from segue.library import Library
    from segue.model import Session


@options.verb("segue tree qa-2026", "segue tree qa-2026 --json")
@options.session
@options.library
@options.as_json
def command(*, library: Library, id: str, as_json: bool) -> None:
    """Draw the branches of a session: which grew from which, and how each begins; a star marks the active one."""
    from segue.formats.branch_tree import build_tree, first_words
    from segue.formats.transcript import iso

    session = library.load(id)
    twigs = list(build_tree(session))
    if as_json:
        output.data(
            [
                {
                    "name": twig.branch.name,
                    "active": twig.branch.name == session.branch,
                    "parent": twig.branch.parent or None,
                    "at": twig.branch.at,
                    "own": twig.branch.own,
                    "turn_count": twig.branch.turn_count,
                    "created_at": iso(twig.branch.created_at),
                    "first_words": first_words(twig.first),
                }
                for twig in twigs
            ]
        )
        return
    width = max(len(twig.stem) + len(twig.branch.name) for twig in twigs)
    output.page(_line(session, twig, width) for twig in twigs)


def _line(session: Session, twig: BranchNode, width: int) -> Line:
    from segue.formats.branch_tree import first_words
    from segue.formats.terminal import one_line

    branch = twig.branch
    is_active = branch.name == session.branch
    turns = f"{branch.own} turn{'' if branch.own == 1 else 's'}"
    facts = f"{turns} after {branch.at} of {branch.parent}" if branch.parent else turns
    return (
        f"{'*' if is_active else ' '} {twig.stem}",
        ("green" if is_active else "bold", one_line(branch.name)),
        " " * (width - len(twig.stem) - len(branch.name)),
        ("dim", f"  {one_line(facts)}"),
        f"  {one_line(first_words(twig.first))}".rstrip(),
    )
