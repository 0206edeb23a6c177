"""The session that Kilo wrote, with opencode's tables in a database of its own."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from segue.integrations import INTEGRATIONS
from segue.integrations.registry import integration_sources
from tests.support.corpus_events import HOMES
from tests.support.integration_homes import read, sessions

if TYPE_CHECKING:
    from pathlib import Path


def test_a_session_of_kilo_is_read_with_its_calls_and_usage(tmp_path: Path) -> None:
    home = shutil.copytree(HOMES / "kilo", tmp_path / "home")
    builder, entries = read("kilo", home)
    turns = [entry.turn for entry in entries]
    assert (builder.damages, builder.tool, builder.cwd) == ([], "kilo", "/home/people/e/u1/proj")
    assert [turn.role for turn in turns if turn.role != "tool"] == ["user", *["assistant"] * 4]
    assert turns[0].content == '"#P1# edit [[edit]] [[par]]"'
    assert turns[-1].content == "A#1: done edit+par."
    calls = [part["id"] for turn in turns for part in turn.parts if part["type"] == "tool_call"]
    results = [part["id"] for turn in turns for part in turn.parts if part["type"] == "tool_result"]
    assert len(calls) == 5
    assert calls == results
    assert turns[-1].extra["usage"]["cost_usd"] == 0.001421  # type: ignore[index]  # an object
    assert all(turn.id.startswith("kilo:msg_") for turn in turns)


def test_a_title_that_kilo_has_not_found_yet_is_none(tmp_path: Path) -> None:
    home = shutil.copytree(HOMES / "kilo", tmp_path / "home")
    (session,) = sessions("kilo", home)
    (source,) = integration_sources(home, {})
    assert session.title == ""
    assert source.preview(session.id).head.title == '"#P1# edit [[edit]] [[par]]"'
    assert list(INTEGRATIONS["opencode"].sessions(home, {})) == []
