"""One conversation, held in turn in our chat and in the real Claude Code and Codex, against a model on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.integration_machine import Machine as Tools
from tests.support.loopback.model import Model
from tests.support.workspace import Office

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real_tools


class Workshop(Office):
    """An office in which the real tools are installed, and talk to the model beside them."""

    def __init__(self, root: Path, tools: Tools) -> None:
        self._tools = tools
        super().__init__(root)

    def environment(self, **more: str) -> dict[str, str]:
        ours = super().environment(**more)
        path = f"{ours['PATH']}:{self._tools.environ['PATH']}"
        return {**self._tools.environ, **ours, "HOME": str(self._tools.home), "PATH": path}


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as found:
        yield found


@pytest.mark.parametrize("tool", ["claude", "codex"])
def test_all_turns_are_there_in_order_and_once_each(
    tmp_path: Path, model: Model, tool: str, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "office").mkdir()
    tools = Tools(tmp_path / "tools", request.config.getoption("--real-tools"), model, tool)
    office = Workshop(tmp_path / "office", tools)
    office.run(f'cortext new brainstorm "API design" --agent {office.agent("REST is simpler.")}', "REST?", "/exit")
    told = office.run(f"cortext resume 001 --tool {tool}", "Said in the tool.")
    assert "You said: Said in the tool." in told.text
    heard = [said.text for said in model.heard("Said in the tool.")]
    places = [next(at for at, text in enumerate(heard) if words in text) for words in ("REST?", "REST is simpler.")]
    assert places == sorted(places)
    office.run("cortext resume 001", "Said in its own session.")
    office.run(f"cortext resume 001 --tool segue --agent {office.agent('Welcome back.')}", "Back in the chat.", "/exit")
    assert office.said() == [
        "REST?",
        "REST is simpler.",
        "Said in the tool.",
        "You said: Said in the tool.",
        "Said in its own session.",
        "You said: Said in its own session.",
        "Back in the chat.",
        "Welcome back.",
    ]
    assert [message["role"] for message in office.messages()] == ["user", "assistant"] * 4
