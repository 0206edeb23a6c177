"""The folders of one session: read all at once, and each file written whole."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from segue.dialects.gptel.format.assembly import (
    BranchFiles,
    Files,
    assemble_session,
    count_edits,
    find_leftover_branches,
    removed_branches,
)
from segue.dialects.gptel.format.conversation import is_visible
from segue.dialects.gptel.format.fields import find_fields, format_utc, has_checksum, with_checksum, write_fields
from segue.dialects.gptel.format.footer import read_mark
from segue.dialects.gptel.format.names import (
    ACTIVITY,
    BRANCH_METADATA,
    BRANCHES,
    CURRENT,
    EVENTS,
    LEGACY_METADATA,
    LINK,
    METADATA,
    OURS,
    SCOPE,
    SESSION,
    SYSTEM_PROMPTS,
    TIMES,
    TOOLS,
)
from segue.dialects.gptel.format.org import with_call, with_prompts, with_tools
from segue.dialects.gptel.format.renaming import renamed_branches
from segue.dialects.gptel.format.said import SaidTimes, parse_said_times
from segue.dialects.gptel.format.sidecar import read_sidecar
from segue.durable.exchange import exchange
from segue.durable.folder import TEMPORARY
from segue.durable.kernel import storage_error
from segue.errors import Damage, StorageError
from segue.ids import is_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from segue.durable.folder import Folder
    from segue.model import Event, JsonObject, Overview, Session, Turn

_TEXTS = (SESSION, SCOPE)
_PATIENCE_SECONDS, _GLANCE_SECONDS = 0.2, 0.01
_FRESH_NANOSECONDS = 1_000_000_000
_LAST = re.compile(rb'"seq":(\d{1,18}),"sum":"[0-9a-f]{8}"\}\n\Z')
Signature = tuple[tuple[str, int, int, int], ...]
"""Name, inode, size and mtime of each file with content of the session."""

Sum = tuple[int, int]
"""Size and CRC-32 of a file."""

_REPLACED = ".replaced-"
"""The prefix of a session.md that was replaced and not read yet."""


class TreeReading(NamedTuple):
    """What can be read of a session, and what cannot."""

    events: list[Event]
    damages: tuple[Damage, ...]
    is_changed: bool
    """Whether the files contain more than our events: users edited them, or we never wrote them."""
    edits: int
    complete: int
    """The size of the complete part of our events."""
    size_bytes: int
    texts: Signature
    """The signature just before the files were read."""
    sums: Mapping[str, Sum] = {}
    """The checksum of the session.md of each branch."""
    chosen: Mapping[str, Mapping[str, object]] = {}
    """Variables that the user set in branches that are not active; see `assembly.Assembled`."""


class Replaced(NamedTuple):
    """A session.md that was replaced by another."""

    branch: str
    name: str
    """The name of the file in the folder of the branch."""
    data: bytes


def file_checksum(data: bytes) -> Sum:
    return len(data), crc32(data)


class Tree:
    """The folder of a session."""

    def __init__(self, root: Folder, name: str) -> None:
        self.name = name
        self.folder = root.sub(name)
        self.ours = self.folder.sub(OURS)
        self._branches = self.folder.sub(BRANCHES)

    def branch(self, name: str) -> Folder:
        return self._branches.sub(name)

    def exists(self) -> bool:
        return self._branches.exists()

    def branch_names(self) -> list[str]:
        """The branches, sorted; a link is not a branch."""
        found = self._branches.scan() if self._branches.exists() else iter(())
        return sorted(entry.name for entry in found if is_id(entry.name) and entry.is_dir(follow_symlinks=False))

    def signature(self) -> Signature:
        """The signature of everything; the first is that of our events, if there are any."""
        return (*self._signatures([f"{self.ours.path}/{EVENTS}"]), *self.texts())

    def texts(self) -> Signature:
        """The signature of the files that users may change."""
        names = self.branch_names()
        return tuple(self._signatures(f"{self._branches.path}/{name}/{file}" for name in names for file in _TEXTS))

    def _signatures(self, paths: Iterable[str]) -> Iterator[tuple[str, int, int, int]]:
        for path in paths:
            try:
                found = os.lstat(path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise storage_error(error, path, "look at") from error
            yield path, found.st_ino, found.st_size, found.st_mtime_ns

    def read(self, session_id: str, instead: Mapping[str, bytes] | None = None) -> TreeReading:
        """Read the session; never waits, never writes. `instead` are texts that replace those of some branches."""
        texts = self.texts()
        data = self.find(self.ours, EVENTS) or b""
        events, damages, complete = read_sidecar(data, session_id, f"{OURS}/{EVENTS}")
        edits = count_edits(events)
        if damages or (data and not events):
            lost = [] if damages else [Damage(f"{OURS}/{EVENTS}", "nothing of it is whole")]
            damages = [*damages, *lost]
            return TreeReading(events, tuple(damages), False, edits, complete, len(data), texts)  # noqa: FBT003
        files = self.files(is_new=not events)
        sums = {name: file_checksum(branch.session) for name, branch in files.branches.items()}
        replaced = {name: files.branches[name]._replace(session=one) for name, one in (instead or {}).items()}
        found = assemble_session(session_id, events, files._replace(branches={**files.branches, **replaced}))
        rest = complete, len(data), texts, sums, found.chosen
        return TreeReading(found.events, found.damages, found.is_changed, found.edits, *rest)

    def read_finished(self, session_id: str) -> TreeReading:
        """The same for a writer, which waits a moment if an editor may be saving right now."""
        reading = self.read(session_id)
        until = time.monotonic() + _PATIENCE_SECONDS
        while reading.damages and self._is_fresh(reading.texts) and time.monotonic() < until:
            time.sleep(_GLANCE_SECONDS)
            reading = self.read(session_id)
        return reading

    def _is_fresh(self, texts: Signature) -> bool:
        now = time.time_ns()
        return any(abs(now - mtime_ns) < _FRESH_NANOSECONDS for *_, mtime_ns in texts)

    def last_seq(self) -> int:
        """The number of the last of our events, read from the end; 0 if there are none, or unknown."""
        found = _LAST.search(self.find(self.ours, EVENTS) or b"")
        return int(found[1]) if found else 0

    def files(self, *, is_new: bool = False) -> Files:
        """All files. `is_new` means that there are no events: then a scope that we wrote counts as well."""
        branches = {}
        for name in self.branch_names():
            folder = self.branch(name)
            scope = self.find(folder, SCOPE)
            branches[name] = BranchFiles(
                session=self.find(folder, SESSION) or b"",
                lineage=self.find(folder, BRANCH_METADATA),
                scope=None if scope is None or (has_checksum(scope) and not is_new) else scope,
            )
        current = self.current()
        metadata = None
        if current in branches:
            folder = self.branch(current)
            metadata = self.find(folder, METADATA) or self.find(folder, LEGACY_METADATA)
        return Files(branches, current, metadata, self._said_times)

    def _said_times(self, name: str) -> SaidTimes:
        """When the text of a branch was saved, and when its parts were said as far as the editor noted it."""
        folder = self.branch(name)
        try:
            saved_ns = os.lstat(f"{folder.path}/{SESSION}").st_mtime_ns
        except OSError:
            return SaidTimes()
        return parse_said_times(self.find(folder, TIMES) or b"", saved_ns)

    def current(self) -> str:
        """The branch that the link names; empty if it leads anywhere else."""
        target = self.folder.target(CURRENT)
        name = target.removeprefix(LINK).rstrip("/")
        return name if target.startswith(LINK) and is_id(name) else ""

    def late(self, session: Session) -> list[str]:
        """The branches whose files do not show the whole session, since a writer died before it wrote them."""
        found = []
        for name in session.branches:
            mark = read_mark(self.find(self.branch(name), SESSION) or b"")
            path = [turn for turn in session.path(name) if is_visible(turn)]
            shown = mark.upto.seq if mark is not None else 0
            if (path and path[-1].seq > shown) or not self.branch(name).exists():
                found.append(name)
        return found or ([session.branch] if self.current() != session.branch else [])

    def find(self, folder: Folder, name: str) -> bytes | None:
        try:
            return folder.read(name)
        except FileNotFoundError:
            return None

    # ── Writing: no append depends on what is written here ───────────────────────────────────────────────────────────

    def write_branch(self, name: str, data: bytes, overview: Overview, cut: int) -> Replaced | None:
        """Write the text of a branch; for a new one, everything at once, so that no reader finds half a folder.

        `cut` is the position in the text of its parent at which it goes another way. What was replaced is there until
        it is discarded.
        """
        if self.branch(name).exists():
            return self.write_session(name, data)
        self._branches.make()
        temporary = f"{TEMPORARY}{os.urandom(8).hex()}"
        new = self._branches.sub(temporary)
        parent = overview.branches[name].parent
        scope = self.find(self.branch(parent), SCOPE) if parent else None
        try:
            new.make()
            new.replace(SESSION, data)
            if scope is not None:
                new.replace(SCOPE, scope)
            self._describe(new, overview, name, cut)
            self._branches.rename(temporary, name)
        except BaseException:
            discard(new)
            raise
        return None

    def remove_branch(self, name: str) -> None:
        """Rename the folder, so that it disappears at once, then remove it file by file."""
        temporary = f"{TEMPORARY}{os.urandom(8).hex()}"
        self._branches.rename(name, temporary)
        remove(self._branches.sub(temporary))

    def rename_branch(self, old: str, new: str) -> None:
        self._branches.rename(old, new)

    def sweep(self, events: Sequence[Event]) -> None:
        """Finish what a killed writer left while it made, renamed or removed a branch. The caller is the writer."""
        for entry in list(self._branches.scan()):
            if entry.name.startswith(TEMPORARY) and entry.is_dir(follow_symlinks=False):
                remove(self._branches.sub(entry.name))
        marks = {name: read_mark(self.find(self.branch(name), SESSION) or b"") for name in removed_branches(events)}
        renamed = renamed_branches(events)
        for name in find_leftover_branches(events, marks):
            new = renamed.get(name, "")
            if is_id(new) and not self.branch(new).exists():
                self.rename_branch(name, new)
            else:
                self.remove_branch(name)

    def is_saved(self, name: str) -> bool:
        """Whether there is anything in the file, even if it is only a footer."""
        return bool(self.find(self.branch(name), SESSION))

    def write_session(self, name: str, data: bytes) -> Replaced | None:
        """An editor may save at any moment: what it wrote is not lost, but returned as replaced."""
        folder = self.branch(name)
        folder.make()
        aside = f"{_REPLACED}{os.urandom(8).hex()}"
        found = exchange(folder, SESSION, data, aside)
        return Replaced(name, aside, found) if found is not None else None

    def replaced(self) -> Iterator[Replaced]:
        """What writers had replaced, or were about to write, when they were killed."""
        for name in self.branch_names():
            folder = self.branch(name)
            for entry in sorted(folder.scan(), key=lambda entry: entry.name):
                if entry.name.startswith(_REPLACED) and entry.is_file(follow_symlinks=False):
                    yield Replaced(name, entry.name, folder.read(entry.name))

    def discard(self, replaced: Replaced) -> None:
        self.branch(replaced.branch).discard(replaced.name)

    def write_about(self, overview: Overview, name: str, cut: int) -> None:
        """Write metadata.yml and branch-metadata.yml, and scope.yml unless the user has written it."""
        folder = self.branch(name)
        folder.make()
        self._describe(folder, overview, name, cut)

    def _describe(self, folder: Folder, overview: Overview, name: str, cut: int) -> None:
        branch = overview.branches[name]
        about: JsonObject = {
            "session_id": _own_id(overview),
            "created": format_utc(overview.created_at),
            "updated": format_utc(overview.updated_at),
            "preset": (overview.preset.name if overview.preset is not None else "") or overview.agent,
        }
        lineage: JsonObject = {"parent_branch": branch.parent or None, "created": format_utc(branch.created_at)}
        if branch.parent:
            lineage |= {"branch_point_turn": branch.at, "branch_point_position": cut}
        self._write_fields(folder, METADATA, about)
        self._write_fields(folder, BRANCH_METADATA, lineage)
        scope = self.find(folder, SCOPE)
        if overview.scope is not None and (scope is None or has_checksum(scope)):
            self._write_fields(folder, SCOPE, overview.scope)

    def _write_fields(self, folder: Folder, name: str, fields: JsonObject) -> None:
        """If another program wrote the file, its fields stay; a file that is not YAML stays unchanged."""
        old = self.find(folder, name)
        data = with_checksum(write_fields(fields))
        if old is not None and not has_checksum(old):
            theirs = find_fields(old)
            if theirs is None or theirs | fields == theirs:
                return
            data = write_fields(theirs | fields)
        if data != old:
            folder.replace(name, data)

    def write_logs(self, name: str, turns: Iterable[Turn], events: Iterable[Event]) -> None:
        self._extend(name, TOOLS, lambda old: with_tools(old, turns))
        self._extend(name, SYSTEM_PROMPTS, lambda old: with_prompts(old, events))

    def log_call(self, branch: str, name: str, arguments: object, result: str, moment: datetime) -> None:
        """Log a call that the editor made. The caller holds the lock of the session."""
        self._extend(branch, TOOLS, lambda old: with_call(old, name, arguments, result, moment))

    def _extend(self, name: str, file: str, add: Callable[[str], str]) -> None:
        folder = self.branch(name)
        old = (self.find(folder, file) or b"").decode("utf-8", "surrogateescape")
        if (new := add(old)) != old:
            folder.replace(file, new.encode("utf-8", "surrogateescape"))

    def point(self, branch: str) -> None:
        if self.folder.target(CURRENT) != LINK + branch:
            self.folder.point(CURRENT, LINK + branch)


def _own_id(overview: Overview) -> str:
    """The name of its folder; inside an activity, the id that it was given."""
    told = overview.extra.get("gptel") if overview.id == ACTIVITY else None
    given = told.get("session_id") if isinstance(told, dict) else None
    return given if isinstance(given, str) and is_id(given) else overview.id


def remove(folder: Folder) -> None:
    """Remove a folder with all its content; a link is removed, not followed."""
    for entry in list(folder.scan()):
        if entry.is_dir(follow_symlinks=False):
            remove(folder.sub(entry.name))
    folder.remove_tree()


def discard(folder: Folder) -> None:
    """The same, ignoring a failure: it does no harm if it stays."""
    with suppress(StorageError, OSError):
        remove(folder)


def inode_of(folder: Folder) -> int:
    """The inode of a folder; 0 if it does not exist."""
    with suppress(OSError):
        found = os.lstat(folder.path)
        return found.st_ino if stat.S_ISDIR(found.st_mode) else 0
    return 0
