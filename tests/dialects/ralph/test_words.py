"""What may be said on the command line, and what is said of the rest."""

from __future__ import annotations

import pytest

from segue.dialects.ralph.arguments import RUN, VERBS, ParsedArguments, help_of, read
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
    assert read(line.split()) == said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("walk", "there is no command 'ralphtool walk'"),
        ("run --with claude", "--change is missing"),
        ("run --change login now", "run takes no words; 1 were given"),
        ("agent bogus x", "there is no command 'ralphtool agent bogus x'"),
        ("agent session", "there is no command 'ralphtool agent session'"),
        ("agent learn", "learn takes TEXT; 0 were given"),
        ("agent learn a b", "learn takes TEXT; 2 were given"),
        ("agent status now", "status takes no words; 1 were given"),
        ("agent learn a --bogus", "there is no option --bogus"),
        ("agent learn a --task", "--task needs a value"),
        ("agent session init", "--change is missing"),
    ],
)
def test_a_mistake_is_named(line: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(line.split())
    assert str(caught.value) == why
    assert "--help" in caught.value.hint


def test_help_names_every_command_and_every_option() -> None:
    overview = help_of(["--help"])
    assert overview is not None
    assert overview == help_of(["agent", "-h"])
    for called, verb in {"run": RUN, **{f"agent {name}": verb for name, verb in VERBS.items()}}.items():
        assert f"ralphtool {called} " in overview
        shown = help_of([*called.split(), "--help"])
        assert shown is not None
        assert all(option in shown for option in verb.options)
