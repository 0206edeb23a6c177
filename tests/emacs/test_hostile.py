"""Untrusted footers: Emacs runs nothing of them, keeps no text property, and reads plain values as we do."""

from __future__ import annotations

import json
import os
import pty
import random
import select
import shutil
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from segue.dialects.gptel.format.footer import read_page
from segue.dialects.gptel.format.lisp import BadLispError, Pair, parse_lisp, print_lisp
from tests.emacs.hostile import CANARY, VARIABLES, hostile, plain
from tests.emacs.test_emacs import LISP, NEEDS_EMACS, emacs, load_path

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = pytest.mark.parametrize(
    "count", [150, pytest.param(20_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])]
)


def footer_of(chance: random.Random) -> str:
    """Some variables, in one of the ways in which Emacs finds them."""
    around = chance.choice([("<!-- ", " -->"), (";; ", ""), ("# ", ""), ("", ""), ("/* ", " */")])
    names = chance.sample(VARIABLES, k=chance.randint(1, 4))
    lines = ["Local Variables:", *[f"{name}: {hostile(chance)}" for name in names], "End:"]
    feed = chance.choice(["", "\f\n", "\f", "\f\n<!-- segue 3.0 00000000 00000000 00000000 -->\n"])
    return feed + "".join(f"{around[0]}{line}{around[1]}\n" for line in lines)


def is_plain(value: object) -> bool:
    match value:
        case None | bool() | int() | float() | str():
            return True
        case list() | Pair():
            return all(is_plain(item) for item in value)
    return False


@COUNTS
def test_no_value_of_a_footer_is_anything_but_plain(pytestconfig: pytest.Config, count: int) -> None:
    chance = random.Random(pytestconfig.getoption("--seed"))
    for _ in range(count * 10):
        text = hostile(chance)
        try:
            value = parse_lisp(text)
        except BadLispError:
            continue
        assert is_plain(value), text
        again = parse_lisp(print_lisp(value))  # what cannot be shown is replaced in names
        assert parse_lisp(print_lisp(again)) == again, text
        assert not text.lstrip().startswith(("#", "'", "`", "[")), text


@NEEDS_EMACS
@COUNTS
def test_emacs_runs_nothing_of_a_footer_and_reads_plain_values_as_we_do(
    tmp_path: Path, pytestconfig: pytest.Config, count: int
) -> None:
    chance = random.Random(pytestconfig.getoption("--seed"))
    footers = [footer_of(chance) for _ in range(count)]
    values = [plain(chance) for _ in range(count)]
    (tmp_path / "footers").write_text("\n".join(map(json.dumps, footers)))
    (tmp_path / "values").write_text("\n".join(json.dumps(print_lisp(value)) for value in values))
    emacs(
        *load_path(LISP, LISP / "test"),
        *("-l", "segue-hostile-test", "-f", "segue-hostile-run"),
        cwd=tmp_path,
        SEGUE_TEST_CANARY=tmp_path / "canary",
        SEGUE_TEST_FOOTERS=tmp_path / "footers",
        SEGUE_TEST_VALUES=tmp_path / "values",
        SEGUE_TEST_RESULTS=tmp_path / "results",
        SEGUE_TEST_SESSIONS=tmp_path,
        TMPDIR=tmp_path,
    )
    assert not (tmp_path / "canary").exists()
    found = [parse_lisp(json.loads(line)) for line in (tmp_path / "results").read_text().split("\n")]
    assert found == values


SHOWN = [
    f'<!-- gptel--backend-name: #("x" 0 1 (display (when {CANARY} . "y"))) -->',
    f'<!-- gptel--tool-names: (#("x" 0 1 (display (when {CANARY} . "y")))) -->',
    f'<!-- gptel--system-message: #("x" 0 1 (display (when {CANARY} . "y"))) -->',
    f"<!-- eval: {CANARY} -->",
    "<!-- mode: emacs-lisp -->",
    f"<!-- mode-line-format: (:eval {CANARY}) -->",
]


@NEEDS_EMACS
@pytest.mark.parametrize("line", SHOWN)
def test_nothing_runs_when_a_terminal_shows_it(tmp_path: Path, line: str) -> None:
    """Properties run Lisp only when something is displayed, which no Emacs without a terminal does."""
    branch = tmp_path / "x-20260301120000" / "branches" / "main"
    branch.mkdir(parents=True)
    begin, end = "<!-- Local Variables: -->", "<!-- End: -->"
    (branch / "session.md").write_text(f"-*- mode: emacs-lisp; eval: {CANARY} -*-\n\f\n{begin}\n{line}\n{end}\n")
    show = """(condition-case problem (progn (require 'warnings) (setq segue-command "/nowhere/segue") (segue-mode 1)
      (setq-default enable-local-variables :all enable-local-eval t)
      (defvar gptel--known-backends nil) (provide 'gptel)
      (find-file (getenv "SEGUE_TEST_FILE")) (display-buffer "*Warnings*") (redisplay t)
      (switch-to-buffer "*Warnings*") (redisplay t) (describe-variable 'gptel--backend-name) (redisplay t)
      (write-region (symbol-name (buffer-local-value 'major-mode (get-file-buffer (getenv "SEGUE_TEST_FILE")))) nil
                    (getenv "SEGUE_TEST_RESULTS"))
      (kill-emacs)) (error (princ problem #'external-debugging-output) (kill-emacs 1)))"""
    at_terminal(
        tmp_path,
        *("-Q", *load_path(LISP), "-l", "segue", "--eval", "(setq inhibit-startup-screen t)", "--eval", show),
        SEGUE_TEST_FILE=str(branch / "session.md"),
        SEGUE_TEST_CANARY=str(tmp_path / "canary"),
        SEGUE_TEST_RESULTS=str(tmp_path / "mode"),
    )
    assert (tmp_path / "mode").read_text() == "text-mode"
    assert not (tmp_path / "canary").exists()


def at_terminal(home: Path, *arguments: str, **environ: str) -> None:
    """Emacs at a terminal of its own, until it ends."""
    program = shutil.which("emacs")
    assert program
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        environ |= {"HOME": str(home), "TERM": "vt100", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        os.execve(program, ["emacs", "-nw", *arguments], environ)  # noqa: S606 - no shell is wanted
    shown = b""
    with suppress(OSError):  # it has ended
        while select.select([terminal], [], [], 20)[0] and (more := os.read(terminal, 1 << 16)):
            shown += more
        os.kill(child, signal.SIGKILL)  # it waits for an answer
    os.close(terminal)
    status = os.waitpid(child, 0)[1]
    assert status == 0, shown.decode(errors="replace")


def test_a_page_with_a_hostile_footer_has_no_value_of_it() -> None:
    lines = ["Local Variables:", f'gptel--backend-name: #("x" 0 1 (display (when {CANARY})))', "End:"]
    footer = "".join(f"<!-- {line} -->\n" for line in lines)
    assert read_page(f"### Hi\n\f\n{footer}".encode()).variables == {}
