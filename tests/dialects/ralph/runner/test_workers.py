"""Who does the work, by the words of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.runner.workers import CommandWorker, ToolWorker, find_worker, read_back
from segue.errors import NotFoundError, UsageError
from segue.integrations import INTEGRATIONS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    for name in ("codex", "mine"):
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    return {"PATH": str(tmp_path), "HOME": str(tmp_path)}


def test_a_tool_takes_options_of_its_own(environ: dict[str, str], tmp_path: Path) -> None:
    found = find_worker("codex --full-auto 'a b'", environ, str(tmp_path))
    assert found == ToolWorker(tool=INTEGRATIONS["codex"], options=("--full-auto", "a b"))


def test_without_a_word_it_is_the_first_tool_there_is(environ: dict[str, str], tmp_path: Path) -> None:
    assert find_worker("", environ, str(tmp_path)) == ToolWorker(tool=INTEGRATIONS["codex"])
    with pytest.raises(NotFoundError, match="none of claude, codex"):
        find_worker("", {"PATH": ""}, str(tmp_path))


@pytest.mark.parametrize("words", ["mine -x", "./mine -x"])
def test_a_command_is_found_on_the_path_or_from_here(words: str, environ: dict[str, str], tmp_path: Path) -> None:
    found = find_worker(words, environ, str(tmp_path))
    assert isinstance(found, CommandWorker)
    assert (found.argv, found.name) == ((f"{tmp_path}/mine", "-x"), "mine -x")
    agent_run = found.prepare("Do it", title="", cwd=str(tmp_path), environ=environ)
    assert (agent_run.argv, agent_run.stdin, agent_run.native_id) == (found.argv, "Do it", "")


@pytest.mark.parametrize("words", ["claude", "missing", "./missing", "/etc/passwd"])
def test_who_is_not_there_is_told(words: str, environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        find_worker(words, environ, str(tmp_path))


def test_what_is_no_command_is_told(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a valid command"):
        find_worker("a 'b", environ, str(tmp_path))


def test_a_command_keeps_no_transcript(environ: dict[str, str]) -> None:
    assert read_back("mine -x", "", cwd="/", environ=environ) is None
