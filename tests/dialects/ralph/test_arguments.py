"""What may be said on the command line, and what is said of the rest."""

from __future__ import annotations

import pytest

from segue.dialects.ralph.arguments import COMMANDS, ParsedArguments, find_help, parse_arguments
from segue.errors import UsageError


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("agent status", ParsedArguments("status", (), {})),
        ("agent task done 1.1 --story 1", ParsedArguments("task done", ("1.1",), {"--story": "1"})),
        ("agent task done --story=1 1.1", ParsedArguments("task done", ("1.1",), {"--story": "1"})),
        ("agent learn -x --task 1.1", ParsedArguments("learn", ("-x",), {"--task": "1.1"})),
        ("agent learn -- --x", ParsedArguments("learn", ("--x",), {})),
        (
            "agent session init --takeover --change login",
            ParsedArguments("session init", (), {"--takeover": "", "--change": "login"}),
        ),
    ],
)
def test_what_is_said_is_understood(line: str, said: ParsedArguments) -> None:
    assert parse_arguments(line.split()) == said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("walk", "there is no command 'ralphtool walk'"),
        ("run --with claude", "--change is missing"),
        ("run --change login now", "run takes no arguments; 1 were given"),
        ("agent bogus x", "there is no command 'ralphtool agent bogus x'"),
        ("agent session", "there is no command 'ralphtool agent session'"),
        ("agent learn", "learn takes TEXT; 0 were given"),
        ("agent learn a b", "learn takes TEXT; 2 were given"),
        ("agent status now", "status takes no arguments; 1 were given"),
        ("agent learn a --bogus", "there is no option --bogus"),
        ("agent learn a --task", "--task needs a value"),
        ("agent session init", "--change is missing"),
    ],
)
def test_a_mistake_is_named(line: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arguments(line.split())
    assert str(caught.value) == why
    assert "--help" in caught.value.hint


def test_help_names_every_command_and_every_option() -> None:
    overview = find_help(["--help"])
    assert overview is not None
    assert overview == find_help(["agent", "-h"])
    for called, verb in COMMANDS.items():
        assert f"ralphtool {called} " in overview
        shown = find_help([*called.split(), "--help"])
        assert shown is not None
        assert all(option in shown for option in verb.options)
