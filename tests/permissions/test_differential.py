"""The judge and the shells are one: what is allowed runs in bash, dash and zsh as it was judged, and nothing else does.

Lines are made at random out of what people, agents and attackers write. Each that the judge allows is run for real,
with stubs for commands, and what was called and written is compared with what the judge said.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from segue.permissions import Guard, shell_parser
from segue.permissions.scope import Scope
from segue.permissions.shell_parser import Redirection, SimpleCommand, UnsupportedShellError, parse_shell
from tests.permissions.real_shells import Judged, RealShells
from tests.permissions.shell_lines import make_line

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.needs("bash"), pytest.mark.needs("dash"), pytest.mark.needs("zsh")]

SCOPE = Scope(
    read=("**",),
    write=("app/**",),
    deny=(".env", "**.pem"),
    shell_allow=(
        *("ls *", "cat *", "say *", "git status", "git log *", "true"),
        *("printf *", "test *", "[ *", "exit *", "A=? ls *"),
    ),
    shell_deny=("rm",),
)
BATCH = 200


@pytest.fixture
def shells(tmp_path: Path) -> RealShells:
    return RealShells(tmp_path)


def allowed_lines(shells: RealShells, rng: random.Random, count: int) -> Iterator[Judged]:
    """Those of so many random lines that the judge allows."""
    guard = Guard(SCOPE, project_root=str(shells.project), home=str(shells.home))
    for line in {make_line(rng): None for _ in range(count)}:
        if guard.shell(line).allowed:
            yield Judged(line, parse_shell(line))


def run_in_batches(shells: RealShells, lines: list[Judged]) -> list[str]:
    return [
        difference for at in range(0, len(lines), BATCH) for difference in shells.differences(lines[at : at + BATCH])
    ]


def test_what_is_allowed_runs_in_every_shell_as_it_was_judged(shells: RealShells, rng: random.Random) -> None:
    lines = list(allowed_lines(shells, rng, 10_000))
    assert len(lines) > 2_000, "too few lines are allowed for this to say anything"
    assert run_in_batches(shells, lines[:150]) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(10))
def test_what_is_allowed_runs_in_every_shell_as_it_was_judged_for_long(
    shells: RealShells, rng: random.Random, part: int
) -> None:
    lines = list(allowed_lines(shells, rng, 20_000))
    print(f"part {part}: {len(lines)} of 20000 lines are allowed and run in every shell")  # noqa: T201 - the count is a result
    assert run_in_batches(shells, lines) == []


SAID = (SimpleCommand(("ls", None)),)


@pytest.mark.parametrize(
    "judged",
    [
        Judged('ls "$\\\n(touch X)"', SAID),
        Judged('ls "`touch X`"', SAID),
        Judged("for HOME in /tmp; do git status; done", (SimpleCommand(("git", "status")),)),
        Judged("say > app/$\\\nX", (SimpleCommand(("say",), (Redirection(writes=True, path="app/$X"),)),)),
        Judged("ls <(ls)#x; touch X", (*SAID, SimpleCommand(("ls",)))),
        Judged("{ ls } always { touch X }", (SimpleCommand(("ls", "}", "always", "{", "touch", "X", "}")),)),
        Judged("ls; >&2", (SimpleCommand(("ls",)),)),
        Judged("ls #a", (SimpleCommand(("ls", "#a")),)),
        Judged("ls ~+", (SimpleCommand(("ls", "~+")),)),
        Judged("ls &> app/o", (SimpleCommand(("ls",)),)),
        Judged("printf %d 'path[$(touch X)]'", ()),
        Judged("exit 'path[$(touch X)]'", ()),
        Judged("test -v 'a[$(touch X)]'", ()),
    ],
    ids=lambda judged: judged.line,
)
def test_whoever_judges_such_a_line_wrongly_is_found_out(shells: RealShells, judged: Judged) -> None:
    guard = Guard(SCOPE, project_root=str(shells.project), home=str(shells.home))
    assert not guard.shell(judged.line).allowed
    assert shells.differences([judged])


def also(pattern: re.Pattern[str], characters: str) -> re.Pattern[str]:
    """A run of characters that takes some more of them."""
    return re.compile(pattern.pattern.replace("[", f"[{re.escape(characters)}", 1))


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        ("_PLAIN", also(shell_parser._PLAIN, "`")),
        ("_PLAIN", also(shell_parser._PLAIN, "#")),
        ("_PLAIN", also(shell_parser._PLAIN, "=")),
        ("_PLAIN", also(shell_parser._PLAIN, "*?")),
        ("_PLAIN", also(shell_parser._PLAIN, "{}")),
        ("_QUOTED", re.compile(r'[^"\\]+')),
        ("_COPY", re.compile(r"\d*[<>]&(?:\d|-)?")),
        ("_OPERATOR", re.compile(r"&&|\|\||\|&|[;|&\n]")),
        ("_REDIRECTION", re.compile(r"\d*(>>|>|<)[&|!]?[ \t]*")),
        ("_ARITHMETIC", frozenset[str]()),
    ],
    ids=lambda value: getattr(value, "pattern", str(value)),
)
def test_a_mistake_in_the_judge_is_found_out(
    shells: RealShells, rng: random.Random, monkeypatch: pytest.MonkeyPatch, name: str, planted: object
) -> None:
    def is_found_out() -> bool:
        with monkeypatch.context() as patching:
            patching.setattr(shell_parser, name, planted)
            wrong = list(allowed_lines(shells, rng, 4_000))
        return bool(run_in_batches(shells, [judged for judged in wrong if is_judged_otherwise(judged)][:25]))

    assert any(is_found_out() for _ in range(10))


def is_judged_otherwise(judged: Judged) -> bool:
    try:
        return parse_shell(judged.line) != judged.parts
    except UnsupportedShellError:
        return True
