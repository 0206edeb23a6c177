"""How every verb finds a session.

The text of a user is an id, its beginning or its end; a line of the last list (`@3`), the session used last (`-`), or
the first line of `segue list` (`--last`); or else words of a title, or of the text. The store comes first, then the
other stores and the AI tools of `segue list`. An id of the store costs no more than opening the session.
"""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from segue.console import options, output
from segue.console.exit_codes import Exit
from segue.console.recent import RecentSession, record_session, recorded_list, recorded_session
from segue.errors import AmbiguousIdError, InvalidIdError, NotFoundError, SessionNotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.cli._external import ExternalMatch, ReadableSession
    from segue.cli._sources import Sources
    from segue.errors import SegueError
    from segue.index import IndexEntry
    from segue.library import Library

Words = Literal["use", "ask", "never"]
"""What to do with a session that was found by its words: use it, ask first, or refuse it."""

_LINE = re.compile(r"@(\d{1,9})")
_LISTED = 10
_SHORTEST_TOOL_PART = 4
"""A shorter text is more likely a word than a part of an id of an AI tool."""
_LONGEST_TITLE = 40


class FoundSession(NamedTuple):
    """A session of a store; or of an AI tool, and the store into which it can be imported."""

    library: Library
    id: str
    external: ExternalMatch | None = None

    @property
    def source(self) -> str:
        return self.library.store.url if self.external is None else f"{self.external.tool}:"


def find_session(library: Library, text: str, *, words: Words = "use", skips_damaged: bool = False) -> FoundSession:
    """The one session that the text means. If several match, the user chooses; without a terminal it is an error.

    With `words="never"`, only an id or a part of it finds a session. `skips_damaged` is for the last session.
    """
    found = _find(library, text, words, skips_damaged=skips_damaged)
    record_session(found.source, found.id)
    return found


def find_stored(library: Library, text: str, *, words: Words = "use", skips_damaged: bool = False) -> FoundSession:
    """Like `find_session`, for verbs that change it: a session of an AI tool is imported if the user agrees."""
    found = find_session(library, text, words=words, skips_damaged=skips_damaged)
    if found.external is None:
        return found
    id = _import(library, found.external)
    record_session(library.store.url, id)
    return FoundSession(library, id)


def find_readable(library: Library, text: str) -> ReadableSession:
    """Like `find_session`, for verbs that only read: a session of an AI tool is read in place."""
    from segue.cli._external import ReadableSession, read_in_place

    found = find_session(library, text)
    if found.external is None:
        return ReadableSession(found.library, found.id)
    return read_in_place(found.external)


def choose_session(library: Library) -> FoundSession:
    """One of all sessions: the only one, or the one that the user chooses."""
    candidates = _Candidates(library)
    if not candidates.entries:
        raise _nothing(library)
    return candidates.open(candidates.choose("", candidates.entries))


def find_entries(library: Library, sources: Sources, text: str) -> list[IndexEntry]:
    """Like `find_session`, for callers that let the user choose: all sessions that the text may mean."""
    from segue.chat.session_finder import entry_of

    if text == options.PREVIOUS or _LINE.fullmatch(text):
        place = _recorded(text)
        return _Candidates(library, place.id, sources).with_place(place)
    try:
        ids: Sequence[str] = [library.resolve(text)]
    except AmbiguousIdError as error:
        ids = error.candidates
    except (InvalidIdError, NotFoundError) as error:
        candidates = _Candidates(library, text, sources)
        return candidates.with_id(text, hidden=True) or candidates.with_words(text, error)
    found = [entry_of(library, library.store.head(id)) for id in ids]
    return sorted(found, key=lambda entry: entry.updated_at, reverse=True)


def _find(library: Library, text: str, words: Words, *, skips_damaged: bool) -> FoundSession:
    if text in {options.LAST, options.PREVIOUS} or _LINE.fullmatch(text):
        return _find_reference(library, text, words, skips_damaged=skips_damaged)
    try:
        return FoundSession(library, library.resolve(text))
    except AmbiguousIdError as error:
        candidates = _Candidates(library, text)
        found = [entry for entry in candidates.entries if entry.id in error.candidates]
        if len(found) < len(error.candidates) or words == "never":
            raise
        return candidates.open(candidates.choose(text, found))
    except (InvalidIdError, NotFoundError) as error:
        missing = error
    candidates = _Candidates(library, text)
    if found := candidates.with_id(text):
        return candidates.open(candidates.choose(text, found))
    if hidden := _find_hidden(text):
        return FoundSession(library, hidden.id, hidden)
    if found := candidates.with_words(text, missing):
        return candidates.open(candidates.confirm(text, found, words))
    if isinstance(missing, InvalidIdError) and _is_words(text):
        raise NotFoundError(f"no session matches {text!r:.60} in {library.store.url}", hint="segue list shows all")
    raise missing


