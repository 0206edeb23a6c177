"""Every command on the pages is run, each page on a fresh machine, and prints what the page shows.

The commands of a page run in one shell, from top to bottom, as a reader types them into one terminal: a folder that is
entered stays entered, and a variable that is set stays set. A page leaves none of our variables exported.

A command is a line that begins with `$ ` in a block marked `console`. It must end with 0, or with N where its line ends
in `# exit N`. The lines after it are lines of its output, in this order; others may be between them, and `…` stands for
anything. A command whose line ends in `# until Ctrl-C` runs in the background until it has printed its lines.

What a page takes for granted (an AI tool with a conversation, an old session) is made by `stand_ins/PAGE.sh`, in the
same shell and before the first command.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Timer
from typing import IO, TYPE_CHECKING, NamedTuple

import pytest

from segue.console.exit_codes import MEANINGS
from tests.docs.pages import HOW_TO, README, ROOT, Command, commands, environment, missing_lines, name_of
from tests.support.integration_homes import CORPUS
from tests.support.loopback.model import Model
from tests.support.postgres import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAMS = ("emacs", "jq")
"""What commands on the pages use, and not every machine has."""
STAND_INS = Path(__file__).parent / "stand_ins"
LOCAL_MODEL = "http://localhost:8080"
"""Where pages have a model; a model on loopback takes its place."""
DATABASE_HOST = "db.example"
"""Where pages have a Postgres server; one on loopback takes its place, and its programs are on the PATH."""
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


class Background(NamedTuple):
    """A command that runs until it has printed what the page shows."""

    command: Command
    pid: int
    output: IO[str]

    def end(self) -> None:
        """Read until all of it has come, then end the process."""
        output = ""
        watchdog = Timer(SAFE_SECONDS, self._kill)
        watchdog.start()
        while missing_lines(self.command.shown, output) and (line := self.output.readline()):
            output += line
        watchdog.cancel()
        self._kill()
        self.output.close()
        assert missing_lines(self.command.shown, output) == [], f"$ {self.command.text}\n{output}"

    def _kill(self) -> None:
        os.kill(self.pid, 9)


class Shell:
    """One shell in which the commands of a page run one after the other."""

    def __init__(self, root: Path, home: Path, variables: dict[str, str]) -> None:
        self._root = root
        self._count = 0
        self._process = Popen(["sh"], cwd=home, env=variables, stdin=PIPE, stdout=PIPE, text=True, bufsize=1)

    def run(self, text: str) -> tuple[int, str]:
        """The exit code and the output of a command; it has no input of its own."""
        path = self._root / "output"
        answer = self._ask(f"{{ {text}\n}} </dev/null >'{path}' 2>&1; echo $?")
        output = path.read_text(encoding="utf-8") if path.exists() else ""
        assert answer.isdecimal(), f"the shell ended: $ {text}\n{output}"
        return int(answer), output

    def start(self, command: Command) -> Background:
        """Run a command in the background."""
        self._count += 1
        path = self._root / f"output-{self._count}"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # so that the command need not wait for a reader
        # The last command waits until the other one has opened the pipe: before that, a reader finds its end.
        pid = int(self._ask(f"{{ exec {command.text}\n}} </dev/null >'{path}' 2>&1 & echo $!; : <'{path}'"))
        os.set_blocking(reader, True)
        return Background(command, pid, os.fdopen(reader, encoding="utf-8"))

    def end(self) -> None:
        with self._process:
            self._process.kill()

    def _ask(self, script: str) -> str:
        """Pass lines to the shell; what it prints itself is the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = Timer(SAFE_SECONDS, self._process.kill)
        watchdog.start()
        self._process.stdin.write(f"{script}\n")
        answer = self._process.stdout.readline().strip()
        watchdog.cancel()
        return answer


def with_needs(page: Path) -> object:
    text = "\n".join(command.text for command in commands(page))
    marks = [pytest.mark.needs(name) for name in PROGRAMS if re.search(rf"\b{name}\b", text)]
    return pytest.param(page, id=name_of(page), marks=marks)


@pytest.mark.parametrize("page", [with_needs(page) for page in (README, *HOW_TO)])
def test_the_commands_on_the_page_work_in_one_terminal_and_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    run_page(page, tmp_path)


def run_page(page: Path, root: Path) -> None:
    home, variables = new_machine(root)
    text = page.read_text(encoding="utf-8")
    with ExitStack() as machine:
        places = {}
        if LOCAL_MODEL in text:
            places[LOCAL_MODEL] = machine.enter_context(Model()).url
        if DATABASE_HOST in text:
            server = machine.enter_context(PostgresServer.create())
            places[DATABASE_HOST] = f"127.0.0.1:{server.port}"
            variables["PATH"] = f"{server.programs}{os.pathsep}{variables['PATH']}"
        shell = Shell(root, home, variables)
        machine.callback(shell.end)
        stand_in = STAND_INS / f"{page.stem}.sh"
        if stand_in.exists():
            assert shell.run(f"CORPUS='{CORPUS}'; . '{stand_in}'") == (0, "")
        for shown in commands(page):
            command = moved(shown, places)
            if command.in_background:
                machine.callback(shell.start(command).end)
                continue
            code, output = shell.run(command.text)
            assert code == command.exit_code, f"$ {command.text}\n{output}"
            assert missing_lines(command.shown, output) == [], f"$ {command.text}\n{output}"
        _, exported = shell.run("env")
        assert re.findall(r"^(?:SEGUE|RALPH)_\w+", exported, re.MULTILINE) == [], "the next page starts with these"


def moved(command: Command, places: Mapping[str, str]) -> Command:
    """The same command with other places."""
    for place, other in places.items():
        lines = tuple(line.replace(place, other) for line in command.shown)
        command = command._replace(text=command.text.replace(place, other), shown=lines)
    return command


def test_every_stand_in_is_that_of_a_page() -> None:
    assert {path.stem for path in STAND_INS.glob("*.sh")} <= {page.stem for page in (README, *HOW_TO)}


@pytest.mark.parametrize("page", [README, *HOW_TO], ids=name_of)
def test_there_are_commands_on_the_page(page: Path) -> None:
    assert commands(page)


def test_the_page_on_scripts_explains_each_exit_code() -> None:
    page = (ROOT / "docs" / "how-to" / "script.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| (.+?) \|$", page, re.MULTILINE)
    assert listed == [(f"{code:d}", meaning) for code, meaning in MEANINGS.items()]


# ── The checks themselves ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "$ mkdir a\n$ cd a && true\n$ cd a && true\n",
        "$ export SEGUE_STORE=journal:there\n",
        "$ false\n",
        "$ echo x\ny\n",
        "$ fi\n",
    ],
)
def test_a_page_that_does_not_work_in_one_terminal_is_found(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n{text}```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run_page(page, tmp_path)


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
