"""What a session asks for is judged as it will run: whatever it says, without a yes it gets what is usual here."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import segue
from segue.chat.agents import AgentSpec, parse_spec
from segue.chat.agents.resolved import ChatSettings
from segue.chat.agents.resolver import AgentResolver
from segue.durable.folder import Folder
from segue.errors import SegueError, UsageError
from segue.formats.terminal import one_line, printable
from segue.permissions import Permissions
from segue.trust import Trust
from tests.support.surface import make_surface

if TYPE_CHECKING:
    from collections.abc import Callable

    from segue.session import LiveSession

KEYS = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k", "PATH": "/usr/bin:/bin"}
EVIL = "http://evil.example/v1"
WIDE = {"paths": {"read": ["/**"]}}


def live(**overrides: object) -> LiveSession:
    session = segue.open("memory:").create(id="one")
    session.set_overrides(overrides)
    return session


def resolver(
    tmp_path: Path, *, confirm: Callable[[str], bool] = lambda _: False, agent: str = "anthropic"
) -> AgentResolver:
    return AgentResolver(make_surface(tmp_path, environ=KEYS, confirm=confirm), settings=ChatSettings(agent=agent))


def never(_shown: str) -> bool:
    raise AssertionError("nobody is asked")


# ── Whatever a session says ──────────────────────────────────────────────────────────────────────────────────────────


BLANKS = st.text(st.sampled_from(" \t\n\r\u00a0\u2003\u200b\u2028\ufeff\x1c\0"), max_size=3)
WORDS = st.sampled_from(
    [
        *(
            "command:touch X",
            "command:",
            "command:'",
            "COMMAND:x",
            "command:cat",
            "cat",
            "openai",
            "openai/",
            "ollama/x",
        ),
        *(f"gpt@{EVIL}", f"openai/m@{EVIL}", f"@{EVIL}", EVIL, f"m@{EVIL}@{EVIL}", f"ollama/m@{EVIL}", "gpt-4", "opus"),
        *("claude", "claude/opus", "claude/--x", "llm", "codex", "offline", "anthropic", "anthropic/x", "google"),
    ]
)
TEXTS = st.one_of(st.tuples(BLANKS, WORDS, BLANKS).map("".join), st.text(max_size=20))
VALUES = st.one_of(TEXTS, st.none(), st.integers(), st.booleans(), st.lists(TEXTS, max_size=2))
NAMES = st.sampled_from(["agent", "model", "backend", "tools", "command", "base_url"])


@given(overrides=st.dictionaries(NAMES, VALUES), agent=st.sampled_from(["anthropic", "openai", "offline", "google/x"]))
def test_without_a_yes_only_what_is_usual_here_answers(overrides: dict[str, object], agent: str) -> None:
    shown: list[str] = []

    def confirm(text: str) -> bool:
        shown.append(text)
        return False

    with TemporaryDirectory() as folder:
        here = resolver(Path(folder), confirm=confirm, agent=agent)
        try:
            resolved = here.recall(live(**overrides))
        except SegueError:
            return
        usual = here.choose().spec
        assert resolved.spec.kind == "offline" or resolved.spec.reach == usual.reach
        assert not resolved.spec.base_url
        assert shown == []


@given(overrides=st.dictionaries(NAMES, VALUES))
def test_what_a_person_is_shown_is_what_runs_and_cannot_pretend_to_be_a_line_of_ours(
    overrides: dict[str, object],
) -> None:
    shown: list[str] = []

    def confirm(text: str) -> bool:
        shown.append(text)
        return True

    with TemporaryDirectory() as folder:
        here = resolver(Path(folder), confirm=confirm, agent="offline")
        try:
            resolved = here.recall(live(**overrides))
        except SegueError:
            return
        for text in shown:
            head, *lines = text.split("\n")
            assert head == "This session was not set up by you on this machine. It asks for:"
            assert [line[:9] for line in lines] == ["  agent  "]
            assert one_line(resolved.spec.base_url) in text
            assert printable(text) == text


@given(text=st.one_of(TEXTS, st.text()))
def test_a_spec_says_itself_again(text: str) -> None:
    """So that what was agreed to, and what a hint tells one to say, is the same."""
    try:
        spec = parse_spec(text)
    except UsageError:
        return
    assert parse_spec(str(spec)) == spec


# ── What is remembered ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "overrides",
    [
        {"model": "command:cat"},
        {"agent": " command:cat"},
        {"agent": "\u2003command:cat\n"},
        {"agent": "openai/gpt", "model": f"gpt@{EVIL}"},
        {"agent": f"openai/gpt@{EVIL}"},
        {"model": "gpt-4"},
        {"agent": "openai"},
    ],
)
def test_what_a_session_says_is_asked_once_and_again_when_it_changes(
    tmp_path: Path, overrides: dict[str, object]
) -> None:
    session = live(**overrides)
    with pytest.raises(UsageError, match="which was not set here"):
        resolver(tmp_path).recall(session)
    resolver(tmp_path, confirm=lambda _: True).recall(session)
    resolver(tmp_path, confirm=never).recall(session)
    session.set_overrides({"agent": "command:cat other"})
    with pytest.raises(UsageError, match="which was not set here"):
        resolver(tmp_path).recall(session)
    session.set_overrides(overrides)
    resolver(tmp_path, confirm=never).recall(session)


def test_a_copy_elsewhere_is_asked_about_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with segue.open(f"journal:{tmp_path / name}").create(id="same") as session:
            session.set_overrides({"agent": "command:cat"})
    first, second = (segue.open(f"journal:{tmp_path / name}").open("same") for name in ("one", "two"))
    resolver(tmp_path, confirm=lambda _: True).recall(first)
    with pytest.raises(UsageError):
        resolver(tmp_path).recall(second)


def test_another_model_of_the_usual_house_needs_no_question(tmp_path: Path) -> None:
    assert resolver(tmp_path, confirm=never).recall(live(model="opus")).spec.kind == "anthropic"
    assert resolver(tmp_path, confirm=never).recall(live(agent="anthropic/x")).spec.model == "x"
    assert resolver(tmp_path, confirm=never).recall(live(agent="offline")).spec == AgentSpec(kind="offline")
    assert resolver(tmp_path, confirm=never).recall(live()).spec.kind == "anthropic"


def test_where_a_server_passes_words_on_the_model_is_asked_about(tmp_path: Path) -> None:
    settings = ChatSettings(agent="openai/mine", openai_base_url="http://router.example/v1")
    here = AgentResolver(make_surface(tmp_path, environ=KEYS), settings=settings)
    assert here.recall(live(model="mine")).spec.model == "mine"
    with pytest.raises(UsageError, match="openai/theirs"):
        here.recall(live(model="theirs"))


def test_whoever_is_named_now_is_not_asked_about_nor_when_one_comes_back(tmp_path: Path) -> None:
    session = live(agent="command:evil")
    resolver(tmp_path, confirm=never).attach(session, "command:cat")
    session.set_overrides({"agent": "command:cat"})
    assert resolver(tmp_path, confirm=never).recall(session).spec.argv == ("cat",)
    assert resolver(tmp_path, confirm=never).recall(live(agent="command:evil"), "offline").spec.kind == "offline"


def test_another_model_lets_no_strangers_agent_in(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not set here"):
        resolver(tmp_path).recall(live(agent=f"openai/m@{EVIL}"), model="gpt-4")
    session = live(agent=f"openai/m@{EVIL}")
    resolver(tmp_path, confirm=lambda _: True).recall(session)
    assert resolver(tmp_path, confirm=never).recall(session, model="x").spec.base_url == EVIL


# ── Scopes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def permissions(session: LiveSession, tmp_path: Path) -> Permissions:
    marks = Trust(Folder(str(tmp_path / "state" / "trust"))).of(session.store.url, session.id)
    return Permissions(
        session.store,
        session.id,
        project_root=str(tmp_path),
        home=str(tmp_path),
        state=str(tmp_path / "state"),
        record=session.set_scope,
        marks=marks,
    )


def test_a_scope_that_was_not_set_here_allows_nothing_and_is_not_widened(tmp_path: Path) -> None:
    session = live()
    session.set_scope(WIDE)
    here = permissions(session, tmp_path)
    assert not here.check("read", "/etc/passwd").allowed
    with pytest.raises(UsageError, match="was not set here"):
        here.add("read", "notes.md")
    assert not here.check("read", "notes.md").allowed


def test_a_scope_that_is_set_widened_or_agreed_to_here_holds_until_somebody_changes_it(tmp_path: Path) -> None:
    session = live()
    here = permissions(session, tmp_path)
    here.add("read", "notes.md")
    here.add("read", "more.md")
    assert here.check("read", str(tmp_path / "notes.md")).allowed
    session.set_scope(WIDE)
    assert not here.check("read", str(tmp_path / "notes.md")).allowed
    found = here.recorded()
    assert found is not None
    here.trust(found)
    assert here.check("read", "/etc/passwd").allowed
    here.set_scope("paths: {read: ['*.txt']}\n")
    assert here.check("read", str(tmp_path / "a.txt")).allowed
    assert not here.check("read", "/etc/passwd").allowed
