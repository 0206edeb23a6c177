"""The branches of a session as a tree, and the point where two of them diverge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from segue.model import Branch, Turn, hide_redacted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from segue.model import Overview, Session


class BranchNode(Struct, frozen=True, kw_only=True):
    """A branch in the tree, as it is drawn."""

    branch: Branch
    stem: str
    """The lines that are drawn before its name."""
    first: Turn | None
    """The first turn of its own."""


class BranchDiff(Struct, frozen=True, kw_only=True):
    """Two branches: the turns they share, and those that only one of them has."""

    shared: tuple[Turn, ...]
    left: tuple[Turn, ...]
    right: tuple[Turn, ...]


def build_tree(session: Overview, first_turns: Mapping[str, Turn]) -> Iterator[BranchNode]:
    """Every branch below its parent, in the order in which they diverge from it; `first_turns` are those of its own."""
    first_turns = dict(zip(first_turns, hide_redacted(session, first_turns.values()), strict=True))
    children: dict[str, list[Branch]] = {}
    for branch in session.branches.values():
        parent = branch.parent if branch.parent in session.branches else ""
        children.setdefault(parent, []).append(branch)
    for root in children.get("", []):
        yield BranchNode(branch=root, stem="", first=first_turns.get(root.name))
        # No recursion: branches may be nested deeper than Python's stack.
        waiting = _siblings(children, root, "")
        while waiting:
            branch, stem, below = waiting.pop()
            yield BranchNode(branch=branch, stem=stem, first=first_turns.get(branch.name))
            waiting += _siblings(children, branch, below)


def diff_branches(session: Session, left: str, right: str) -> BranchDiff:
    """Compare two branches. NotFoundError if one of them does not exist."""
    one, other = (tuple(hide_redacted(session, session.path(name))) for name in (left, right))
    pairs = zip(one, other, strict=False)
    shared = next((at for at, (mine, theirs) in enumerate(pairs) if mine.seq != theirs.seq), min(len(one), len(other)))
    return BranchDiff(shared=one[:shared], left=one[shared:], right=other[shared:])


def first_words(turn: Turn | None, length: int = 60) -> str:
    text = " ".join(turn.content.split()) if turn is not None else ""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def _siblings(children: dict[str, list[Branch]], parent: Branch, indent: str) -> list[tuple[Branch, str, str]]:
    """The branches below a parent, last first, each with its stem and the indent of its own branches."""
    found = sorted(children.get(parent.name, []), key=lambda branch: branch.at)
    stems = [("├─ ", "│  ")] * (len(found) - 1) + [("└─ ", "   ")]
    return [(branch, indent + stem, indent + below) for branch, (stem, below) in zip(found, stems, strict=False)][::-1]
