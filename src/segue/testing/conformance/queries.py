"""A store that lists and searches by itself gives the answers that its heads and the local index give."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

import pytest
from msgspec.structs import replace

from segue.errors import UsageError
from segue.ids import match_ids, short_ends, short_ids
from segue.index import Index, StoreSource
from segue.model import Decision, Learning, Pattern, SummaryWritten, TitleChanged
from segue.queries import Filters
from segue.testing.conformance.chapter import ID, Chapter, create_and_close, create_session
from segue.testing.events import START, fork, metadata, moment, status, switched, turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segue.model import Event, Head, JsonObject, Metadata
    from segue.queries import Queries
    from segue.store import Store
    from segue.testing.harness import Harness

SEARCHES = (
    "login",
    "LOGIN token",
    "token login",
    "log*",
    "lo",
    '"token expires"',
    '"expires token"',
    '"token exp"*',
    "src/auth/login.py",
    "login.py",
    "auth/login",
    "uber",
    "Überprüfung",
    "naive café",
    "中文测试",
    "中文",
    "中文*",
    "nul",
    "before after",
    "surrogate",
    "retry backoff",
    "refresh early",
    "cached",
    "grep pattern",
    "outcome",
    "_ login",
    "w" * 3000,
    "w" * 300,
    "w" * 254 + "*",
    "needle",
    "needle haystack0",
    '"haystack7 haystack8"',
    "nothing-of-this-is-there",
    "quick",
    "42",
)


class _Copied(StoreSource):
    """The same store, for the local index."""

    queries = None


class QueriesChapter(Chapter):
    _FIELDS: ClassVar[tuple[str, ...]] = ("kind", "seq", "turn", "branch", "role", "snippet", "matches")

    def test_filters_give_what_filtering_the_heads_gives(self, store: Store) -> None:
        if (queries := _fill(store)) is None:
            return
        heads = sorted(store.heads(), key=lambda head: (head.updated_at, head.id), reverse=True)
        for filters, is_wanted in _filters(store):
            expected = [head.id for head in heads if is_wanted(head)]
            found = list(queries.list(filters))
            assert [one.head.id for one in found] == expected, filters
            assert [one.head for one in found] == [head for head in heads if is_wanted(head)]
            assert [one.head.id for one in queries.list(filters, 2)] == expected[:2], filters
            assert list(queries.list(filters, 0)) == []
            assert queries.count(filters) == len(expected), filters

    def test_a_listing_shows_what_the_index_shows(self, store: Store) -> None:
        if (queries := _fill(store)) is None:
            return
        with Index(None) as index:
            index.refresh([_Copied(store)], with_text=True)
            expected = index.entries()
            answered = Index(None, sources=[StoreSource(store)]).entries()
        assert len(expected) == len(answered) == len(list(queries.list(Filters())))
        plain = {entry.id: entry for entry in expected}
        for entry in answered:
            if entry.id != "odd":  # of which the index has a cleaned copy
                assert entry == plain[entry.id]

    def test_a_writer_that_died_leaves_an_interrupted_session(self, harness: Harness, store: Store) -> None:
        if store.queries is None or not store.capabilities.shared:
            return
        create_session(store, turn(1))
        create_and_close(store, status("paused", 2), session_id="other")
        assert [one.head.id for one in store.queries.list(Filters(status="active"))] == [ID]
        assert list(store.queries.list(Filters(status="interrupted"))) == []
        harness.kill()
        again = harness.make()
        assert again.queries is not None
        assert list(again.queries.list(Filters(status="active"))) == []
        assert [one.head.id for one in again.queries.list(Filters(status="interrupted"))] == [ID]
        assert again.queries.count(Filters(status="interrupted")) == 1
        assert [one.session.head.status for one in again.queries.search("said", Filters())] == ["interrupted"]
        again.close()

    def test_parts_of_ids_are_found_without_reading_all(self, store: Store) -> None:
        if (queries := _fill(store)) is None:
            return
        for number in range(30):
            create_and_close(store, session_id=f"many-{number:02}")
        ids = set(store.ids())
        for text in ("many-0", "many", "-07", "qa-", "zzz", "a", *ids):
            found = match_ids(text, queries.near_ids([text], 50))
            assert found == match_ids(text, ids), text
        assert len(queries.near_ids(["many-1"], 2)) <= 8
        assert queries.near_ids(["\0", "\ud800"], 2) <= ids
        for id in ids:
            near = queries.near_ids([id, *short_ends(id)], 2)
            assert short_ids(near | {id}, only=[id]) == short_ids(ids, only=[id])

    def test_a_search_finds_what_the_index_finds(self, store: Store) -> None:
        if (queries := _fill(store)) is None:
            return
        with Index(None) as index:
            index.refresh([_Copied(store)])
            for text in SEARCHES:
                for unfinished in (False, True):
                    hits = index.search(text, limit=None, unfinished=unfinished)
                    expected = {hit.entry.id: [getattr(hit, name) for name in self._FIELDS] for hit in hits}
                    answer = queries.search(text, Filters(), unfinished=unfinished)
                    found = {one.session.head.id: [getattr(one, name) for name in self._FIELDS] for one in answer}
                    assert found == expected, (text[:40], unfinished)
                    assert queries.count_matches(text, Filters(), unfinished=unfinished) == len(hits), text[:40]
                first = index.search(text, limit=None, turns_first=True)
                answer = queries.search(text, Filters(), None, turns_first=True)
                assert {(one.session.head.id, one.kind, one.seq) for one in answer} == {
                    (hit.entry.id, hit.kind, hit.seq) for hit in first
                }
        assert len(queries.search("login", Filters(), 1)) == 1
        for nothing in ("", " ", "…", "-"):
            with pytest.raises(UsageError):
                queries.search(nothing, Filters())

    def test_a_search_is_filtered_like_a_listing(self, store: Store) -> None:
        if (queries := _fill(store)) is None:
            return
        found = {one.session.head.id for one in queries.search("login", Filters())}
        assert len(found) > 1
        for filters, _ in _filters(store):
            listed = {one.head.id for one in queries.list(filters)}
            assert {one.session.head.id for one in queries.search("login", filters)} == found & listed, filters
            assert queries.count_matches("login", filters) == len(found & listed)
        with Index(None) as index:
            index.refresh([_Copied(store)])
            for branch in ("main", "idea", "unknown"):
                hits = index.search("quick", Filters(branch=branch), limit=None)
                answer = queries.search("quick", Filters(branch=branch))
                assert [(one.branch, one.turn, one.matches) for one in answer] == [
                    (hit.branch, hit.turn, hit.matches) for hit in hits
                ]

    def test_what_was_just_recorded_is_found(self, store: Store) -> None:
        if store.queries is None:
            return
        queries = store.queries
        with create_session(store, turn(1, "the first needle")) as writer:
            assert [one.seq for one in queries.search("needle", Filters())] == [2]
            writer.append(turn(2, "a second needle"))
            assert [one.matches for one in queries.search("needle", Filters())] == [2]
            writer.append(TitleChanged(title="Needlework", timestamp=moment(3), id="named"))
            assert [one.kind for one in queries.search("needlework", Filters())] == ["title"]
            assert list(queries.search("bug", Filters())) == []  # the title that it had before
        assert [one.matches for one in queries.search("needle*", Filters())] == [3]
        assert list(queries.search("bug", Filters())) == []
        with store.open(ID) as writer:
            writer.append(SummaryWritten(content="About haystacks.", timestamp=moment(4), id="summary-1"))
            writer.append(SummaryWritten(content="About barns.", timestamp=moment(5), id="summary-2"))
        assert [one.kind for one in queries.search("barns", Filters())] == ["summary"]
        assert list(queries.search("haystacks", Filters())) == []
        if store.trash is not None:
            key = store.trash.put(ID)
            assert [*queries.search("needle", Filters()), *queries.list(Filters())] == []
            store.trash.restore(key)
            assert [one.matches for one in queries.search("needle", Filters())] == [2]
        store.delete(ID)
        assert list(queries.search("needle", Filters())) == []

    def test_turns_are_those_of_the_index(self, store: Store) -> None:
        if (queries := _fill(store)) is None:
            return
        with Index(None) as index:
            index.refresh([_Copied(store)])
            for entry in index.entries():
                if entry.id == "odd":
                    continue  # of which the index has a cleaned copy
                for first in (0, 3, 5, 1000):
                    for branch in ("", "main", "idea"):
                        for limit in (1, 3, 50):
                            how = {"first": first, "branch": branch, "limit": limit}
                            expected = index.turns(entry, first=first, branch=branch, limit=limit)
                            found = queries.turns(entry.id, first=first, branch=branch, limit=limit)
                            assert list(found) == expected, (entry.id, how)


def _fill(store: Store) -> Queries | None:
    """Fill a store that answers by itself with sessions of all kinds; None if this one does not."""
    if store.queries is None:
        return None
    for number, (first, events) in enumerate(_sessions()):
        # Every session has a time of its own, some within one minute.
        shift = timedelta(seconds=number * 40)
        moved = [_at(event, shift) for event in events]
        store.create(first.session_id, [replace(first, created_at=START + shift), *moved]).close()
    return store.queries


def _at(event: Event, shift: timedelta) -> Event:
    when = getattr(event, "timestamp", None)
    return event if when is None else replace(event, timestamp=when + shift)


def _sessions() -> Sequence[tuple[Metadata, Sequence[Event]]]:
    call: JsonObject = {
        "type": "tool_call",
        "id": "c1",
        "name": "grep",
        "arguments": {"pattern": "grep pattern", "n": 42},
    }
    result: JsonObject = {"type": "tool_result", "id": "c1", "content": "an outcome in src/auth/login.py"}
    words = replace(turn(2, ""), parts=(call, result))
    odd = "before\0after nul ünicode lone \ud800 surrogate \x02marks\x03"
    many = " ".join(f"haystack{number}" for number in range(1000)) + " needle"
    return (
        (
            _metadata("login-1", agent="qa", tool="claude", project="github.com/acme/shop", cwd="/home/me/shop"),
            (
                turn(1, "The login token expires."),
                turn(2, "See src/auth/login.py, login and token."),
                status("paused", 3),
            ),
        ),
        (
            _metadata("login-2", agent="dev", title="", project="other", cwd="/home/me/shop/api", git_branch="fix"),
            (turn(1, "Login is naïve; at the CAFÉ, Überprüfung."), words, status("completed", 4)),
        ),
        (
            _metadata("branches", title="Quick ideas", tags=("a b", "json:x")),
            (
                *(turn(number, f"Turn number {number}: quick brown") for number in range(1, 4)),
                fork("idea", 2),
                turn(5, "quick fox on the idea", branch="idea"),
                turn(6, "brown fox", branch="idea"),
                switched("main", 7),
                turn(8, "a dog"),
                status("paused", 9),
            ),
        ),
        (
            _metadata("notes", title="Notes", cwd="/home/me/shopping", project="github.com/acme/shop"),
            (
                SummaryWritten(content="The token expires early.", timestamp=moment(1), id="s"),
                Decision(content="Refresh early", timestamp=moment(2), id="d"),
                Learning(description="It is cached", timestamp=moment(3), id="l"),
                Pattern(name="retry", description="with backoff", timestamp=moment(4), id="p"),
                status("paused", 5),
            ),
        ),
        (_metadata("chinese", title="中文测试"), (turn(1, "这是中文测试。 中文 测试"), status("paused", 2))),
        (_metadata("odd", title=odd, agent="o\0dd", tags=("t\0ag",)), (turn(1, odd), status("paused", 2))),
        (_metadata("long", title="", cwd="json:/x"), (turn(1, "w" * 3000), turn(2, many), status("paused", 3))),
        (_metadata("empty", title="", agent="QA"), (status("paused", 1),)),
    )


def _metadata(
    session_id: str, *, title: str = "Login bug", agent: str = "", tags: tuple[str, ...] = (), **extra: str
) -> Metadata:
    return replace(metadata(session_id), title=title, agent=agent, tags=tags, extra=dict(extra))


def _filters(store: Store) -> Sequence[tuple[Filters, Callable[[Head], bool]]]:
    """Filters, each with what it means for a head."""
    extras = {id: store.overview(id).extra for id in store.ids()}

    def has(name: str, *values: str) -> Callable[[Head], bool]:
        return lambda head: extras[head.id].get(name) in values

    def both(one: Callable[[Head], bool], other: Callable[[Head], bool]) -> Callable[[Head], bool]:
        return lambda head: one(head) and other(head)

    late, early = START + timedelta(seconds=100), START + timedelta(seconds=41)
    shop = has("project", "github.com/acme/shop")
    below = has("cwd", "/home/me/shop", "/home/me/shop/api")
    return (
        (Filters(), lambda _: True),
        (Filters(agent="qa"), lambda head: head.agent == "qa"),
        (Filters(agent="o\0dd"), lambda head: head.agent == "o\0dd"),
        (Filters(agent="\ud800"), lambda _: False),
        (Filters(agent=""), lambda head: head.agent == ""),
        (Filters(status="paused"), lambda head: head.status == "paused"),
        (Filters(status="completed"), lambda head: head.status == "completed"),
        (Filters(status="active"), lambda _: False),
        (Filters(status="interrupted"), lambda _: False),
        (Filters(tag="a b"), lambda head: "a b" in head.tags),
        (Filters(tag="a"), lambda head: "a" in head.tags),
        (Filters(tag="json:x"), lambda head: "json:x" in head.tags),
        (Filters(tag="t\0ag"), lambda head: "t\0ag" in head.tags),
        (Filters(tool="claude"), has("tool", "claude")),
        (Filters(project="github.com/acme/shop"), shop),
        (Filters(folder="/home/me/shop"), below),
        (Filters(folder="json:"), has("cwd", "json:/x")),
        (Filters(folder="/home/me/shop", project="github.com/acme/shop"), lambda head: shop(head) or below(head)),
        (Filters(named="LOGIN"), lambda head: "login" in f"{head.id} {head.title}".lower()),
        (Filters(named="bug qa"), lambda head: (head.title, head.agent) == ("Login bug", "qa")),
        (Filters(named="acme"), shop),
        (Filters(named="nul surrogate"), lambda head: head.id == "odd"),
        (Filters(named="ünicode"), lambda head: head.id == "odd"),
        (Filters(named="中文测试"), lambda head: head.title == "中文测试"),
        (Filters(named="%_\\' x"), lambda _: False),
        (Filters(ids=("login-1", "odd", "unknown", "../x", "")), lambda head: head.id in {"login-1", "odd"}),
        (Filters(ids=()), lambda _: False),
        (Filters(since=late), lambda head: head.updated_at >= late),
        (Filters(until=late), lambda head: head.updated_at < late),
        (Filters(since=early, until=late), lambda head: early <= head.updated_at < late),
        (Filters(agent="qa", project="github.com/acme/shop"), both(lambda head: head.agent == "qa", shop)),
    )