def _find_hidden(text: str) -> ExternalMatch | None:
    """A session of an AI tool that a listing shows as part of another one."""
    from segue.cli._external import find_external_match

    return find_external_match(text, shortest=_SHORTEST_TOOL_PART)


def _is_words(text: str) -> bool:
    """Whether it looks like words rather than like a wrong id."""
    is_wrong = not text.isprintable() or text.startswith((".", "-")) or "/" in text or len(text) > options.LONGEST_ID
    return not is_wrong and any(character.isalpha() for character in text)


class _Candidates:
    """The sessions of `segue list`; of a store with very many, those that the text may mean."""

    def __init__(self, library: Library, text: str = "", sources: Sources | None = None) -> None:
        from segue.cli._entries import list_candidates
        from segue.cli._sources import find_sources, parse_filters

        self._library = library
        self._sources: Sources = sources or find_sources(library)
        self._filters = parse_filters(self._sources, {})
        self.entries: list[IndexEntry] = list_candidates(self._sources, self._filters, text)

    def with_id(self, text: str, *, hidden: bool = False) -> list[IndexEntry]:
        """Those with the id or the part of one; with `hidden` also those of which a copy has it."""
        from segue.ids import match_ids

        is_long = len(text) >= _SHORTEST_TOOL_PART
        names = {
            index: {entry.id, *(copy.id for copy in entry.copies if hidden and is_long)}
            for index, entry in enumerate(self.entries)
            if self._is_stored(entry) or is_long
        }
        ids = set(match_ids(text, set().union(*names.values())))
        return [self.entries[index] for index, own in names.items() if ids & own]

    def with_place(self, place: RecentSession) -> list[IndexEntry]:
        """The conversation that has this session; empty if none has it any more."""
        from segue.chat.session_finder import places_of

        return [entry for entry in self.entries if (place.source, place.id) in places_of(entry)]

    def with_words(self, text: str, missing: SegueError) -> list[IndexEntry]:
        """Those with the words in their title or tags; or else in all that is listed of them; or else in their text.

        `missing` tells why the text is not an id.
        """
        from segue.cli._sources import open_index
        from segue.ids import match_words
        from segue.queries import MOST

        if isinstance(missing, InvalidIdError) and not _is_words(text):
            return []
        for names in (self._titles, self._names):
            if found := match_words(text, self.entries, names):
                return found
        with open_index(self._sources, with_text=True) as index:
            try:
                limit = None if all(source.queries is None for source in self._sources.sources) else MOST
                hits = index.search(text, self._filters, limit=limit, unfinished=True)
            except UsageError:  # there is no word in it
                return []
        return sorted((hit.entry for hit in hits), key=lambda entry: entry.updated_at, reverse=True)

    def confirm(self, text: str, found: Sequence[IndexEntry], words: Words) -> IndexEntry:
        """The one that the words mean, as far as they may decide it."""
        if words == "use" or (len(found) > 1 and words == "ask"):
            entry = self.choose(text, found)
            if len(found) == 1:
                output.warn(f"using {self._label(entry)}, which has the words {text!r:.60}")
            return entry
        if words == "ask" and output.stdin_is_tty():
            if output.confirm(f"Do you mean {self._label(found[0])}?", yes=False):
                return found[0]
            raise click.exceptions.Exit(Exit.DECLINED)
        labels = ", ".join(map(self._label, found[:_LISTED]))
        raise NotFoundError(f"{text!r:.60} is not an id; its words match {labels}", hint="use the id")

    def choose(self, text: str, found: Sequence[IndexEntry]) -> IndexEntry:
        if len(found) == 1:
            return found[0]
        if not output.stdin_is_tty():
            ids, labels = [entry.id for entry in found], [self._label(entry) for entry in found]
            raise AmbiguousIdError(text, ids, labels=labels, hint="use one of these ids, or --last")
        more = f"and {len(found) - _LISTED} more; list all with: segue list" if len(found) > _LISTED else ""
        chosen = output.choose([self._line(entry) for entry in found[:_LISTED]], more=more)
        if chosen is None:
            raise click.exceptions.Exit(Exit.DECLINED)
        return found[chosen]

    def open(self, entry: IndexEntry) -> FoundSession:
        return _open(self._library, RecentSession(entry.source, entry.id))

    def _is_stored(self, entry: IndexEntry) -> bool:
        return entry.source in self._sources.libraries

    def _titles(self, entry: IndexEntry) -> tuple[str, ...]:
        """The ids of AI tools are left out: a short word is easily a part of a hexadecimal number."""
        return (entry.title, *entry.tags, *((entry.id,) if self._is_stored(entry) else ()))

    def _names(self, entry: IndexEntry) -> tuple[str, ...]:
        return (*self._titles(entry), entry.agent, entry.tool, entry.project)

    def _short(self, entry: IndexEntry) -> str:
        from segue.ids import short_ends, short_ids

        known = {one.id for one in self.entries}
        for library in self._sources.libraries.values():
            if (queries := library.store.queries) is not None:
                known |= queries.near_ids([entry.id, *short_ends(entry.id)], 2)
        return short_ids(known, only=[entry.id])[entry.id]

    def _label(self, entry: IndexEntry) -> str:
        title = entry.title if len(entry.title) <= _LONGEST_TITLE else f"{entry.title[: _LONGEST_TITLE - 1]}…"
        return f"{self._short(entry)} ({title})" if title else self._short(entry)

    def _line(self, entry: IndexEntry) -> str:
        from segue.console.durations import ago

        turns = "" if entry.turn_count is None else f"{entry.turn_count} turns"
        when = ago(entry.updated_at, datetime.now(UTC))
        facts = [entry.title or "(no title)", turns, when, "damaged" if entry.damage else entry.status]
        if not self._is_stored(entry):
            facts.append(entry.tool)
        return f"{self._short(entry)}  {' · '.join(fact for fact in facts if fact)}"


