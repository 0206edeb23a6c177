"""The permissions of one session in any store: checked before each tool call, and widened by the user."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from segue.clock import utc_now
from segue.durable.folder import Folder
from segue.durable.lock import WriterLock
from segue.errors import ConflictError, UntrustedError, UsageError
from segue.model import ScopeChanged
from segue.permissions.grants import OneTimeGrants
from segue.permissions.guard import Guard, Verdict
from segue.permissions.profiles import (
    DENY_ALL,
    ResolvedScope,
    decode_scope,
    invalid_scope,
    parse_scope_file,
    read_scope_text,
)
from segue.permissions.protected import ProtectedPaths
from segue.permissions.scope import InvalidScopeError, fields_of, parse_scope, with_pattern, write_scope
from segue.permissions.scope_edits import add_pattern
from segue.store import WAIT_SECONDS, Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from segue.model import JsonObject
    from segue.permissions.guard import Action
    from segue.permissions.scope import Scope
    from segue.store import Store, UserFile
    from segue.trust import Marks

ALLOW_LISTS: dict[Action, str] = {"read": "read", "write": "write", "shell": "shell_allow"}
"""The list of a scope that allows each action."""
MARK = "scope"
"""The name of the trust mark of a session's scope."""


class _Snapshot(NamedTuple):
    scope: ResolvedScope
    recorded: ResolvedScope | None
    """The scope that the session recorded at that time."""


