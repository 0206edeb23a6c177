"""Importing sessions from files: exports in any format, and journals. What is in the store already is not added again.

A file never overwrites anything. If its session is in the store, what the file has in addition is appended, as long as
both are the same conversation; if they were continued differently, nothing is changed.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.clock import utc_now
from segue.durable.kernel import storage_error
from segue.durable.small_file import UnusableFileError, read_small_file
from segue.errors import ConflictError, NotFoundError, SegueError, UsageError
from segue.formats.exported import BadExportError, ExportedSession, read_export
from segue.ids import check_id, is_id
from segue.model import (
    MAIN,
    BranchCreated,
    BranchSwitched,
    Metadata,
    OverridesChanged,
    PresetChosen,
    Record,
    ScopeChanged,
    StatusChanged,
    SummaryWritten,
    TagsChanged,
    TitleChanged,
    Turn,
    accept_first,
    content_of,
    fold,
    head_of,
)
from segue.store import FORMAT_VERSION
from segue.stores.journal.parser import Parser
from segue.stores.journal.store import JournalStore
from segue.transfer.convert import copy, find_blobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.model import Event, Head, Session
    from segue.store import Store

LIMIT_BYTES = 256 << 20
_TEXTS = (".md", ".markdown")
ENDINGS = (".json", ".jsonl", *_TEXTS)
"""The names of files that may contain a session."""
_SETTINGS = (
    StatusChanged
    | TitleChanged
    | TagsChanged
    | SummaryWritten
    | ScopeChanged
    | PresetChosen
    | OverridesChanged
    | BranchSwitched
)
"""Events of which the last one counts."""


class SessionDivergedError(ConflictError):
    """A session and a copy of it were both continued, or they are two sessions with the same id."""

    def __init__(self, session_id: str, *, is_other: bool = False) -> None:
        how = "is another session" if is_other else "was continued differently"
        super().__init__(f"session {session_id} in the store {how}", hint="import this one under another id")


class ImportedFile(Struct, frozen=True, kw_only=True):
    """The result of importing a file."""

    file: str
    session_id: str
    is_new: bool
    turns: int
    """How many turns are new."""
    is_whole: bool
    """Whether the file contains the whole session, and not only the turns of one branch."""


class UnimportedFile(Struct, frozen=True, kw_only=True):
    """A file that was not imported."""

    file: str
    error: SegueError
    is_session: bool = True
    """False for Markdown that is not an export, as any folder may contain."""


def import_file(path: str, store: Store, *, id: str = "") -> ImportedFile:
    """Import the session in a file, under its own id or another one. UsageError if it cannot be read."""
    try:
        data = read_small_file(path, size_bytes=LIMIT_BYTES)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}") from None
    except UnusableFileError as error:
        raise UsageError(f"{path}: {error}") from None
    return import_data(data, store, name=path, id=id)


def import_data(data: bytes, store: Store, *, name: str, id: str = "") -> ImportedFile:
    """Like `import_file`, for the content of a file, which messages call `name`."""
    if len(data) > LIMIT_BYTES:
        raise UsageError(f"{name}: it is larger than {LIMIT_BYTES >> 20} MB")
    try:
        exported = _read(data, name)
        source = _FileSource(exported, check_id(id) if id else "", name)
    except (BadExportError, SegueError) as error:
        raise UsageError(f"{name}: {error}; nothing was imported") from None
    except RecursionError:
        raise UsageError(f"{name}: it is nested too deeply; nothing was imported") from None
    session_id, there = source.id, source.session
    try:
        here = store.load(session_id)
    except NotFoundError:
        copy(source, session_id, store)
        turns = sum(branch.own for branch in there.branches.values())
        return ImportedFile(file=name, session_id=session_id, is_new=True, turns=turns, is_whole=exported.is_whole)
    turns = _merge(source, store, here, is_whole=exported.is_whole)
    return ImportedFile(file=name, session_id=session_id, is_new=False, turns=turns, is_whole=exported.is_whole)


def is_contained(data: bytes, store: Store, session_id: str) -> bool:
    """Whether a file contains this session, and nothing that the session in the store does not have."""
    try:
        exported = _read(data, f"{session_id}.json")
        first = exported.events[0]
        if not isinstance(first, Metadata) or first.session_id != session_id:
            return False
        source, here = _FileSource(exported, "", ""), store.load(session_id)
        return not _missing(source, store, here) if exported.is_whole else _is_within(source.session, here)
    except (BadExportError, RecursionError, SessionDivergedError, UsageError):
        return False


def import_folder(folder: str, store: Store) -> Iterator[ImportedFile | UnimportedFile]:
    """Import every session file of a folder, in the order of their names; a failure affects only itself."""
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.suffix in ENDINGS and path.name[0] != ".")
    except OSError as error:
        raise storage_error(error, folder, "read") from None
    for path in paths:
        try:
            yield import_file(str(path), store)
        except SegueError as error:
            is_session = path.suffix not in _TEXTS or not isinstance(error, UsageError)
            yield UnimportedFile(file=str(path), error=error, is_session=is_session)


def _read(data: bytes, name: str) -> ExportedSession:
    """The session of an export or of a journal, whose attachments are next to it."""
    path = Path(name)
    own_id = path.stem if path.suffix and is_id(path.stem) else ""
    if not data.startswith(b'{"type":"metadata"') and not data.startswith(b'{"type": "metadata"'):
        return read_export(data, id=own_id or f"import-{sha256(data).hexdigest()[:12]}", now=utc_now())
    parser = Parser(own_id, name)
    whole, newline, rest = data.rpartition(b"\n")
    parser.feed(whole + newline)
    parser.finish(rest)
    if parser.damages:
        raise BadExportError(f"it is damaged: {parser.damages[0].reason} (line {parser.damages[0].line})")
    first = parser.events[0] if parser.events else None
    if not isinstance(first, Metadata):
        raise BadExportError("it does not begin with a session")
    events = [replace(first, session_id=own_id or first.session_id), *parser.events[1:]]
    blobs = find_blobs(JournalStore(str(path.parent)), own_id, events) if own_id else {}
    return ExportedSession(events=events, is_whole=True, blobs=blobs)


class _FileSource:
    """The session of a file, whose events are all checked before anything is written elsewhere."""

    def __init__(self, exported: ExportedSession, id: str, name: str) -> None:
        first, *rest = exported.events
        if not isinstance(first, Metadata):
            raise BadExportError("it does not begin with a session")
        if first.version > FORMAT_VERSION:
            raise BadExportError(f"it was written by a newer version (format {first.version})")
        for blob, data in exported.blobs.items():
            if blob != f"sha256:{sha256(data).hexdigest()}":
                raise BadExportError(f"its attachment {blob!a:.80} has another content")
        self.id = check_id(id or first.session_id)
        self.url = name
        self.session = fold(accept_first(self.id, [replace(first, session_id=self.id), *rest]).new)
        self._events = exported.events
        self._blobs = exported.blobs

    def read(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        """The events, numbered in their order."""
        events = (replace(event, seq=seq) for seq, event in enumerate(self._events, start=1) if seq > after)
        return (replace(event, session_id=session_id) if isinstance(event, Metadata) else event for event in events)

    def head(self, session_id: str) -> Head:
        return replace(head_of(self.session), id=session_id)

    def get_blob(self, session_id: str, name: str) -> bytes:
        if name not in self._blobs:
            raise NotFoundError(f"session {session_id} has no blob {name}")
        return self._blobs[name]


def _merge(source: _FileSource, store: Store, here: Session, *, is_whole: bool) -> int:
    """Append what the file has and the store has not; the number of new turns."""
    there = source.session
    if not is_whole and _is_within(there, here):
        return 0
    if not _missing(source, store, here, is_whole=is_whole) and not _missing_blobs(source, store, there.id):
        return 0
    with store.open(there.id) as writer:
        here = store.load(there.id)  # it may have changed before it was opened
        missing = _missing(source, store, here, is_whole=is_whole)
        for data in _missing_blobs(source, store, there.id):
            writer.put_blob(data)
        if missing:
            writer.append(*missing)
    return sum(isinstance(event, Turn) for event in missing)


def _is_within(there: Session, here: Session) -> bool:
    """Whether the turns are the beginning of a branch: Markdown has no ids."""
    turns = _texts(there.turns)
    return any(_texts(here.path(name)[: len(turns)]) == turns for name in here.branches)


def _texts(turns: Iterable[Turn]) -> list[tuple[str, bytes]]:
    """Roles and texts, as a file of text has them: lone surrogates are escapes there."""
    return [(turn.role, turn.content.encode("utf-8", "backslashreplace")) for turn in turns]


def _missing(source: _FileSource, store: Store, here: Session, *, is_whole: bool = True) -> list[Event]:
    """The events to append, in order. SessionDivergedError if the two are not the same conversation."""
    there = source.session
    known = {event.id: event for event in store.read(here.id)}
    is_newer = there.updated_at > here.updated_at
    missing: list[Event] = []
    for event in source.read(there.id):
        same = known.get(event.id)
        match event:
            case Metadata():
                if is_whole and event.created_at != here.created_at:
                    raise SessionDivergedError(here.id, is_other=True)
            case BranchCreated() if event.name in here.branches:
                branch = here.branches[event.name]
                if (branch.parent or MAIN, branch.at) != (event.parent, event.at):
                    raise SessionDivergedError(here.id)
            case _ if same is not None:
                if content_of(same) != content_of(event):
                    raise SessionDivergedError(here.id)
            case _ if isinstance(event, _SETTINGS):
                missing += [event] if is_newer and not _has_setting(event, here) else []
            case _:
                missing.append(event)
    for name, turns in there.own_turns.items():
        own, ids = [turn.id for turn in here.own_turns.get(name, ())], [turn.id for turn in turns]
        shared = min(len(own), len(ids))
        if own[:shared] != ids[:shared]:
            raise SessionDivergedError(here.id)
    _check_same_records(known.values(), source.read(there.id), here.id)
    if is_newer and is_whole:
        missing += _renamed(there, here, missing)
    return missing


def _check_same_records(here: Iterable[Event], there: Iterable[Event], session_id: str) -> None:
    """One list of records continues the other: a program builds each on those before it."""
    known, others = ([event.id for event in events if isinstance(event, Record)] for events in (here, there))
    shared = min(len(known), len(others))
    if known[:shared] != others[:shared]:
        raise SessionDivergedError(session_id)


def _has_setting(event: Event, here: Session) -> bool:
    match event:
        case StatusChanged():
            return event.status == here.status
        case TitleChanged():
            return event.title == here.title
        case TagsChanged():
            return event.tags == here.tags
        case SummaryWritten():
            return event.content == here.summary
        case ScopeChanged():
            return event.scope == here.scope
        case OverridesChanged():
            return event.values == here.overrides
        case BranchSwitched():
            return event.branch == here.branch
    return False


def _renamed(there: Session, here: Session, missing: list[Event]) -> Iterator[Event]:
    """The title and the tags of an export, which are in its metadata."""
    moment, mark = there.updated_at, f"{there.seq}:{sha256(repr((there.title, there.tags)).encode()).hexdigest()[:16]}"
    if there.title != here.title and not any(isinstance(event, TitleChanged) for event in missing):
        yield TitleChanged(title=there.title, timestamp=moment, id=f"export:title:{mark}")
    if there.tags != here.tags and not any(isinstance(event, TagsChanged) for event in missing):
        yield TagsChanged(tags=there.tags, timestamp=moment, id=f"export:tags:{mark}")


def _missing_blobs(source: _FileSource, store: Store, session_id: str) -> list[bytes]:
    events = list(source.read(session_id))
    here = find_blobs(store, session_id, events)
    return [data for name, data in find_blobs(source, session_id, events).items() if name not in here]