# ── Lines of a list, and sessions used before ────────────────────────────────────────────────────────────────────────


def _find_reference(library: Library, text: str, words: Words, *, skips_damaged: bool) -> FoundSession:
    if text == options.LAST:
        entry = _last(library, skips_damaged=skips_damaged)
        if entry is None:
            raise _nothing(library)
        shown, wanted = "--last", RecentSession(entry.source, entry.id)
    else:
        shown, wanted = text, _recorded(text)
    if words == "never":
        raise UsageError(f"{shown} means {wanted.id}; nothing was done", hint="use the id")
    try:
        return _open(library, wanted)
    except SessionNotFoundError:
        raise NotFoundError(
            f"{shown} means {wanted.id}, which does not exist any more", hint="segue list shows all"
        ) from None


def _last(library: Library, *, skips_damaged: bool) -> IndexEntry | None:
    """The first line of `segue list`, or of those that can be read."""
    from segue.cli._sources import find_sources, open_index, parse_filters
    from segue.queries import MOST

    sources = find_sources(library)
    filters = parse_filters(sources, {})
    with open_index(sources, with_text=False) as index:
        entries = index.entries(filters, limit=1)
        if skips_damaged and entries and entries[0].damage:
            entries = index.entries(filters, limit=MOST)
    for entry in entries:
        if not entry.damage or not skips_damaged:
            return entry
        output.warn(f"{entry.id} is damaged ({entry.damage}); for details: segue verify {entry.id}")
    return None


def _recorded(text: str) -> RecentSession:
    if text == options.PREVIOUS:
        if (used := recorded_session()) is None:
            raise NotFoundError("no session was used in this terminal yet", hint="segue list shows all")
        return used
    lines, number = recorded_list(), int(text[1:])
    if lines is None:
        raise NotFoundError("no sessions were listed in this terminal yet", hint="run segue list first")
    if not 1 <= number <= len(lines):
        count = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
        raise NotFoundError(f"the last list in this terminal had {count}, and no line {number}", hint="list again")
    if not lines[number - 1].id:
        raise NotFoundError(f"the session in line {number} was deleted", hint="segue list shows all")
    return lines[number - 1]


def _open(library: Library, wanted: RecentSession) -> FoundSession:
    """The session in its source. SessionNotFoundError if it is gone."""
    from segue.console.settings import find_store
    from segue.registry import SCHEMES

    if wanted.source == library.store.url:
        own = library
    elif options.is_store_option_given():
        raise UsageError(f"session {wanted.id} is in {wanted.source}, not in {library.store.url}", hint="omit --store")
    elif (scheme := wanted.source.partition(":")[0]) in SCHEMES:
        own = options.open_library(find_store(wanted.source))
        click.get_current_context().call_on_close(own.close)
    else:
        from segue.cli._external import get_external

        return FoundSession(library, wanted.id, get_external(scheme, wanted.id))
    own.store.revision(wanted.id)
    return FoundSession(own, wanted.id)


# ── Sessions of AI tools ─────────────────────────────────────────────────────────────────────────────────────────────


def _import(library: Library, external: ExternalMatch) -> str:
    """The id of its copy in the store, brought up to date; the user is asked before the first copy is made."""
    from segue.cli._external import import_match, is_imported

    what = f"{external.id} is a session of {external.tool}"
    if not is_imported(library, external):
        if not output.stdin_is_tty():
            command = ["segue", "import", external.tool, *(("--",) if external.id.startswith("-") else ()), external.id]
            raise UsageError(f"{what}, and not in the store yet", hint=f"import it first: {shlex.join(command)}")
        if not output.confirm(f"{what}. Import it into the store first?", yes=False):
            output.warn("nothing was imported or changed")
            raise click.exceptions.Exit(Exit.DECLINED)
    return import_match(library, external)


def _nothing(library: Library) -> NotFoundError:
    return NotFoundError(f"there are no sessions in {library.store.url}", hint="start one with: segue chat")
