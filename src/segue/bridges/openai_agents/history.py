"""The history of one session of the SDK: every call reads or records, and is done when it returns."""

from __future__ import annotations

from itertools import dropwhile
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from segue.bridges.openai_agents.branches import Branches
from segue.bridges.openai_agents.cache import last_turns
from segue.bridges.openai_agents.items import is_user_message, items_of, number_of, turn_of
from segue.bridges.sessions import new_id
from segue.clock import utc_now
from segue.model import JsonObject
from segue.model.session import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.bridges.sessions import NamedSessions
    from segue.model import Event, Turn
    from segue.session import LiveSession

_FIRST_WINDOW = 16


class Choice(NamedTuple):
    """The branch that an object is on: chosen in a generation, or None for the active one."""

    generation: int = 0
    branch: str | None = None


class Cost(Struct, frozen=True):
    """What the answer among some items has used."""

    tokens: int | None
    usage: JsonObject


class History:
    """Without state but the branch that it is on, and the number of the last turn that it recorded."""

    def __init__(self, sessions: NamedSessions, name: str, choice: Choice = Choice()) -> None:  # noqa: B008 - a value
        self.sessions = sessions
        self.name = name
        self.choice = choice
        self._last = (0, "", 0)  # the seq and branch of the last turn recorded here, and its number of the user's turns

    # ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def branches(self) -> Branches | None:
        overview = self.sessions.overview(self.name)
        return None if overview is None else Branches(overview)

    def turns(self, limit: int | None = None, *, branch: str | None = None) -> Sequence[Turn]:
        """The last turns of a branch, by its name for the SDK; none if there is no such branch."""
        found = self.branches()
        at = None if found is None else self._branch(found) if branch is None else found.find(branch)
        if found is None or at is None or at in found.state.deleted:
            return ()
        return self._tail(found, at, limit)

    def items(self, limit: int | None, *, offset: int = 0, branch: str | None = None) -> list[JsonObject]:
        """The last items before the `offset` newest ones, oldest first. A negative limit means all of them."""
        if limit is None or limit < 0:
            found = self._items(self.turns(branch=branch))
            return found[: max(0, len(found) - offset)]
        wanted = window = limit + offset
        while limit:
            turns = self.turns(window, branch=branch)
            found = self._items(turns)
            if len(found) >= wanted or len(turns) < window:
                return found[max(0, len(found) - wanted) : max(0, len(found) - offset)]
            window *= 2
        return []

    def items_of_turns(self, limit: int, *, branch: str | None = None) -> list[JsonObject]:
        """The last `limit` messages of the user with everything that followed each of them."""
        window = _FIRST_WINDOW
        while limit > 0:
            turns = self.turns(window, branch=branch)
            found = self._items(turns)
            starts = [place for place, item in enumerate(found) if is_user_message(item)]
            if len(starts) > limit or (starts and len(starts) == limit):
                return found[starts[-limit] :]
            if len(turns) < window:
                return found
            window *= 4
        return []

    def read(self) -> list[Event]:
        return list(self.sessions.read(self.name))

    def _branch(self, branches: Branches, choice: Choice | None = None) -> str:
        """The branch of this object, which stays on it from now on."""
        choice = choice or self.choice
        branch = branches.current(choice.generation, choice.branch)
        if choice == self.choice:
            self.choice = Choice(branches.state.generation, branch)
        return branch

    def _tail(self, branches: Branches, branch: str, limit: int | None) -> Sequence[Turn]:
        if not branches.count(branch) or limit == 0:
            return ()
        return last_turns(self.sessions.store, branches.overview, branches.latest(branch), limit)

    def _items(self, turns: Sequence[Turn]) -> list[JsonObject]:
        return [item for turn in turns for item in items_of(turn, self.get_blob)]

    def get_blob(self, name: str) -> bytes:
        return self.sessions.store.get_blob(self.sessions.id_of(self.name), name)

    # ── Recording ────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, items: Sequence[object], choice: Choice, cost: Cost | None = None) -> None:
        with self.sessions.writing(self.name) as session:
            branches = Branches(session.overview)
            branch = self._branch(branches, choice)
            branches.remember_latest()
            at = branches.latest(branch)
            is_known = self._last[:2] == (session.overview.seq, at)
            number = self._last[2] if is_known else self._number_at(branches, branch, branches.count(branch))
            self._record(session, branches, [], _with_cost(self._new_turns(session, items, at, number), cost))

    def pop(self, choice: Choice) -> JsonObject | None:
        """Begin a version of the branch without its last item; None if it has none."""
        if self.sessions.overview(self.name) is None:
            return None
        with self.sessions.writing(self.name, create=False) as session:
            branches = Branches(session.overview)
            branch = self._branch(branches, choice)
            have, window = branches.count(branch), 1
            while True:
                turns = self._tail(branches, branch, window)
                for back, turn in enumerate(reversed(turns), start=1):
                    if items := items_of(turn, session.get_blob):
                        self._replace(session, branches, branch, have - back, items[:-1])
                        return items[-1]
                if len(turns) < window:
                    return None
                window *= 4

    def clear(self) -> None:
        """Begin an empty version of the first branch, and delete the others."""
        if self.sessions.overview(self.name) is None:
            return
        with self.sessions.writing(self.name, create=False) as session:
            branches = Branches(session.overview)
            self._record(session, branches, [branches.clear(moment=utc_now(), id=new_id())])
            self.choice = Choice(branches.state.generation, MAIN)

    def replace_all(self, items: Sequence[object], choice: Choice) -> None:
        with self.sessions.writing(self.name) as session:
            branches = Branches(session.overview)
            self._replace(session, branches, self._branch(branches, choice), 0, items)

    def replace_end(
        self, ids: Sequence[str], items: Sequence[object], choice: Choice, is_over: Callable[[JsonObject], bool] | None
    ) -> bool:
        """Replace the turns with these ids, if they are still the last ones of the branch.

        The first items of the branch that `is_over` is true of are left out too.
        """
        with self.sessions.writing(self.name, create=False) as session:
            branches = Branches(session.overview)
            branch = self._branch(branches, choice)
            if [turn.id for turn in self._tail(branches, branch, len(ids))] != list(ids):
                return False
            keep = branches.count(branch) - len(ids)
            rest = self._items(self._tail(branches, branch, None)[:keep]) if is_over else []
            left = list(dropwhile(is_over, rest)) if is_over else []
            if len(left) < len(rest):
                keep, items = 0, [*left, *items]
            self._replace(session, branches, branch, keep, items)
            return True

    # ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _replace(
        self, session: LiveSession, branches: Branches, branch: str, keep: int, items: Sequence[object]
    ) -> None:
        """Begin a version of the branch with its first turns and then these items, all in one append."""
        number = self._number_at(branches, branch, keep) if items else 0
        event = branches.new_version(branch, keep, moment=utc_now(), id=new_id())
        self._record(session, branches, [event], self._new_turns(session, items, event.name, number))

    def _record(
        self, session: LiveSession, branches: Branches, events: Sequence[Event], turns: Sequence[Turn] = ()
    ) -> None:
        state = branches.record()
        if events or turns or state:
            session.record(*events, *([state] if state else ()), *turns, ids_are_new=True)
        if turns:
            self._last = session.overview.seq, turns[-1].branch, number_of(turns[-1]) or 0

    def _new_turns(self, session: LiveSession, items: Sequence[object], at: str, number: int) -> list[Turn]:
        turns = []
        moment = utc_now()
        for item in items:
            turn = turn_of(item, session.put_blob, number=number, branch=at, moment=moment, id=new_id())
            number = number_of(turn) or 0
            turns.append(turn)
        return turns

    def _number_at(self, branches: Branches, branch: str, keep: int) -> int:
        """How many messages of the user are among the first turns: the last of them knows, if this bridge made it."""
        after, window = branches.count(branch) - keep, 1
        while keep:
            turns = self._tail(branches, branch, after + window)
            users = 0
            for turn in reversed(turns[: len(turns) - after]):
                if (number := number_of(turn)) is not None:
                    return number + users
                users += sum(map(is_user_message, items_of(turn, self.get_blob)))
            if len(turns) < after + window:
                return users
            window *= 4
        return 0


def _with_cost(turns: list[Turn], cost: Cost | None) -> list[Turn]:
    """The turns, the last answer among them with what it has used."""
    place = max((at for at, turn in enumerate(turns) if turn.role == "assistant"), default=-1)
    if cost is not None and place >= 0:
        extra = {**turns[place].extra, "usage": cost.usage}
        by = "" if cost.tokens is None else "provider"
        turns[place] = replace(turns[place], tokens=cost.tokens, tokens_by=by, extra=extra)
    return turns
