"""The tests of emacs/test in a real Emacs, each under its own name, and its compiler and checkdoc on our Lisp."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import segue
from tests.docs.pages import ROOT, environment
from tests.emacs.sessions import write_sessions

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

NEEDS_EMACS = pytest.mark.needs("emacs")

LISP = ROOT / "emacs"
DOUBLE = LISP / "test" / "double"
"""A small double of gptel."""
WITH_GPTEL = ("segue-gptel-test.el", "segue-seed-test.el")
"""What runs with the double and with gptel itself; the second with the double in tests/seeds."""
SOURCES = sorted(LISP.glob("*.el"))

COMMAND = f"{sys.executable}\n-m\nsegue"
PRESET = """---
model: gpt-4o
temperature: 0.7
tools: [read_file]
paths: {read: ["/s/**"]}
shell_commands: {allow: [ls]}
---
Be brief.
"""
Results = dict[str, str | None]
"""By the name of a test, why it failed."""


def names(file: str) -> list[str]:
    return re.findall(r"^\(ert-deftest ([^ ]+)", (LISP / "test" / file).read_text(), re.MULTILINE)


def emacs(*arguments: str | Path, cwd: Path, **environ: str | Path) -> str:
    """What Emacs prints. Without Emacs it fails: in CI, a missing Emacs is a failure."""
    program = shutil.which("emacs")
    assert program, "these tests need Emacs; Debian has it as emacs-nox"
    home = cwd / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        [program, "-Q", "--batch", *map(str, arguments)],
        cwd=cwd,
        env={**environment(home), "SEGUE_TEST_COMMAND": COMMAND, **{key: str(one) for key, one in environ.items()}},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    printed = done.stdout.decode(errors="replace")
    assert done.returncode == 0, printed
    return printed


def load_path(*folders: str | Path) -> list[str]:
    return [word for folder in folders for word in ("-L", str(folder))]


def run(file: str | Sequence[str], room: Path, *folders: str | Path, only: Collection[str] = ()) -> Results:
    """The results of all tests in a file, or in several, in one Emacs; `only` names the sessions that they need."""
    files = [file] if isinstance(file, str) else file
    sessions, found = room / "sessions", room / "results.json"
    write_sessions(sessions, only=only)
    preset = room / "home" / ".config" / "segue" / "agents" / "executor.md"
    preset.parent.mkdir(parents=True)
    preset.write_text(PRESET)
    emacs(
        *load_path(LISP, LISP / "test", *folders),
        *[word for file in (*files, "segue-run.el") for word in ("-l", LISP / "test" / file)],
        cwd=room,
        SEGUE_TEST_SESSIONS=sessions,
        SEGUE_TEST_CORPUS=ROOT / "tests" / "corpus" / "gptel",
        SEGUE_TEST_RESULTS=found,
        TMPDIR=room,
    )
    results: Results = json.loads(found.read_bytes())
    return results


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run("segue-test.el", tmp_path_factory.mktemp("emacs"))


@pytest.fixture(scope="session")
def double_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run("segue-gptel-test.el", tmp_path_factory.mktemp("double"), DOUBLE)


@pytest.fixture(scope="session")
def upstream_results(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Results:
    folders: str = pytestconfig.getoption("--gptel")
    return run(WITH_GPTEL, tmp_path_factory.mktemp("gptel"), *folders.split(os.pathsep))


@NEEDS_EMACS
@pytest.mark.parametrize("name", names("segue-test.el"))
def test_in_emacs(name: str, results: Results) -> None:
    assert results[name] is None


@NEEDS_EMACS
@pytest.mark.parametrize("name", names("segue-gptel-test.el"))
def test_with_the_double_of_gptel(name: str, double_results: Results) -> None:
    assert double_results[name] is None


@NEEDS_EMACS
@pytest.mark.upstream_gptel
@pytest.mark.parametrize("name", [name for file in WITH_GPTEL for name in names(file)])
def test_with_upstream_gptel(name: str, upstream_results: Results) -> None:
    assert upstream_results[name] is None


def probe(room: Path, *folders: str | Path) -> list[str]:
    """What gptel, or its double, does in each case."""
    room.mkdir()
    seen = room / "seen"
    (room / "sessions").mkdir()
    emacs(
        *load_path(LISP, LISP / "test", *folders),
        *("-l", "segue-probe", "-f", "segue-probe-run"),
        cwd=room,
        SEGUE_TEST_SESSIONS=room / "sessions",
        SEGUE_TEST_RESULTS=seen,
        TMPDIR=room,
    )
    return seen.read_text().split("\n")


@NEEDS_EMACS
@pytest.mark.upstream_gptel
def test_the_double_does_what_gptel_does(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    folders = pytestconfig.getoption("--gptel").split(os.pathsep)
    theirs = probe(tmp_path / "gptel", *folders)
    assert len(theirs) > 150
    assert probe(tmp_path / "double", DOUBLE) == theirs


GO_ON = """(progn %s (find-file "%s") %s
    (insert "And ö 😀?\n\n" (propertize "More." 'gptel 'response) "\n\n### ") (save-buffer))"""
SEGUE = '(setq segue-command (split-string (getenv "SEGUE_TEST_COMMAND") "\n")) (segue-mode 1)'
GPTEL = '(text-mode) (hack-local-variables) (gptel-mode 1) (goto-char (point-max)) (search-backward "\n\f")'
Said = list[tuple[str, str]]
SHORT: Said = [("user", "Größe?"), ("assistant", "Ö.")]
LONG: Said = [pair for at in range(300) for pair in (("user", f"{at} ö?"), ("assistant", f"Größe {at}."))]


def said_after_going_on_in_emacs(
    room: Path, *arguments: str | Path, before: Said = SHORT, first: str = SEGUE, there: str = ""
) -> Said:
    with segue.open(f"gptel:{room / 'sessions'}") as library:
        with library.create(agent="executor") as live:
            for role, text in before:
                live.add(role, text)
            session_id = live.id
        file = room / "sessions" / session_id / "current" / "session.md"
        emacs("-L", LISP, *arguments, "-l", "segue", "--eval", GO_ON % (first, file, there), cwd=room)
        assert library.verify(session_id).damages == ()
        return [(turn.role, turn.content) for turn in library.load(session_id).turns]


@NEEDS_EMACS
def test_what_is_typed_in_emacs_without_gptel_is_said_by_the_user(tmp_path: Path) -> None:
    *before, last = said_after_going_on_in_emacs(tmp_path)
    assert before == SHORT
    assert last == ("user", "And ö 😀?\n\nMore.")


@NEEDS_EMACS
@pytest.mark.upstream_gptel
def test_what_is_answered_in_gptel_is_said_by_the_assistant(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    folders = load_path(LISP / "test", *pytestconfig.getoption("--gptel").split(os.pathsep))
    said = said_after_going_on_in_emacs(tmp_path, *folders, "-l", "segue-gptel-test")
    assert said == [*SHORT, ("user", "And ö 😀?"), ("assistant", "More.")]


@NEEDS_EMACS
@pytest.mark.upstream_gptel
@pytest.mark.parametrize("first", [SEGUE, ""], ids=["with segue", "gptel alone"])
def test_three_hundred_answers_are_still_answers_when_gptel_goes_on(
    tmp_path: Path, pytestconfig: pytest.Config, first: str
) -> None:
    folders = load_path(LISP / "test", *pytestconfig.getoption("--gptel").split(os.pathsep))
    arguments = *folders, "-l", "segue-gptel-test"
    there = "" if first else GPTEL
    said = said_after_going_on_in_emacs(tmp_path, *arguments, before=LONG, first=first, there=there)
    assert said == [*LONG, ("user", "And ö 😀?"), ("assistant", "More.")]


@NEEDS_EMACS
def test_our_lisp_compiles_without_a_warning(tmp_path: Path) -> None:
    copies = [shutil.copy(source, tmp_path) for source in SOURCES]
    assert emacs("-L", tmp_path, "-f", "batch-byte-compile", *copies, cwd=tmp_path) == ""


@NEEDS_EMACS
def test_checkdoc_finds_nothing(tmp_path: Path) -> None:
    checks = [word for source in SOURCES for word in ("--eval", f'(checkdoc-file "{source}")')]
    assert emacs("-l", "checkdoc", *checks, cwd=tmp_path) == ""


def test_every_file_of_the_package_is_short() -> None:
    assert {source.name for source in SOURCES if len(source.read_text().splitlines()) > 400} == set()
