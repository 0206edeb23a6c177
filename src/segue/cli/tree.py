from __future__ import annotations

from typing import TYPE_CHECKING

from segue.cli._lookup import find_readable
from segue.console import options, output

if TYPE_CHECKING:
    from segue.console.output import Line
    from segue.formats.branch_tree import BranchNode
    from segue.library import Library
    from segue.model import Head, Overview


@options.verb("segue tree qa-2026", "segue tree qa-2026 --json")
@options.session
@options.library
@options.as_json
def command(*, library: Library, id: str, as_json: bool) -> None:
    """Show the branches of a session as a tree.

    Each line has the first text of a branch; * marks the active one. Below them are the sessions of subagents.
    """
    from segue.formats.branch_tree import build_tree, first_words
    from segue.formats.transcript import iso

    found = find_readable(library, id)
    streamed = found.library.stream(found.id)
    session = streamed.overview
    nodes = list(build_tree(session, streamed.first_turns()))
    if as_json:
        output.data(
            [
                {
                    "name": node.branch.name,
                    "active": node.branch.name == session.branch,
                    "parent": node.branch.parent or None,
                    "at": node.branch.at,
                    "own": node.branch.own,
                    "turn_count": node.branch.turn_count,
                    "created_at": iso(node.branch.created_at),
                    "first_words": first_words(node.first),
                }
                for node in nodes
            ]
        )
        return
    width = max(len(node.stem) + len(node.branch.name) for node in nodes)
    subagents = found.library.list(tag=session.id)  # the session that started one is a tag of it
    output.page([*(_line(session, node, width) for node in nodes), *map(_subagent_line, reversed(subagents))])


def _subagent_line(head: Head) -> Line:
    from segue.formats.terminal import one_line

    turns = f"{head.turn_count} turn{'' if head.turn_count == 1 else 's'}"
    return ("  ", ("bold", one_line(head.id)), ("dim", f"  {turns}"), f"  {one_line(head.title)}".rstrip())


def _line(session: Overview, node: BranchNode, width: int) -> Line:
    from segue.formats.branch_tree import first_words
    from segue.formats.terminal import one_line

    branch = node.branch
    is_active = branch.name == session.branch
    turns = f"{branch.own} turn{'' if branch.own == 1 else 's'}"
    facts = f"{turns} after {branch.at} of {branch.parent}" if branch.parent else turns
    return (
        f"{'*' if is_active else ' '} {node.stem}",
        ("green" if is_active else "bold", one_line(branch.name)),
        " " * (width - len(node.stem) - len(branch.name)),
        ("dim", f"  {one_line(facts)}"),
        f"  {one_line(first_words(node.first))}".rstrip(),
    )
