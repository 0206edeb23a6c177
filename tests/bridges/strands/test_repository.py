"""Sessions of Strands in a store: what becomes a turn, agents on branches, numbers of messages, errors."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from segue.bridges.strands import SegueRepository
from segue.library import Library
from segue.model import hide_redacted
from tests.support.mounts import make_read_only, small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segue.model import JsonObject, Turn

PICTURE = bytes(range(256)) * 8


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[SegueRepository]:
    with SegueRepository(f"journal:{tmp_path}/agents", wait_seconds=0.2) as repository:
        begin(repository)
        yield repository


def begin(repository: SegueRepository, session: str = "s", *agents: str) -> None:
    repository.create_session(Session(session_id=session, session_type=SessionType.AGENT))
    for agent in agents or ("a",):
        repository.create_agent(session, SessionAgent(agent_id=agent, state={}, conversation_manager_state={}))


def message(number: int, text: str = "", role: str = "user", **more: Any) -> SessionMessage:  # noqa: ANN401 - blocks
    blocks = more.pop("content", [{"text": text or f"text {number}"}])
    return SessionMessage.from_message({"role": role, "content": blocks, **more}, number)  # type: ignore[typeddict-item]


def add(repository: SegueRepository, *texts: str, agent: str = "a", first: int = 0) -> None:
    for number, text in enumerate(texts, first):
        repository.create_message("s", agent, message(number, text))


def texts(repository: SegueRepository, agent: str = "a", **page: int) -> list[str]:
    return [one.to_message()["content"][0]["text"] for one in repository.list_messages("s", agent, **page)]


def turns(repository: SegueRepository) -> tuple[Turn, ...]:
    store = repository._sessions.store
    return store.load(repository._sessions.id_of("s")).turns


# ── What becomes a turn ──────────────────────────────────────────────────────────────────────────────────────────────


def test_blocks_become_text_and_parts(repository: SegueRepository) -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "x"}}}
    call = {"toolUse": {"toolUseId": "1", "name": "look", "input": {"at": "it"}}}
    image = {"image": {"format": "png", "source": {"bytes": PICTURE}}}
    file = {"document": {"format": "txt", "name": "notes", "source": {"bytes": b"seven"}}}
    found = {"toolUseId": "1", "status": "error", "content": [{"text": "no"}, {"json": {"n": 1}}, image]}
    usage = {
        "usage": {"inputTokens": 5, "outputTokens": 7, "totalTokens": 15, "cacheReadInputTokens": 3},
        "metrics": {"latencyMs": 1},
    }
    stored = [
        message(0, content=[{"text": "see"}, image, file]),
        message(1, role="assistant", content=[thought, {"text": "I look"}, call], metadata=usage),
        message(2, content=[{"toolResult": found}]),
    ]
    for one in stored:
        repository.create_message("s", "a", one)
    user, assistant, tool = turns(repository)
    name = user.parts[0]["hash"]
    assert (user.role, user.content) == ("user", "see")
    assert user.parts == (
        {"type": "image", "media_type": "image/png", "hash": name},
        {"type": "file", "path": "notes.txt", "content": "seven"},
    )
    assert (assistant.role, assistant.content, assistant.tokens) == ("assistant", "I look", 7)
    assert assistant.extra["usage"] == {"input_tokens": 8, "cached_tokens": 3, "output_tokens": 7}
    assert assistant.parts == (
        {"type": "reasoning", "text": "hm"},
        {"type": "tool_call", "id": "1", "name": "look", "arguments": {"at": "it"}},
    )
    assert (tool.role, tool.content) == ("tool", 'no\n{"n": 1}')
    (part,) = tool.parts
    assert (part["type"], part["id"], part["is_error"], part["content"]) == ("tool_result", "1", True, tool.content)
    assert repository._sessions.store.get_blob(repository._sessions.id_of("s"), str(name)) == PICTURE
    assert repository.list_messages("s", "a") == stored


@pytest.mark.parametrize("store", ["journal", "postgres"])
def test_values_that_no_store_takes_as_they_are_come_back_equal(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"journal:{tmp_path}" if store == "journal" else str(request.getfixturevalue("postgres_url"))
    with SegueRepository(url) as repository:
        begin(repository)
        deep: dict[str, object] = {}
        for _ in range(300):
            deep = {"in": deep}
        inputs = [{"n": float("inf")}, {"n": 2**5000}, deep, {"text": "\ud800\x00"}, {"large": "x" * 100_000}]
        stored = [
            message(number, role="assistant", content=[{"toolUse": {"toolUseId": "1", "name": "f", "input": given}}])
            for number, given in enumerate(inputs)
        ]
        for one in stored:
            repository.create_message("s", "a", one)
        assert repository.list_messages("s", "a") == stored
        assert [repository.read_message("s", "a", number) for number in range(5)] == stored


def test_state_is_what_was_recorded_last(repository: SegueRepository) -> None:
    first = repository.read_agent("s", "a")
    assert first is not None
    state = {"large": "x" * 100_000, "many": [1, None, {"a": True}]}
    repository.update_agent("s", SessionAgent(agent_id="a", state=state, conversation_manager_state={"n": 3}))
    found = repository.read_agent("s", "a")
    assert found is not None
    assert (found.state, found.conversation_manager_state) == (state, {"n": 3})
    assert found.created_at == first.created_at


# ── Agents ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_agent_has_a_branch_and_the_last_to_record_is_the_active_one(repository: SegueRepository) -> None:
    for agent in ("writer", "Wächter/2"):
        repository.create_agent("s", SessionAgent(agent_id=agent, state={}, conversation_manager_state={}))
    add(repository, "one", "two")
    add(repository, "eins", agent="Wächter/2")
    add(repository, "uno", agent="writer")
    add(repository, "three", first=2)
    assert [texts(repository, agent) for agent in ("a", "writer", "Wächter/2")] == [
        ["one", "two", "three"],
        ["uno"],
        ["eins"],
    ]
    overview = repository._sessions.overview("s")
    assert overview is not None
    assert overview.branch == "a"
    counts = {name: branch.own for name, branch in overview.branches.items()}
    assert counts == {"main": 0, "a": 3, "writer": 1, "wachter-2": 1}


def test_agents_whose_names_look_alike_have_branches_of_their_own(repository: SegueRepository) -> None:
    for agent in ("x y", "x-y", "main", "ü", "x" * 10_000, "x" * 10_001):
        repository.create_agent("s", SessionAgent(agent_id=agent, state={"is": agent}, conversation_manager_state={}))
        add(repository, agent, agent=agent)
    for agent in ("x y", "x-y", "main", "ü", "x" * 10_000, "x" * 10_001):
        found = repository.read_agent("s", agent)
        assert found is not None
        assert found.state == {"is": agent}
        assert texts(repository, agent) == [agent]


def test_an_agent_continues_on_the_fork_that_the_user_made(repository: SegueRepository, tmp_path: Path) -> None:
    add(repository, "one", "two", "three")
    with Library(repository._sessions.store).open(repository._sessions.id_of("s")) as session:
        session.fork(at=1, name="other-idea")
    assert texts(repository) == ["one"]
    add(repository, "zwei", first=1)
    repository.create_agent("s", SessionAgent(agent_id="b", state={}, conversation_manager_state={}))
    add(repository, "of b", agent="b")
    with SegueRepository(f"journal:{tmp_path}/agents") as other:
        assert texts(other) == ["one", "zwei"]
        add(other, "drei", first=2)
    assert texts(repository) == ["one", "zwei", "drei"]


def test_turns_of_other_programs_are_messages_too(repository: SegueRepository) -> None:
    add(repository, "one", "two")
    with Library(repository._sessions.store).open(repository._sessions.id_of("s")) as session:
        call: JsonObject = {"type": "tool_call", "id": "1", "name": "ls", "arguments": {"at": "."}}
        session.add("assistant", "I look", parts=[call])
        session.add("tool", "a b", parts=[{"type": "tool_result", "id": "1", "content": "a b"}])
    found = repository.list_messages("s", "a")
    assert [one.message_id for one in found] == [0, 1, 2, 3]
    assert found[2].message["content"] == [
        {"text": "I look"},
        {"toolUse": {"toolUseId": "1", "name": "ls", "input": {"at": "."}}},
    ]
    result = {"toolUseId": "1", "status": "success", "content": [{"text": "a b"}]}
    assert found[3].message == {"role": "user", "content": [{"toolResult": result}]}
    assert repository.list_messages("s", "a", offset=3) == found[3:]
    assert repository.read_message("s", "a", 2) == found[2]
    third = message(2, "of a process that did not know them")
    repository.create_message("s", "a", third)
    assert third.message_id == 4


# ── Redaction ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("store", ["journal", "postgres"])
def test_what_was_redacted_is_neither_shown_nor_found(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"journal:{tmp_path}/agents" if store == "journal" else str(request.getfixturevalue("postgres_url"))
    with SegueRepository(url) as repository:
        library = repository._sessions.library
        begin(repository)
        add(repository, "hello", "the secret is swordfish", "and then")
        assert [found.matches for found in library.search("swordfish")] == [1]
        redacted = message(1, "the secret is swordfish")
        redacted.redact_message = {"role": "user", "content": [{"text": "BLOCKED"}]}
        created = repository.list_messages("s", "a")[1].created_at
        repository.update_message("s", "a", redacted)
        assert texts(repository) == ["hello", "BLOCKED", "and then"]
        assert repository.list_messages("s", "a")[1].created_at == created
        add(repository, "more", first=3)
        assert texts(repository) == ["hello", "BLOCKED", "and then", "more"]
        assert [turn.content for turn in turns(repository)] == ["hello", "BLOCKED", "and then", "more"]
        assert list(library.search("swordfish")) == []
        assert [len(list(library.search(word))) for word in ("blocked", "hello", "more")] == [1, 1, 1]
        history = library.load(repository._sessions.id_of("s"))
        assert [turn.content for turn in history.path("a")] == ["hello", "the secret is swordfish", "and then"]
        assert [turn.content for turn in hide_redacted(history, history.path("a"))] == [
            "hello",
            "[redacted]",
            "and then",
        ]
        repository.update_message("s", "a", redacted)  # again
        assert texts(repository) == ["hello", "BLOCKED", "and then", "more"]


# ── Numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_pages_are_those_of_a_list(repository: SegueRepository) -> None:
    every = [f"text {number}" for number in range(7)]
    add(repository, *every)
    for offset in range(-8, 10):
        assert texts(repository, offset=offset) == every[offset:]
        for limit in range(-2, 9):
            assert texts(repository, offset=offset, limit=limit) == every[offset : offset + limit]


def test_a_number_that_is_taken_becomes_the_next_one(repository: SegueRepository) -> None:
    add(repository, "one", "two")
    late = message(0, "late")
    repository.create_message("s", "a", late)
    assert late.message_id == 2
    assert texts(repository) == ["one", "two", "late"]


def test_the_same_message_twice_is_one(repository: SegueRepository) -> None:
    one = message(0, "one")
    repository.create_message("s", "a", one)
    repository.create_message("s", "a", one)
    assert texts(repository) == ["one"]


def test_messages_are_in_the_order_of_their_numbers(repository: SegueRepository, tmp_path: Path) -> None:
    for number in (0, 7, 3, 9, 8):
        repository.create_message("s", "a", message(number))
    again = message(9, "another")
    repository.create_message("s", "a", again)
    with SegueRepository(f"journal:{tmp_path}/agents") as other:
        last = message(7, "and another")
        other.create_message("s", "a", last)
        assert [one.message_id for one in other.list_messages("s", "a")] == [0, 3, 7, 8, 9, 10, 11]
        assert texts(other, offset=3) == ["text 8", "text 9", "another", "and another"]
        assert [other.read_message("s", "a", number) is not None for number in range(12)] == [
            number in {0, 3, 7, 8, 9, 10, 11} for number in range(12)
        ]


@pytest.mark.parametrize("number", ["../escape", "1", None, [], 1.0])
def test_a_number_of_a_message_is_whole(number: object, repository: SegueRepository) -> None:
    bad = message(0)
    bad.message_id = number  # type: ignore[assignment]
    for call in (repository.create_message, repository.update_message):
        with pytest.raises(ValueError, match="message id must be an integer"):
            call("s", "a", bad)
    with pytest.raises(ValueError, match="message id must be an integer"):
        repository.read_message("s", "a", number)  # type: ignore[arg-type]


# ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_does_not_exist(repository: SegueRepository) -> None:
    agent = SessionAgent(agent_id="b", state={}, conversation_manager_state={})
    assert repository.read_session("t") is None
    assert repository.read_agent("t", "a") is None
    assert repository.read_agent("s", "b") is None
    assert repository.read_message("t", "a", 0) is None
    assert repository.read_message("s", "a", -1) is None
    assert repository.read_multi_agent("t", "m") is None
    for call in (
        lambda: repository.create_agent("t", agent),
        lambda: repository.update_agent("s", agent),
        lambda: repository.create_message("s", "b", message(0)),
        lambda: repository.create_message("t", "a", message(0)),
        lambda: repository.update_message("s", "a", message(0)),
        lambda: repository.list_messages("s", "b"),
        lambda: repository.list_messages("t", "a"),
        lambda: repository.delete_session("t"),
    ):
        with pytest.raises(SessionException, match="does not exist"):
            call()


def test_what_exists_is_not_created_again(repository: SegueRepository) -> None:
    with pytest.raises(SessionException, match="Session s already exists"):
        begin(repository)
    with pytest.raises(SessionException, match="Agent a already exists"):
        repository.create_agent("s", SessionAgent(agent_id="a", state={}, conversation_manager_state={}))


def test_a_deleted_session_is_in_the_trash(repository: SegueRepository) -> None:
    add(repository, "one")
    repository.delete_session("s")
    assert repository.read_session("s") is None
    assert [entry.head.turn_count for entry in repository._sessions.library.trashed()] == [1]


@pytest.mark.parametrize("name", ["x" * 10_000, "a/b", "..", "", "\x00", "ü\ud800"])
def test_every_text_is_an_id(name: str, repository: SegueRepository) -> None:
    begin(repository, name, name)
    repository.create_message(name, name, message(0))
    found = repository.read_session(name)
    assert found is not None
    assert found.session_id == name
    assert len(repository.list_messages(name, name)) == 1


def test_what_is_not_json_is_refused_and_nothing_is_recorded(repository: SegueRepository) -> None:
    with pytest.raises(SessionException, match="message 0 cannot be stored as JSON"):
        repository.create_message("s", "a", message(0, content=[{"text": object()}]))
    with pytest.raises(SessionException, match="the state of agent a cannot be stored as JSON"):
        repository.update_agent("s", SessionAgent(agent_id="a", state={"x": {1, 2}}, conversation_manager_state={}))
    assert repository.list_messages("s", "a") == []


def test_a_large_message_comes_back_equal(repository: SegueRepository, pytestconfig: pytest.Config) -> None:
    size = (100 if pytestconfig.getoption("long") else 3) << 20
    large = message(0, content=[{"text": "x" * size}, {"image": {"format": "png", "source": {"bytes": b"y" * size}}}])
    repository.create_message("s", "a", large)
    assert repository.list_messages("s", "a") == [large]


def test_a_session_that_another_process_has_open_is_an_error_in_time(repository: SegueRepository) -> None:
    with (
        repository._sessions.library.open(repository._sessions.id_of("s")),
        pytest.raises(SessionException, match="is in use by process"),
    ):
        add(repository, "one")
    add(repository, "one")
    assert texts(repository) == ["one"]


def test_a_damaged_session_is_an_error_and_stays_as_it_is(repository: SegueRepository, tmp_path: Path) -> None:
    add(repository, "one", "two")
    (file,) = (tmp_path / "agents").glob("*.jsonl")
    damaged = file.read_bytes().replace(b"two", b"tvo")
    file.write_bytes(damaged)
    with SegueRepository(f"journal:{tmp_path}/agents") as other:
        with pytest.raises(SessionException, match="damaged"):
            other.list_messages("s", "a")
        with pytest.raises(SessionException, match="damaged"):
            add(other, "three", first=2)
    assert file.read_bytes() == damaged


@pytest.mark.needs("mounting")
def test_a_read_only_store_can_be_read(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with small_disk(place, 1 << 20), SegueRepository(f"journal:{place}") as repository:
        begin(repository)
        add(repository, "one")
        make_read_only(place)
        assert texts(repository) == ["one"]
        with pytest.raises(SessionException, match=r"(?i)read-only"):
            add(repository, "two", first=1)


def test_without_strands_the_error_names_the_extra() -> None:
    program = "import sys; sys.modules['strands'] = None; import segue.bridges.strands"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "MissingExtraError: strands-agents is not installed" in done.stderr
