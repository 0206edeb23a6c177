"""The example runs as a program, and the page about the SDK shows what really happens."""

from __future__ import annotations

import shlex
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

from tests.docs.pages import ROOT, blocks, environment, missing_lines

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "how-to" / "openai-agents.md"


def test_the_commands_and_the_code_on_the_page_do_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks(PAGE):
        if block.language in ("shell", "console"):
            for piece in block.text.split("$ ")[1:]:
                command, *shown = piece.rstrip("\n").split("\n")
                output = run(tmp_path, *words(command))
                assert missing_lines(tuple(shown), output) == [], output
        elif block.language == "py":
            body = textwrap.indent(block.text, "    ")
            code = f"import asyncio\nasync def main() -> None:\n{body}\nasyncio.run(main())\n"
            printed = run(tmp_path, sys.executable, "-c", code).splitlines()
            wanted = [line.rpartition("  # ")[2] for line in block.text.splitlines() if line.startswith("print(")]
            assert len(printed) == len(wanted)
            for line, value in zip(printed, wanted, strict=True):
                assert value.startswith("print(") or line == value


def words(command: str) -> list[str]:
    program, *rest = shlex.split(command)
    return [sys.executable, *(["-m", "segue"] if program == "segue" else []), *rest]


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
