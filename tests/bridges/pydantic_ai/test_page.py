"""The example, and the page about it: its commands print what it shows, and its Python runs."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from textwrap import indent
from typing import TYPE_CHECKING

from pydantic_ai import Agent, Conversation
from pydantic_ai.models.test import TestModel

from tests.docs.pages import HOW_TO_INDEX, ROOT, blocks, environment, missing_lines

if TYPE_CHECKING:
    from pathlib import Path

PAGE = HOW_TO_INDEX.with_name("pydantic-ai.md")


def run(home: Path, command: str) -> str:
    program, *arguments = shlex.split(command)
    arguments = [str(ROOT / arguments[0]), *arguments[1:]] if program == "python" else ["-m", "segue", *arguments]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=home, env=environment(home), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def text_of(language: str) -> str:
    (found,) = (block.text for block in blocks(PAGE) if block.language == language)
    return found


def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    shown = [block.text for block in blocks(PAGE) if block.language in ("text", "console")]
    commands = [piece.splitlines() for text in shown for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]
    assert len(commands) == 4
    for command, *lines in commands:
        output = run(tmp_path, command)
        assert missing_lines(tuple(lines), output) == [], output
    again = run(tmp_path, 'python examples/pydantic_ai/agent.py journal:agents trip "And in Oslo?"')
    assert again == "In Oslo it is sunny.\nmessages so far: 12\n"


def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    new = "\n".join(line[1:] for line in text_of("diff").splitlines() if line.startswith("+"))
    code = f"{new}\nasync def main():\n{indent(text_of('py'), '    ')}\n    return result.output\n"
    names: dict[str, object] = {"Conversation": Conversation, "agent": Agent(TestModel())}
    exec(code.replace("~/agents", str(tmp_path)), names)  # noqa: S102 - the page is ours
    main = names["main"]
    assert callable(main)
    assert asyncio.run(main()) == "success (no tool calls)"
    assert len(list(tmp_path.glob("trip-*.jsonl"))) == 1
