"""One lookup for all programs, which never finds one in the folder one is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.chat.agent import AgentError, Message, Request
from segue.chat.agents.command import CommandAgent
from segue.console.entry import absolute_search_path
from segue.process import which

if TYPE_CHECKING:
    from pathlib import Path


QUESTION = Request(system="", messages=(Message(role="user", content="Why?"),))


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs of a stranger, which one is in."""
    for place in (tmp_path, tmp_path / "bin"):
        place.mkdir(exist_ok=True)
        (place / "claude").write_text("#!/bin/sh\ntouch ran\n", encoding="utf-8")
        (place / "claude").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "path", ["", ":", "::", ".", "./", "..", "bin", "./bin", "~", "/nowhere:", ":/nowhere", ".:/nowhere"]
)
def test_empty_and_relative_elements_of_the_path_find_nothing(clone: Path, path: str) -> None:
    assert which("claude", {"PATH": path}) is None
    with pytest.raises(AgentError, match="there is no command"):
        list(CommandAgent(["claude"], environ={"PATH": path}).answer(QUESTION))
    assert not (clone / "ran").exists()
    assert absolute_search_path(path) in {"", "/nowhere"}


def test_absolute_folders_are_searched_in_order_and_a_slash_means_a_path(clone: Path) -> None:
    assert which("claude", {"PATH": f":{clone}/nowhere:{clone}/bin:{clone}"}) == f"{clone}/bin/claude"
    assert which("./claude", {"PATH": ""}) == "./claude"
    for name in ("", "no\0name", "./nothing", "bin", "./bin"):
        assert which(name, {"PATH": str(clone)}) is None
