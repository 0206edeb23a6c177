"""Every command on the pages is run, page by page, each page on a fresh machine, and prints what the page shows.

A command is a line that begins with `$ ` in a block marked `console`. It must end with 0, or with N where its line ends
in `# exit N`. The lines after it are lines of its output, in this order; others may be between them, and `…` stands for
anything. A command whose line ends in `# until Ctrl-C` runs in the background until it has printed its lines.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack
from subprocess import DEVNULL, PIPE, STDOUT, Popen
from typing import TYPE_CHECKING

import pytest

from segue.console.exit_codes import MEANINGS
from tests.docs.pages import HOW_TO, README, ROOT, Command, commands, environment, missing_lines, name_of

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ("emacs", "jq")
"""What commands on the pages use, and not every machine has."""
SAFE_SECONDS = 60
"""A command that waits for something that never comes is a failure, not a hang."""


def new_machine(root: Path) -> tuple[Path, dict[str, str]]:
    """A home with nothing in it, and our commands on the PATH; `segue` also in the current folder."""
    home, programs, temporary = root / "home", root / "bin", root / "tmp"
    for folder in (home, programs, temporary):
        folder.mkdir()
    dialects = {"aur": "aurora", "cortext": "cortext", "ralphtool": "ralph", "soleur": "soleur"}
    modules = {name: f"segue.dialects.{dialect}" for name, dialect in dialects.items()}
    for name, module in {"segue": "segue", **modules}.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    (home / "segue").symlink_to(programs / "segue")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return home, {**environment(home), "PATH": path, "TMPDIR": str(temporary)}


def with_needs(page: Path) -> object:
    text = "\n".join(command.text for command in commands(page))
    marks = [pytest.mark.needs(name) for name in PROGRAMS if re.search(rf"\b{name}\b", text)]
    return pytest.param(page, id=name_of(page), marks=marks)


@pytest.mark.parametrize("page", [with_needs(page) for page in (README, *HOW_TO)])
def test_the_commands_on_the_page_work_and_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    home, variables = new_machine(tmp_path)
    with ExitStack() as machine:
        for command in commands(page):
            process = Popen(
                ["sh", "-c", f"exec {command.text}" if command.in_background else command.text],
                cwd=home,
                env=variables,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                text=True,
            )
            if command.in_background:
                machine.callback(end, process, command)
                continue
            output, _ = process.communicate(timeout=SAFE_SECONDS)
            assert process.returncode == command.exit_code, f"$ {command.text}\n{output}"
            assert missing_lines(command.shown, output) == [], f"$ {command.text}\n{output}"


def end(process: Popen[str], command: Command) -> None:
    """Read until all that the page shows has come, then end the process."""
    with process:
        output = ""
        while (
            missing_lines(command.shown, output) and process.stdout is not None and (line := process.stdout.readline())
        ):
            output += line
        process.kill()
    assert missing_lines(command.shown, output) == [], f"$ {command.text}\n{output}"


@pytest.mark.parametrize("page", [README, *HOW_TO], ids=name_of)
def test_there_are_commands_on_the_page(page: Path) -> None:
    assert commands(page)


def test_the_page_on_scripts_explains_each_exit_code() -> None:
    page = (ROOT / "docs" / "how-to" / "script.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| (.+?) \|$", page, re.MULTILINE)
    assert listed == [(f"{code:d}", meaning) for code, meaning in MEANINGS.items()]


# ── The checks themselves ────────────────────────────────────────────────────────────────────────────────────────────


def test_marks_are_read_and_not_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ a  # exit 3\n$ b # until Ctrl-C\nx\n$ c # d\n```\n```sh\n$ e\n```\n", encoding="utf-8"
    )
    assert commands(page) == [
        Command("a", exit_code=3, in_background=False, shown=()),
        Command("b", exit_code=0, in_background=True, shown=("x",)),
        Command("c # d", exit_code=0, in_background=False, shown=()),
    ]


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        (("one", "three"), []),
        (("o…", "t…e"), []),
        (("three", "one"), ["one"]),
        (("on",), ["on"]),
        (("one", "one"), ["one"]),
        (("o.e",), ["o.e"]),
    ],
)
def test_output_is_compared_line_by_line_in_order(shown: tuple[str, ...], missing: list[str]) -> None:
    assert missing_lines(shown, "one\ntwo\nthree\n") == missing
