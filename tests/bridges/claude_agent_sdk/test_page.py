"""The example, and the page about it: its commands print what it shows."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.docs.pages import HOW_TO_INDEX, ROOT, blocks, commands, environment, missing_lines

if TYPE_CHECKING:
    from pathlib import Path

PAGE = HOW_TO_INDEX.with_name("claude-agent-sdk.md")


def run(home: Path, command: str) -> str:
    """What a command of the page prints; `segue` and `python` are those of the tests."""
    program, *arguments = shlex.split(command)
    start = [] if program == "python" else ["-m", "segue"]
    done = subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=home,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stderr}"
    return done.stdout


def test_the_agent_of_the_page_and_then_its_commands_print_what_it_shows(tmp_path: Path) -> None:
    (example,) = (block.text for block in blocks(PAGE) if block.language == "text")
    first, *lines = example.removeprefix("$ ").replace("examples/", f"{ROOT}/examples/").splitlines()
    output = run(tmp_path, first)
    assert missing_lines(tuple(lines), output) == [], output
    for command in commands(PAGE):
        output = run(tmp_path, command.text)
        assert missing_lines(command.shown, output) == [], f"$ {command.text}\n{output}"


def test_what_the_page_changes_can_be_imported() -> None:
    (diff,) = (block.text for block in blocks(PAGE) if block.language == "diff")
    new = [line.removeprefix("+") for line in diff.splitlines() if line.startswith("+")]
    exec("from claude_agent_sdk import ClaudeAgentOptions\n" + "\n".join(new), {})  # noqa: S102 - the page is ours
