"""The same operations on the framework's own providers, in memory and in files, and on ours: all results are compared.

The one in memory stores in the state that the caller passes, so the machine has a state for each session. The one in
files and ours do not use it.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Content,
    FileHistoryProvider,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
    SessionContext,
)
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from segue.bridges import NamedSessions, new_id
from segue.bridges.agent_framework import SegueHistoryProvider

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

SESSIONS = st.sampled_from(["one", "one", "one", "two", "a/b", "..", "x" * 200, "default", "", None])
TEXTS = st.sampled_from(["", "a", "b", "a\n\u2028b\x00"]) | st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | TEXTS, lambda inner: st.lists(inner, max_size=2)
)
CONTENTS = st.one_of(
    TEXTS.map(Content.from_text),
    TEXTS.map(lambda text: Content.from_text_reasoning(text=text)),
    st.builds(Content.from_function_call, TEXTS, TEXTS, arguments=st.dictionaries(TEXTS, VALUES, max_size=2) | TEXTS),
    st.builds(Content.from_function_result, TEXTS, result=TEXTS),
    st.binary(max_size=9).map(lambda data: Content.from_data(data, "image/png")),
    TEXTS.map(lambda text: Content.from_error(message=text)),
    TEXTS.map(lambda text: Content.from_uri(f"https://example.com/{len(text)}", media_type="image/png")),
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "user", "assistant", "assistant", "tool", "system", "developer"]),
    st.lists(CONTENTS, max_size=2),
    message_id=st.sampled_from([None, None, None, "m1", "m2"]),
    author_name=st.sampled_from([None, "ann"]),
    additional_properties=st.dictionaries(st.sampled_from(["_excluded", "x"]), VALUES, max_size=2),
)


class Providers(RuleBasedStateMachine):
    """Three providers with the same messages."""

    store = ""

    @initialize(skips=st.booleans())
    def begin(self, skips: bool) -> None:  # noqa: FBT001 - drawn
        self.folder = tempfile.mkdtemp(prefix="segue-history-")
        self.skips, self.world = skips, f"agent-framework-{new_id()}"
        self.loop = asyncio.Runner()
        self.states: dict[str, dict[str, Any]] = {}
        self.memory = InMemoryHistoryProvider(skip_excluded=skips)
        self.reopen()

    @rule()
    def reopen(self) -> None:
        """Another process."""
        self._close()
        self.files = FileHistoryProvider(Path(self.folder) / "files", skip_excluded=self.skips)
        self.ours = SegueHistoryProvider(self.store or f"journal:{self.folder}/ours", skip_excluded=self.skips)
        self.ours._sessions = NamedSessions(self.world, self.ours._sessions.library)

    @rule(session=SESSIONS, messages=st.lists(MESSAGES, max_size=4))
    def save(self, session: str | None, messages: list[Message]) -> None:
        self._same(session, "save_messages", messages)

    @rule(session=SESSIONS, new=st.lists(MESSAGES, max_size=2), count=st.integers(0, 5))
    def save_again(self, session: str | None, new: list[Message], count: int) -> None:
        """The end of the history, or all of it, and what is new."""
        history = self._state(session).get("messages", [])
        self._same(session, "save_messages", [*history[-count:], *new])

    @rule(session=SESSIONS)
    def get(self, session: str | None) -> None:
        self._same(session, "get_messages")

    @rule(session=SESSIONS, message=MESSAGES)
    def save_what_is_not_json(self, session: str | None, message: Message) -> None:
        """The framework leaves such values out."""
        message.additional_properties["x"] = {"in": [1j]}
        self._same(session, "save_messages", [message])
        self.get(session)

    @rule(session=SESSIONS, given=st.lists(MESSAGES, min_size=1, max_size=2))
    def load_before_a_run(self, session: str | None, given: list[Message]) -> None:
        found = []
        for provider in (self.memory, self.files, self.ours):
            context = SessionContext(session_id=session, input_messages=given)
            state = self._state(session)
            self.loop.run(provider.before_run(agent=None, session=None, context=context, state=state))  # type: ignore[arg-type]
            found.append(_plain(context.get_messages()))
        assert found[0] == found[1] == found[2]

    def teardown(self) -> None:
        if hasattr(self, "ours"):
            self._close()
            self.loop.close()
            shutil.rmtree(self.folder)

    def _close(self) -> None:
        if hasattr(self, "ours"):
            self.ours.close()

    def _state(self, session: str | None) -> dict[str, Any]:
        return self.states.setdefault(session or "default", {})

    def _same(self, session: str | None, method: str, *args: list[Message]) -> None:
        results = [self._call(provider, session, method, *args) for provider in (self.memory, self.files, self.ours)]
        assert _plain(results[0]) == _plain(results[1]) == _plain(results[2])

    def _call(self, provider: HistoryProvider, session: str | None, method: str, *args: list[Message]) -> object:
        try:
            return self.loop.run(getattr(provider, method)(session, *args, state=self._state(session)))
        except Exception as error:  # noqa: BLE001 - compared
            return error


def _plain(result: object) -> object:
    """The messages as JSON, without the name of the provider that loaded them."""
    if not isinstance(result, list):
        return result
    found = [message.to_dict() for message in result]
    for message in found:
        message["additional_properties"].pop("_attribution", None)
    return found


def _settings(quick: int) -> settings:
    """So many examples in the quick tier."""
    current = settings()
    is_long = current.max_examples > 100
    return settings(
        max_examples=current.max_examples // 5 if is_long else quick,
        stateful_step_count=25,
        phases=[Phase.reuse, Phase.generate, Phase.shrink],  # an explanation of a failure takes minutes
    )


def test_all_answers_are_those_of_the_providers_of_the_framework() -> None:
    run_state_machine_as_test(Providers, settings=_settings(10))


def test_all_answers_are_the_same_on_postgres(postgres_url: str) -> None:
    on_postgres = type("OnPostgres", (Providers,), {"store": postgres_url})
    run_state_machine_as_test(on_postgres, settings=_settings(4))
