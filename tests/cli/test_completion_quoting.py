"""Untrusted text in a completion, in real shells at a real terminal: nothing of it is ever run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import segue
from tests.support.pty import PtyProcess

if TYPE_CHECKING:
    import random

    from tests.support.cli import Segue

TAB = "\t"
PIECES = [
    "$(touch ran)",
    "`touch ran`",
    "$HOME",
    "'",
    '"',
    "\\",
    ";touch ran;",
    "&touch ran&",
    "|",
    "<ran",
    ">ran",
    "*",
    "?",
]
PIECES += ["~", "!!", "#", "{a,b}", "(", ")", " ", "  ", "[a]", "$'x'", "%", "^", "=", ",", ":", "é", "\u4e2d"]
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
PREPARE = {
    "bash": 'PS1="ready> "; bind "set enable-bracketed-paste off"; bind "set completion-query-items 0"; '
    'bind "set page-completions off"; eval "$(segue completion bash)"',
    "zsh": 'PS1="ready> "; unset zle_bracketed_paste; autoload -U compinit; compinit -u -D; setopt nolistbeep; '
    'eval "$(segue completion zsh)"',
    "fish": 'function fish_prompt; echo -n "ready> "; end; segue completion fish | source',
}
NEEDS = [pytest.param(name, marks=pytest.mark.needs(name)) for name in SHELLS]


PROGRAMS = {
    "segue": "segue",
    "aur": "segue.dialects.aurora",
    "cortext": "segue.dialects.cortext",
    "soleur": "segue.dialects.soleur",
    "ralphtool": "segue.dialects.ralph",
}


@pytest.fixture(autouse=True)
def programs(cli: Segue) -> None:
    """Each program answers completions, and otherwise records its arguments."""
    place = cli.home / "bin"
    place.mkdir()
    for name, module in PROGRAMS.items():
        launcher = place / name
        launcher.write_text(
            f"#!{sys.executable}\nimport os, runpy, sys\n"
            f"if '_{name.upper()}_COMPLETE' in os.environ or sys.argv[1:2] == ['completion']:\n"
            f"    sys.exit(runpy.run_module({module!r}, run_name='__main__', alter_sys=True))\n"
            "open('called', 'a', encoding='utf-8').write(repr(sys.argv[1:]) + chr(10))\n",
            encoding="utf-8",
        )
        launcher.chmod(0o755)


def tagged(cli: Segue, *tags: str) -> None:
    with cli.library.create(agent="qa", tags=tags, id="strange"):
        pass


def typed(cli: Segue, shell: str, *lines: str, shows: str = "") -> list[list[str]]:
    """What the commands were called with when these lines were typed, tabs and all.

    Before the first line ends, `shows` is on the screen.
    """
    environment = cli.environment(PROMPT_TOOLKIT_NO_CPR="1", TERM="dumb" if shell != "fish" else "xterm")
    environment["PATH"] = f"{cli.home / 'bin'}:{environment['PATH']}"
    with PtyProcess(SHELLS[shell], env=environment, cwd=cli.home, columns=2000) as person:
        person.type(f"{PREPARE[shell]}; echo pre''pared\n")
        person.wait_for("prepared")
        for number, line in enumerate(lines):
            person.type(line)
            if shows and not number:
                person.wait_for(shows)
            person.type(f"; echo at''{number}\n")
            person.wait_for(f"at{number}")
        person.type("exit\n")
        person.end()
    assert not (cli.home / "ran").exists()
    called = cli.home / "called"
    return [eval(line) for line in called.read_text(encoding="utf-8").splitlines()] if called.exists() else []  # noqa: S307 - our own


@pytest.mark.parametrize("shell", NEEDS)
def test_a_command_in_a_strangers_tag_is_a_word_and_nothing_runs(cli: Segue, shell: str) -> None:
    tag = "web$(touch ran)`touch ran`;touch ran&'\"x"
    tagged(cli, tag)
    assert typed(cli, shell, f"segue list --tag web{TAB}") == [["list", "--tag", tag]]


@pytest.mark.needs("bash")
def test_within_quotes_it_is_quoted_as_the_word_is(cli: Segue) -> None:
    tagged(cli, "one$(touch ran)`touch ran` more", "two'$(touch ran)", 'three"$(touch ran)!!')
    lines = (f'segue list --tag "one{TAB}', f"segue list --tag 'one{TAB}", f'segue list --tag "two{TAB}')
    assert [words[-1] for words in typed(cli, "bash", *lines)] == [
        "one$(touch ran)`touch ran` more",
        "one$(touch ran)`touch ran` more",
        "two'$(touch ran)",
    ]


@pytest.mark.parametrize("shell", NEEDS)
def test_what_has_a_line_break_or_cannot_be_seen_is_not_offered(cli: Segue, shell: str) -> None:
    tagged(cli, "web\nfile\nplain\n$(touch ran)", "web\x1b]0;x\x07", "web\u202ex", "webbed")
    assert typed(cli, shell, f"segue list --tag web{TAB}") == [["list", "--tag", "webbed"]]


@pytest.mark.needs("bash")
def test_a_script_of_an_earlier_version_gets_plain_words_only(cli: Segue) -> None:
    tagged(cli, "web-1", "web$(touch ran)")
    line = "segue list --tag web"
    assert cli.ok(COMP_WORDS=line, COMP_CWORD="3", _SEGUE_COMPLETE="bash_complete") == "plain,web-1\n"


@pytest.mark.parametrize("shell", NEEDS[1:])
def test_the_shell_shows_titles_of_sessions_and_obeys_none_of_them(cli: Segue, shell: str) -> None:
    for id, title in (("login", "Login $(touch ran)`touch ran`:bug%n"), ("logout", "Out\x1b]0;x\x07\n;touch ran")):
        with cli.library.create(id=id, title=title) as live:
            live.add("user", "Hello")
    called = typed(cli, shell, f"segue show lo{TAB}{TAB}", shows="Login $(touch ran)`touch ran`:bug%n")
    assert called[-1][:1] == ["show"]


@pytest.mark.parametrize("shell", NEEDS)
def test_the_other_commands_complete_their_sessions_too(cli: Segue, shell: str) -> None:
    for url, id in (
        (f"journal:{cli.home}/.aurora/spawn/sessions", "review-1"),
        (f"soleur:{cli.home}/.soleur/sessions", "0b1ec7ed-0000-4000-8000-000000000001"),
    ):
        with segue.open(url).create(id=id, title="Login bug") as live:
            live.add("user", "Hello")
    (cli.home / ".workspace").mkdir()
    with segue.open(f"cortext:{cli.home}").create(agent="brainstorm", title="Garden") as live:
        conversation = live.id
    (cli.home / "openspec" / "changes" / "add-login").mkdir(parents=True)
    (cli.home / "openspec" / "changes" / "add-login" / "tasks.md").write_text("## 1. One\n- [ ] 1.1 Do\n")
    lines = {
        f"aur spawn --resume rev{TAB}": ["spawn", "--resume", "review-1"],
        f"soleur load 0b1{TAB}": ["load", "0b1ec7ed-0000-4000-8000-000000000001"],
        f"cortext resume {conversation[:6]}{TAB}": ["resume", conversation],
        f"ralphtool agent session next{TAB}": ["agent", "session", "next-story"],
        f"ralphtool run --change add{TAB}": ["run", "--change", "add-login"],
    }
    assert typed(cli, shell, *lines) == list(lines.values())


def _check_any(cli: Segue, shell: str, rng: random.Random, count: int) -> None:
    """Random words of what shells obey."""
    tags = [f"w{number}x" + "".join(rng.choices(PIECES, k=rng.randint(1, 5))) for number in range(count)]
    tagged(cli, *tags)
    lines = [f"segue list --tag w{number}x{TAB}" for number in range(count)]
    assert [words[-1] for words in typed(cli, shell, *lines)] == tags


@pytest.mark.parametrize("shell", NEEDS)
def test_any_tag_completes_to_exactly_itself(cli: Segue, shell: str, rng: random.Random) -> None:
    _check_any(cli, shell, rng, 12)


@pytest.mark.long
@pytest.mark.parametrize("shell", NEEDS)
def test_any_of_many_tags_completes_to_exactly_itself(cli: Segue, shell: str, rng: random.Random) -> None:
    _check_any(cli, shell, rng, 200)
