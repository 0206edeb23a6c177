"""Who wrote what in the current text of a branch, even if an editor that does not know of bounds changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segue.dialects.gptel.format.conversation import parse_spans
from segue.dialects.gptel.format.edits import spans_in
from segue.dialects.gptel.format.footer import read_page
from segue.dialects.gptel.format.names import EVENTS, OURS, SESSION
from segue.dialects.gptel.format.settings import BOUNDS
from segue.dialects.gptel.format.sidecar import read_sidecar
from segue.durable.folder import Folder
from segue.model import Metadata, Turn, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.dialects.gptel.format.conversation import Span
    from segue.dialects.gptel.paths import BranchPath

Bounds = dict[str, list[list[int | str]]]
"""By kind (response, tool, ignore): start, the position after the end, and for a tool the id of its call."""


def find_bounds(branch_path: BranchPath) -> Bounds:
    """The bounds in characters, counted from 1; text without a bound is the user's."""
    found: Bounds = {}
    for start, end, kind, name in _spans(branch_path):
        found.setdefault(kind, []).append([start + 1, end + 1, *([name] if name else [])])
    return found


def _spans(branch_path: BranchPath) -> list[Span]:
    data = _read(branch_path.branch_dir, SESSION)
    page = read_page(data)
    if page.mark is not None and page.mark.has_our_body and page.has_our_bounds:
        return parse_spans(page.variables.get(BOUNDS), len(page.body))
    return spans_in(page, _recorded_turns(branch_path))


def _recorded_turns(branch_path: BranchPath) -> Sequence[Turn]:
    """The recorded turns of the branch."""
    events = read_sidecar(_read(f"{branch_path.session_dir}/{OURS}", EVENTS), "session", EVENTS).events
    if not events or not isinstance(events[0], Metadata):
        return ()
    session = fold(events)
    return session.path(branch_path.branch_name) if branch_path.branch_name in session.branches else ()


def _read(folder: str, name: str) -> bytes:
    try:
        return Folder(folder).read(name)
    except FileNotFoundError:
        return b""
