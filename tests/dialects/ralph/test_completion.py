"""Shells complete the commands and options of `ralphtool`, and the names of changes and sessions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.dialects.ralph.arguments import COMMANDS
from segue.dialects.ralph.completion import complete

if TYPE_CHECKING:
    from tests.support.ralph_demo import Demo

RALPHTOOL = Path(sys.executable).with_name("ralphtool")
BASH = (
    'source ./script; COMP_WORDS=({words} ""); COMP_CWORD={count}; _ralphtool "$0"; printf "%s\\n" "${{COMPREPLY[@]}}"'
)


def offered(line: str) -> list[str]:
    return [word for word, _ in complete(line.split(" "))]


def test_commands_and_all_their_options_are_offered() -> None:
    assert offered("") == ["run", "agent", "completion"]
    assert offered("agent s") == ["session", "status"]
    assert offered("agent session ") == ["init", "next-story", "flush", "status", "list", "release"]
    for called, spec in COMMANDS.items():
        assert offered(f"{called} ") == list(spec.options)
    assert offered("run --change x --t") == ["--timeout", "--takeover"]
    assert offered("run --change x --takeover --t") == ["--timeout"]
    assert "codex" in offered("run --with ")
    for line in ("run --verify ", "agent learn x", "agent learn -- --", "walk "):
        assert offered(line) == []


@pytest.fixture
def script(demo: Demo, request: pytest.FixtureRequest) -> Demo:
    """The demo with the script for a shell, and a session with a hostile title."""
    demo.run("agent", "session", "init", "--change", "add-greeting", "--session", "s1")
    file = demo.temporary / "ralph" / "sessions" / "s1.json"
    file.write_text(file.read_text().replace('"title":"add-greeting"', '"title":"a\\nrm -rf /\\u001b[31m"'))
    (demo.root / "script").write_bytes(demo.run("completion", request.param).out)
    return demo


def answer(demo: Demo, *argv: str) -> list[str]:
    done = subprocess.run(argv, cwd=demo.root, env=demo.environment(), capture_output=True, check=True, text=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_completes(script: Demo) -> None:
    for words, found in (
        ("ralphtool run --change", "add-greeting"),
        ("ralphtool agent status --session", "s1"),
    ):
        code = BASH.format(words=words, count=len(words.split()))
        assert answer(script, "bash", "-c", code, str(RALPHTOOL)) == [found]


@pytest.mark.needs("fish")
@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes_with_meanings(script: Demo) -> None:
    (script.programs / "ralphtool").symlink_to(RALPHTOOL)
    found = answer(script, "fish", "--no-config", "-c", 'source ./script; complete -C "ralphtool run --idle"')
    assert found == ["--idle-timeout\tTIME  stop one that prints nothing for this time, e.g. 10m"]
    (session,) = answer(
        script, "fish", "--no-config", "-c", 'source ./script; complete -C "ralphtool agent context --session "'
    )
    assert session.startswith("s1\t")


@pytest.mark.needs("zsh")
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_zsh_completes_with_meanings(script: Demo) -> None:
    (script.programs / "ralphtool").symlink_to(RALPHTOOL)
    code = (
        "compdef() { :; }; _describe() { print -rl -- ${(P)2}; }; source ./script;"
        " words=(ralphtool run --re); CURRENT=3; _ralphtool"
    )
    assert answer(script, "zsh", "-f", "-c", code) == [
        "--reset:before a retry, put what the failed attempt changed into a git stash; needs --commit"
    ]
