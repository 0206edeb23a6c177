"""What the tools of one session may do, whatever store keeps it: asked just before each use, and widened by people."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from segue.clock import utc_now
from segue.durable.folder import Folder
from segue.durable.lock import WriterLock
from segue.errors import ConflictError, UntrustedError, UsageError
from segue.model import ScopeChanged as ScopeSet
from segue.permissions.grants import Grants
from segue.permissions.guard import Guard, Verdict
from segue.permissions.profiles import DENY_ALL, Resolved, decoded, invalid, parse_scope_file, read_scope_text
from segue.permissions.protected import Protected
from segue.permissions.scope import InvalidScopeError, fields_of, scope_of, with_pattern, write_scope
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

LIST_OF: dict[Action, str] = {"read": "read", "write": "write", "shell": "shell_allow"}
"""Which list of a scope allows what."""
PART = "scope"
"""What a mark of a session's scope is called."""


class _Held(NamedTuple):
    scope: Resolved
    said: Resolved | None
    """What the session said when it was taken."""


class Permissions:
    """Of one session. Nothing is remembered between two questions but what the last scope was compiled to.

    `state` is a folder of this machine for grants and locks. `fallback` says what holds where the session itself says
    nothing. `record` writes a scope into the session for whoever is its writer already. `marks` say which scope of the
    session was set or agreed to here: any other counts as none. Without them, all that the session says holds.
    `protected` is what no scope allows. With `accept` the scope is held, as for a conversation: what others make of it
    meanwhile can narrow it at any time, and widens it only if it was made here, or if `accept` says so.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        *,
        project_root: str,
        home: str,
        state: str,
        fallback: Callable[[], Resolved] = lambda: DENY_ALL,
        record: Callable[[JsonObject], object] | None = None,
        marks: Marks | None = None,
        protected: Protected | None = None,
        accept: Callable[[Resolved], bool] | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.session_id = session_id
        self._store = store
        self._root = project_root
        self._home = home
        self._state = Folder(os.path.realpath(state))
        self._grants = Grants(self._state.sub("grants"))
        self._fallback = fallback
        self._record = record
        self._marks = marks
        self._clock = clock
        self.protected = protected or Protected()
        self._accept = accept
        self._held: _Held | None = None
        self._declined: Resolved | None = None
        self._compiled: list[tuple[Resolved, Guard]] = []

    def current(self) -> Resolved:
        """The scope that holds now, read again. UsageError, with its place, if it makes no sense."""
        return self.holding()[0]

    def holding(self) -> tuple[Resolved, ...]:
        """The scope that holds now and, where others changed it and nobody agreed, what they made: both must allow."""
        said = self.recorded()
        if self._accept is None:
            return (self._believed(said),)
        if self._held is None:
            self._held = _Held(self._believed(said), said)
        if said == self._held.said:
            return (self._held.scope,)
        would_be = said or self._fallback()
        if would_be == self._declined:
            return self._held.scope, would_be
        if (said is not None and self._has_mark(said)) or self._accept(would_be):
            self.agree(would_be)
            self._held = _Held(would_be, said)
            return (would_be,)
        self._declined = would_be
        return self._held.scope, would_be

    def _believed(self, said: Resolved | None) -> Resolved:
        return said if said is not None and self.is_believed(said) else self._fallback()

    def recorded(self) -> Resolved | None:
        """The scope that the session itself says, whether that holds or not."""
        file = self._store.scope_file(self.session_id)
        if file is not None:
            with suppress(FileNotFoundError):
                return Resolved(parse_scope_file(file.path, file.read()), "explicit", file.path)
        found = self._store.overview(self.session_id).scope
        return None if found is None else Resolved(self._scope_of(found), "explicit")

    def is_believed(self, found: Resolved) -> bool:
        """Whether a scope of the session was set or agreed to here, or says what would hold without it."""
        if self._marks is None or self._has_mark(found):
            return True
        return found.scope == self._fallback().scope

    def _has_mark(self, found: Resolved) -> bool:
        return self._marks is not None and self._marks.has(PART, fields_of(found.scope), where=found.place)

    def agree(self, found: Resolved) -> None:
        """Let a scope of the session hold from now on, durably."""
        if self._marks is not None:
            self._marks.put(PART, fields_of(found.scope), where=found.place)

    def guards(self) -> tuple[Guard, ...]:
        """What holds now, ready to be asked; all of them must allow."""
        self._compiled = [(one, self._compile(one)) for one in self.holding()]
        return tuple(guard for _, guard in self._compiled)

    def guard(self) -> Guard:
        """The scope that holds now, for whoever does not hold it."""
        return self.guards()[0]

    def check(self, action: Action, target: str, *, cwd: str = "") -> Verdict:
        """Whether it may be done, now and once; a grant that is needed for it is used up."""
        return self.settled(self._verdict(action, target, cwd))

    def _verdict(self, action: Action, target: str, cwd: str) -> Verdict:
        """Of all that hold: what denies for good, else what refuses, else what allows."""
        verdicts = [guard.check(action, target, cwd=cwd) for guard in self.guards()]
        return min(verdicts, key=lambda one: (one.allowed, not one.is_final))

    def _compile(self, current: Resolved) -> Guard:
        for known, guard in self._compiled:
            if known == current:
                return guard
        return Guard(current.scope, project_root=self._root, home=self._home, protected=self.protected)

    def settled(self, verdict: Verdict) -> Verdict:
        """The same verdict, unless somebody allowed this once; deny patterns stand above that."""
        if verdict.allowed or verdict.is_final or not self._grants.take(*self._key(verdict)):
            return verdict
        return Verdict(
            allowed=True,
            action=verdict.action,
            target=verdict.target,
            reason="allowed once",
            is_once=True,
            place=verdict.place,
        )

    def allow_once(self, action: Action, target: str, *, cwd: str = "") -> Verdict:
        """Let exactly this be done one time: it is on disk when this returns. What it would be without, comes back."""
        verdict = self._verdict(action, target, cwd)
        if verdict.is_final:
            raise UsageError(f"{target!r} cannot be allowed: {verdict.reason}", hint="change the scope itself")
        if not verdict.allowed:
            self._grants.give(*self._key(verdict))
        return verdict

    def add(self, action: Action, pattern: str) -> bool:
        """Put a pattern into the scope of the session, durably; False if it was there. Comments and order stay.

        UsageError if the session has a scope that nobody here agreed to: it would be agreed to by this.
        """
        try:
            file = self._store.scope_file(self.session_id)
            if file is not None:
                added = self._add_to_file(file, LIST_OF[action], pattern)
            else:
                added = self._change(lambda own: with_pattern(self._base(own), LIST_OF[action], pattern))
            self._held = self._declined = None  # from now on it is what we made of it
            return added
        except InvalidScopeError as error:
            raise UsageError(f"{pattern!r} cannot be added: {error}", hint="write it into the scope by hand") from None

    def put(self, text: str) -> None:
        """Make a YAML text the scope of the session, durably; a file that people keep takes it to the letter."""
        scope = read_scope_text("the new scope", text)
        file = self._store.scope_file(self.session_id)
        if file is not None:
            with self._locked(file.path):
                file.replace(text.encode())
                self.agree(Resolved(scope, "explicit", file.path))
        else:
            self._change(lambda _: scope)
        self._held = self._declined = None

    def _change(self, change: Callable[[Scope | None], Scope]) -> bool:
        """Record what comes of the session's own scope; False if that says the same."""
        if self._record is not None:
            return self._record_change(self._store.overview(self.session_id).scope, change, self._record)
        with self._store.open(self.session_id) as writer:

            def append(scope: JsonObject) -> None:
                event = ScopeSet(scope=scope, timestamp=self._clock(), id=os.urandom(8).hex())
                writer.append(event, ids_are_new=True)

            return self._record_change(writer.overview.scope, change, append)

    def _record_change(
        self,
        found: JsonObject | None,
        change: Callable[[Scope | None], Scope],
        record: Callable[[JsonObject], object],
    ) -> bool:
        scope = change(self._scope_of(found) if found is not None else None)
        changed = fields_of(scope)
        if changed != found:
            record(changed)
        self.agree(Resolved(scope, "explicit"))
        return changed != found

    def _add_to_file(self, file: UserFile, pattern_list: str, pattern: str) -> bool:
        path = file.path
        with self._locked(path):
            try:
                text = decoded(path, file.read())
            except FileNotFoundError:
                added = add_pattern(write_scope(self.current().scope), pattern_list, pattern)
                file.create(added.encode())
                self.agree(Resolved(read_scope_text(path, added), "explicit", path))
                return True
            self._refuse_strange(Resolved(read_scope_text(path, text), "explicit", path))
            added = add_pattern(text, pattern_list, pattern)
            if added != text:
                file.replace(added.encode())
            self.agree(Resolved(read_scope_text(path, added), "explicit", path))
            return added != text

    def _base(self, own: Scope | None) -> Scope:
        """What a pattern is added to."""
        if own is None:
            return self._fallback().scope
        self._refuse_strange(Resolved(own, "explicit"))
        return own

    def _refuse_strange(self, found: Resolved) -> None:
        if not self.is_believed(found):
            raise UntrustedError(
                f"session {self.session_id} has a scope that was not set here, so it does not hold",
                session_id=self.session_id,
                store=self._store.url,
            )

    @contextmanager
    def _locked(self, path: str) -> Iterator[None]:
        """Of two that change a file at once, one waits for the other."""
        name = f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.lock"
        found = WriterLock.acquire(self._state.sub("locks"), name, timeout_seconds=WAIT_SECONDS, since=self._clock())
        if isinstance(found, Owner):
            raise ConflictError(f"{path} is being changed by process {found.pid}", hint="try again")
        try:
            yield
        finally:
            found.release()

    def _scope_of(self, found: JsonObject) -> Scope:
        try:
            return scope_of(found)
        except InvalidScopeError as error:
            raise invalid(f"the scope of session {self.session_id}", error) from None

    def _key(self, verdict: Verdict) -> tuple[str, ...]:
        """A grant is for one session, one action and one target, and no link made later leads it elsewhere."""
        return self._store.url, self.session_id, verdict.action, verdict.target, verdict.place
