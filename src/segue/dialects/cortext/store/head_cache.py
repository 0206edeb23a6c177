"""Heads of many conversations: only session.json files that have changed since the last time are read."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from segue.dialects.cortext.format import (
    HIDDEN,
    MESSAGES,
    SESSION,
    are_plain_lines,
    is_day,
    join_id,
    parse_folder_type,
    parse_messages_size,
    split_id,
)
from segue.dialects.cortext.store.conversation import ConversationFiles
from segue.durable.folder import is_settled
from segue.durable.head_cache import HeadCache, read_mtime
from segue.durable.kernel import storage_error
from segue.formats.sealed import read_sealed_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segue.durable.folder import Folder
    from segue.durable.head_cache import CachedHead
    from segue.model import Head

CONVERSATIONS = "conversations"
_INSIDE = f"/{HIDDEN}/{SESSION}"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_END_BYTES = 4096


class _Days(NamedTuple):
    """The folders of days, valid until one is created or removed."""

    mtime_ns: int
    names: list[str]


class _Day(NamedTuple):
    """The folders of a day, valid until one is created or removed."""

    inode: int
    mtime_ns: int
    names: list[tuple[str, str]]
    """Each with the path of its session.json, relative to the folder of all days."""
    seen: dict[str, CachedHead]


class CortextHeadCache(HeadCache):
    suffix = _INSIDE

    def __init__(self, folder: Folder, is_alive: Callable[[str], bool], path_of: Callable[[str], str]) -> None:
        super().__init__(folder, is_alive, path_of)
        self._conversations = folder.sub(CONVERSATIONS)
        self._days = _Days(0, [])
        self._known: dict[str, _Day] = {}
        self._real: dict[str, tuple[int, ...]] = {}
        self._sizes: dict[str, int] = {}  # of messages.jsonl, if session.json alone does not tell what changed

    def ids(self) -> Iterator[str]:
        return (session_id for session_id, _ in self.revisions())

    def revisions(self) -> Iterator[tuple[str, str]]:
        fd = self._open()
        if fd < 0:
            return
        real = self._real
        try:
            for day in self._list_days(fd):
                for name, inside in self._list_folders(day, fd).names:
                    session = _signature(inside, fd)
                    # That the folder is not a link is checked once: a link would lead to another session.json.
                    if real.get(inside) != session[:1] or not session:
                        if not _is_session(inside, fd):
                            continue
                        real[inside] = session[:1]
                    if (session_id := join_id(day, name)) is not None:
                        yield session_id, revision_of(session, _signature(inside.removesuffix(SESSION) + MESSAGES, fd))
        finally:
            self._close(fd)

    def heads(self) -> Iterator[Head]:
        fd = self._open()
        if fd < 0:
            return
        try:
            for day in self._list_days(fd):
                for head in self._heads_of(day, fd):
                    yield head if head.status != "active" else self.with_liveness(head)
        finally:
            self._close(fd)

    def forget(self) -> None:
        super().forget()
        self._days = _Days(0, [])
        self._known.clear()
        self._real.clear()
        self._sizes.clear()

    def read_head_fast(self, fd: int, size: int, session_id: str) -> Head | None:
        data = self._folder.kernel.pread(fd, size, 0)
        head = read_sealed_head(data, session_id)
        if head is None:
            return None
        accounted = parse_messages_size(data)
        self._sizes.pop(session_id, None)
        if head.status == "active":
            self._sizes[session_id] = accounted
        return head if self._is_sound(session_id, accounted) else None

    def with_mtime(self, head: Head, mtime_ns: int) -> Head:
        return super().with_mtime(head, max([mtime_ns, *map(read_mtime, files_of(self._folder.path, head.id)[1:])]))

    def read_head(self, session_id: str) -> Head | str:
        folder = self._conversations
        for name in (*split_id(session_id), HIDDEN):
            folder = folder.sub(name)
        conversation = ConversationFiles(folder, session_id)
        head = conversation.head()
        self._sizes[session_id] = conversation.size
        return head

    def _heads_of(self, day: str, fd: int) -> list[Head]:
        """The heads as recorded in the files."""
        folders = self._list_folders(day, fd)
        find, sizes, look_at = folders.seen.get, self._sizes, os.stat
        heads: list[Head] = []
        for name, inside in folders.names:
            known = find(name)
            try:
                found = look_at(inside, dir_fd=fd, follow_symlinks=False)
                if (
                    known is not None
                    and found.st_mtime_ns == known[2]
                    and found.st_ino == known[0]
                    and found.st_size == known[1]
                    and (not sizes or self._is_settled(known[3].id, inside, fd))
                ):
                    heads.append(known[3])
                    continue
            except FileNotFoundError:
                continue  # not a conversation, or deleted
            except OSError:
                pass  # `refresh` finds out
            session_id = join_id(day, name)
            if session_id is not None and _is_session(inside, fd):
                known = self.refresh(folders.seen, name, session_id, f"{self._conversations.path}/{inside}")
                if known is not None:
                    heads.append(known[3])
        return heads

    def _is_settled(self, session_id: str, inside: str, fd: int) -> bool:
        """Whether messages.jsonl is unchanged, if a writer may have appended to it and died before session.json."""
        size = self._sizes.get(session_id)
        if size is None:
            return True
        with suppress(OSError):
            messages = inside.removesuffix(SESSION) + MESSAGES
            return size == os.stat(messages, dir_fd=fd, follow_symlinks=False).st_size
        return size == 0

    def _is_sound(self, session_id: str, accounted: int) -> bool:
        """Whether messages.jsonl is as long as session.json says, and its end as we wrote it."""
        kernel = self._folder.kernel
        path = "/".join((self._conversations.path, *split_id(session_id), HIDDEN, MESSAGES))
        fd = kernel.open(path, _FLAGS)
        try:
            start = max(0, accounted - _END_BYTES)
            data = kernel.pread(fd, accounted - start + 1, start)
        finally:
            with suppress(OSError):
                kernel.close(fd)
        first = data.find(b"\n") + 1 if start else 0
        is_whole = len(data) == accounted - start and (not data or data.endswith(b"\n"))
        return is_whole and are_plain_lines(data[first:])

    def _list_days(self, fd: int) -> list[str]:
        mtime_ns = os.fstat(fd).st_mtime_ns
        if self._days.mtime_ns != mtime_ns:
            with os.scandir(fd) as entries:
                names = [entry.name for entry in entries if is_day(entry.name) and entry.is_dir(follow_symlinks=False)]
            self._days = _Days(mtime_ns if is_settled(mtime_ns) else 0, names)
        return self._days.names

    def _list_folders(self, day: str, fd: int) -> _Day:
        path = f"{self._conversations.path}/{day}"
        known = self._known.get(day)
        try:
            found = os.stat(day, dir_fd=fd, follow_symlinks=False)
            if known is not None and (known.inode, known.mtime_ns) == (found.st_ino, found.st_mtime_ns):
                return known
            with os.scandir(path) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return _Day(0, 0, [], {})  # removed meanwhile
        except OSError as error:
            raise storage_error(error, path, "list") from error
        seen = known.seen if known is not None else {}
        pairs = [(name, f"{day}/{name}{_INSIDE}") for name in names if join_id(day, name)]
        mtime_ns = found.st_mtime_ns if is_settled(found.st_mtime_ns) else 0
        self._known[day] = _Day(found.st_ino, mtime_ns, pairs, {name: seen[name] for name in names if name in seen})
        return self._known[day]

    def _open(self) -> int:
        """The folder of all days; -1 if there is none yet."""
        if not self._conversations.exists():
            return -1
        path = self._conversations.path
        try:
            return self._folder.kernel.open(path, _FOLDER_FLAGS)
        except OSError as error:
            raise storage_error(error, path, "list") from error

    def _close(self, fd: int) -> None:
        with suppress(OSError):
            self._folder.kernel.close(fd)


def _is_session(inside: str, fd: int) -> bool:
    """Whether there is a session.json, and not behind a link; also if it is not accessible."""
    try:
        hidden = os.stat(inside.removesuffix(f"/{SESSION}"), dir_fd=fd, follow_symlinks=False)
        os.stat(inside, dir_fd=fd, follow_symlinks=False)
    except PermissionError:
        return True
    except OSError:
        return False
    return stat.S_ISDIR(hidden.st_mode)


def files_of(root: str, session_id: str) -> tuple[str, str, str]:
    """The paths of session.json, messages.jsonl and the document that users edit."""
    day, name = split_id(session_id)
    folder = f"{root}/{CONVERSATIONS}/{day}/{name}"
    return f"{folder}/{HIDDEN}/{SESSION}", f"{folder}/{HIDDEN}/{MESSAGES}", f"{folder}/{parse_folder_type(name)}.md"


def revision_of(session: tuple[int, ...], messages: tuple[int, ...]) -> str:
    """The revision of a session from the signatures of both files."""
    return "-".join(map(str, (*session, *messages)))


def _signature(path: str, fd: int) -> tuple[int, ...]:
    """Like `read_signature`, for many files; empty if it is missing or not accessible."""
    try:
        found = os.stat(path, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
