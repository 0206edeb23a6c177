"""Who said what in the text of a branch as it is now, also where an editor changed it that knows of no bounds."""

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
"""By response, tool and ignore: where each begins, the position behind its end, and for a tool the id of the call."""


def find_bounds(place: BranchPath) -> Bounds:
    """In characters from 1 on; what no bound covers is the user's."""
    found: Bounds = {}
    for start, end, kind, name in _spans(place):
        found.setdefault(kind, []).append([start + 1, end + 1, *([name] if name else [])])
    return found


def _spans(place: BranchPath) -> list[Span]:
    data = _read(place.branch_dir, SESSION)
    page = read_page(data)
    if page.mark is not None and page.mark.has_our_body and page.has_our_bounds:
        return parse_spans(page.variables.get(BOUNDS), len(page.body))
    return spans_in(page, _recorded(place))


def _recorded(place: BranchPath) -> Sequence[Turn]:
    """The turns of the branch that are on record."""
    events = read_sidecar(_read(f"{place.session_dir}/{OURS}", EVENTS), "session", EVENTS).events
    if not events or not isinstance(events[0], Metadata):
        return ()
    session = fold(events)
    return session.path(place.branch_name) if place.branch_name in session.branches else ()


def _read(folder: str, name: str) -> bytes:
    try:
        return Folder(folder).read(name)
    except FileNotFoundError:
        return b""