class Permissions:
    """The permissions of one session. Between two checks only the last compiled scope is remembered.

    `state` is a folder of this machine for grants and locks. `fallback` is the scope of a session that records none.
    `record` writes a scope into a session that is already open for writing. `marks` tell which scope of the session was
    set or agreed to here: any other is ignored. Without `marks`, the scope of the session always applies. `protected`
    are the paths that no scope allows. With `accept` the scope is held in memory, as for a conversation: a change by
    another process narrows it at once, and widens it only if it was made by this user or if `accept` agrees.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        *,
        project_root: str,
        home: str,
        state: str,
        fallback: Callable[[], ResolvedScope] = lambda: DENY_ALL,
        record: Callable[[JsonObject], object] | None = None,
        marks: Marks | None = None,
        protected: ProtectedPaths | None = None,
        accept: Callable[[ResolvedScope], bool] | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.session_id = session_id
        self._store = store
        self._root = project_root
        self._home = home
        self._state = Folder(os.path.realpath(state))
        self._grants = OneTimeGrants(self._state.sub("grants"))
        self._fallback = fallback
        self._record = record
        self._marks = marks
        self._clock = clock
        self.protected = protected or ProtectedPaths()
        self._accept = accept
        self._held: _Snapshot | None = None
        self._declined: ResolvedScope | None = None
        self._compiled: list[tuple[ResolvedScope, Guard]] = []

    def current(self) -> ResolvedScope:
        """The scope that applies now, read again. UsageError, with its location, if it is invalid."""
        return self.active_scopes()[0]

    def active_scopes(self) -> tuple[ResolvedScope, ...]:
        """The scope that applies now, and one that another process set without agreement, if any: both must allow."""
        recorded = self.recorded()
        if self._accept is None:
            return (self._trusted(recorded),)
        if self._held is None:
            self._held = _Snapshot(self._trusted(recorded), recorded)
        if recorded == self._held.recorded:
            return (self._held.scope,)
        changed = recorded or self._fallback()
        if changed == self._declined:
            return self._held.scope, changed
        if (recorded is not None and self._has_mark(recorded)) or self._accept(changed):
            self.trust(changed)
            self._held = _Snapshot(changed, recorded)
            return (changed,)
        self._declined = changed
        return self._held.scope, changed

    def _trusted(self, recorded: ResolvedScope | None) -> ResolvedScope:
        return recorded if recorded is not None and self.is_trusted(recorded) else self._fallback()

    def recorded(self) -> ResolvedScope | None:
        """The scope that the session records, whether it is trusted or not."""
        file = self._store.scope_file(self.session_id)
        if file is not None:
            with suppress(FileNotFoundError):
                return ResolvedScope(parse_scope_file(file.path, file.read()), "explicit", file.path)
        found = self._store.overview(self.session_id).scope
        return None if found is None else ResolvedScope(self._parse(found), "explicit")

    def is_trusted(self, found: ResolvedScope) -> bool:
        """Whether a scope of the session was set or agreed to here, or equals the fallback."""
        if self._marks is None or self._has_mark(found):
            return True
        return found.scope == self._fallback().scope

    def _has_mark(self, found: ResolvedScope) -> bool:
        return self._marks is not None and self._marks.has(MARK, fields_of(found.scope), where=found.path)

    def trust(self, found: ResolvedScope) -> None:
        """Trust a scope of the session from now on, durably."""
        if self._marks is not None:
            self._marks.put(MARK, fields_of(found.scope), where=found.path)

    def guards(self) -> tuple[Guard, ...]:
        """The compiled scopes that apply now; all of them must allow an action."""
        self._compiled = [(one, self._compile(one)) for one in self.active_scopes()]
        return tuple(guard for _, guard in self._compiled)

    def guard(self) -> Guard:
        """The compiled scope that applies now, where it is not held in memory."""
        return self.guards()[0]

    def check(self, action: Action, target: str, *, cwd: str = "") -> Verdict:
        """Check one action now. A one-time grant that it needs is used up."""
        return self.apply_grant(self._verdict(action, target, cwd))

    def _verdict(self, action: Action, target: str, cwd: str) -> Verdict:
        """The strictest verdict of all active scopes: final, else not allowed, else allowed."""
        verdicts = [guard.check(action, target, cwd=cwd) for guard in self.guards()]
        return min(verdicts, key=lambda one: (one.allowed, not one.is_final))

    def _compile(self, current: ResolvedScope) -> Guard:
        for known, guard in self._compiled:
            if known == current:
                return guard
        return Guard(current.scope, project_root=self._root, home=self._home, protected=self.protected)

    def apply_grant(self, verdict: Verdict) -> Verdict:
        """Allow what is not denied for good if there is a one-time grant for it, and use the grant up."""
        if verdict.allowed or verdict.is_final or not self._grants.take(*self._key(verdict)):
            return verdict
        return Verdict(
            allowed=True,
            action=verdict.action,
            target=verdict.target,
            reason="allowed once",
            is_once=True,
            real_path=verdict.real_path,
        )

    def allow_once(self, action: Action, target: str, *, cwd: str = "") -> Verdict:
        """Allow exactly this action one time, durably. Returns the verdict without the grant."""
        verdict = self._verdict(action, target, cwd)
        if verdict.is_final:
            raise UsageError(f"{target!r} cannot be allowed: {verdict.reason}", hint="change the scope itself")
        if not verdict.allowed:
            self._grants.give(*self._key(verdict))
        return verdict

    def add(self, action: Action, pattern: str) -> bool:
        """Add a pattern to the scope of the session, durably; False if it was there. Comments and order are kept.

        UsageError if the session has an untrusted scope: this would agree to it.
        """
        try:
            file = self._store.scope_file(self.session_id)
            if file is not None:
                added = self._add_to_file(file, ALLOW_LISTS[action], pattern)
            else:
                added = self._change(lambda own: with_pattern(self._base(own), ALLOW_LISTS[action], pattern))
            self._held = self._declined = None  # read it again, as changed here
            return added
        except InvalidScopeError as error:
            raise UsageError(f"{pattern!r} cannot be added: {error}", hint="edit the scope by hand") from None

    def set_scope(self, text: str, *, source: str = "the new scope") -> None:
        """Make a YAML text the scope of the session, durably; a scope file gets exactly this text.

        `source` names the text in the UsageError for an invalid scope.
        """
        scope = read_scope_text(source, text)
        file = self._store.scope_file(self.session_id)
        if file is not None:
            with self._locked(file.path):
                file.overwrite(text.encode())
                self.trust(ResolvedScope(scope, "explicit", file.path))
        else:
            self._change(lambda _: scope)
        self._held = self._declined = None

    def _change(self, change: Callable[[Scope | None], Scope]) -> bool:
        """Record the changed scope of the session; False if it is unchanged."""
        if self._record is not None:
            return self._record_change(self._store.overview(self.session_id).scope, change, self._record)
        with self._store.open(self.session_id) as writer:

            def append(scope: JsonObject) -> None:
                event = ScopeChanged(scope=scope, timestamp=self._clock(), id=os.urandom(8).hex())
                writer.append(event, ids_are_new=True)

            return self._record_change(writer.overview.scope, change, append)

    def _record_change(
        self,
        found: JsonObject | None,
        change: Callable[[Scope | None], Scope],
        record: Callable[[JsonObject], object],
    ) -> bool:
        scope = change(self._parse(found) if found is not None else None)
        changed = fields_of(scope)
        if changed != found:
            record(changed)
        self.trust(ResolvedScope(scope, "explicit"))
        return changed != found

    def _add_to_file(self, file: UserFile, pattern_list: str, pattern: str) -> bool:
        path = file.path
        with self._locked(path):
            try:
                text = decode_scope(path, file.read())
            except FileNotFoundError:
                added = add_pattern(write_scope(self.current().scope), pattern_list, pattern)
                file.create(added.encode())
                self.trust(ResolvedScope(read_scope_text(path, added), "explicit", path))
                return True
            self._check_trusted(ResolvedScope(read_scope_text(path, text), "explicit", path))
            added = add_pattern(text, pattern_list, pattern)
            if added != text:
                file.overwrite(added.encode())
            self.trust(ResolvedScope(read_scope_text(path, added), "explicit", path))
            return added != text

    def _base(self, own: Scope | None) -> Scope:
        """The scope that a pattern is added to."""
        if own is None:
            return self._fallback().scope
        self._check_trusted(ResolvedScope(own, "explicit"))
        return own

    def _check_trusted(self, found: ResolvedScope) -> None:
        if not self.is_trusted(found):
            raise UntrustedError(
                f"session {self.session_id} has a scope that was not set here, so it does not apply",
                session_id=self.session_id,
                store=self._store.url,
            )

    @contextmanager
    def _locked(self, path: str) -> Iterator[None]:
        """Lock the file: of two processes that change it at once, one waits for the other."""
        name = f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.lock"
        found = WriterLock.acquire(self._state.sub("locks"), name, timeout_seconds=WAIT_SECONDS, since=self._clock())
        if isinstance(found, Owner):
            raise ConflictError(f"{path} is being changed by process {found.pid}", hint="try again")
        try:
            yield
        finally:
            found.release()

    def _parse(self, found: JsonObject) -> Scope:
        try:
            return parse_scope(found)
        except InvalidScopeError as error:
            raise invalid_scope(f"the scope of session {self.session_id}", error) from None

    def _key(self, verdict: Verdict) -> tuple[str, ...]:
        """A grant is for one session, action, target and resolved path, so that no later link diverts it."""
        return self._store.url, self.session_id, verdict.action, verdict.target, verdict.real_path
