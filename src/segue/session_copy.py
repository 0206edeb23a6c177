"""A new session that begins like another one. The other one is only read, so that it may be open elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from segue.errors import NotFoundError, UsageError
from segue.frameworks import NAME, SCOPE, framework_of
from segue.model import MAIN, OverridesChanged, ScopeChanged, SummaryWritten, TagsChanged, hide_redacted
from segue.model.blobs import blob_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.library import Library
    from segue.model import Attachment, Decision, Event, JsonObject, Learning, Overview, Pattern, Turn
    from segue.session import LiveSession

_LINKS = frozenset({"origin", "tool", "gptel"})
"""Fields that tie a session to the one of an AI tool, or to its folder; a copy is a conversation of its own."""


class SessionCopy(NamedTuple):
    id: str
    source: str
    turns: int
    """How many turns both have."""
    records: int = 0
    """How many records of its program only the source has."""


def copy_session(
    library: Library,
    id: str,
    *,
    branch: str | None = None,
    at: int | None = None,
    create: Callable[[Overview, JsonObject], LiveSession] | None = None,
) -> SessionCopy:
    """Create a session with the first `at` turns of a branch of another one (or all), and what was recorded by then.

    `create` makes the empty session, given the other one and the fields to store with it; it may be in another store.
    The copy is paused. Nothing is left of it if the turns cannot be copied. A copy of the session of a framework is one
    of no framework: the program of the user does not know it, and its records stay with the source.
    """
    source = library.stream(id)
    about = source.overview
    name = branch or about.branch
    count = about.get_branch(name).turn_count
    shared = count if at is None else at
    if not 0 <= shared <= count:
        raise UsageError(f"cannot copy {shared} turns of session {about.id}", hint=f"branch {name} has {count}")
    turns = [turn for _, turn in zip(range(shared + 1), source.path(name), strict=False)]
    until = turns[shared] if len(turns) > shared else None
    is_of_framework = bool(framework_of(about))
    links = {*_LINKS, NAME, SCOPE} if is_of_framework else _LINKS
    extra = {key: value for key, value in about.extra.items() if key not in links}
    extra["forked_from"] = {"session": about.id, "branch": name, "turns": shared}
    live = (create or _creator(library))(replace(about, agent="") if is_of_framework else about, extra)
    recorded = _recorded(about, until, live.overview.overrides)
    events = [*recorded, *(replace(turn, branch=MAIN) for turn in hide_redacted(about, turns[:shared]))]
    try:
        for blob in sorted(blob_names(*events)):
            _copy_blob(library, about.id, blob, live)
        if events:
            live.record(*events)
        live.close()
    except BaseException:
        live.release()
        live.store.delete(live.id)
        raise
    return SessionCopy(live.id, about.id, shared, source.record_count)


def _creator(library: Library) -> Callable[[Overview, JsonObject], LiveSession]:
    return lambda about, extra: library.create(agent=about.agent, title=about.title, extra=extra)


def _recorded(about: Overview, until: Turn | None, known: JsonObject) -> Iterator[Event]:
    """What was recorded in addition to the turns, before the first turn that is left out; `known` are own overrides."""
    when = about.updated_at
    if about.preset is not None:
        yield about.preset
    overrides = {key: value for key, value in about.overrides.items() if key != "tool" and not key.startswith("tool_")}
    if overrides:
        yield OverridesChanged(values=known | overrides, timestamp=when, id="copied-overrides")
    if about.tags:
        yield TagsChanged(tags=about.tags, timestamp=when, id="copied-tags")
    if about.scope is not None:
        yield ScopeChanged(scope=about.scope, timestamp=when, id="copied-scope")
    if about.summary and until is None:
        yield SummaryWritten(content=about.summary, timestamp=when, id="copied-summary")
    things: list[Attachment | Decision | Learning | Pattern] = [*about.attachments, *about.decisions]
    things += [*about.learnings, *about.patterns]
    yield from (thing for thing in things if until is None or thing.timestamp < until.timestamp)


def _copy_blob(library: Library, source: str, name: str, live: LiveSession) -> None:
    try:
        live.put_blob(library.store.get_blob(source, name))
    except NotFoundError:
        return  # an event may contain a hash of bytes that were never stored
