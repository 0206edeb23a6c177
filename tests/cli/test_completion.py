from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.cli import Segue


NEEDS_BASH = pytest.mark.needs("bash")


def complete(cli: Segue, *words: str) -> list[str]:
    """What real bash offers for the last word."""
    launcher = cli.home / "segue"
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -m segue "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    quoted = " ".join(f"'{word}'" for word in ("segue", *words))
    script = f"""
        eval "$(segue completion bash)"
        COMP_WORDS=({quoted}); COMP_CWORD={len(words)}
        _segue_completion segue
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = cli.environment()
    environment["PATH"] = f"{cli.home}:{environment['PATH']}"
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, check=True, env=environment)
    assert done.stderr == b""
    return done.stdout.decode().split()


@NEEDS_BASH
def test_verbs_complete(cli: Segue) -> None:
    assert complete(cli, "re") == ["resume", "rename", "reopen", "relink", "recover"]


@NEEDS_BASH
def test_options_complete(cli: Segue) -> None:
    assert complete(cli, "list", "--s") == ["--status", "--since", "--store"]


@NEEDS_BASH
def test_ids_complete(cli: Segue, session: str) -> None:
    cli.ok("new", "--id", "logout")
    assert complete(cli, "show", "log") == ["logout", session]
    assert complete(cli, "delete", session, "logo") == ["logout"]


@NEEDS_BASH
def test_words_of_a_title_complete_to_the_id_and_lines_of_the_last_list_to_themselves(cli: Segue, session: str) -> None:
    cli.ok("new", "--id", "other", "--title", "Holidays")
    assert complete(cli, "show", "holi") == ["other"]
    assert complete(cli, "ask", "--session", "bug") == [session]
    assert cli.call(COMP_WORDS="segue show @", COMP_CWORD="2", _SEGUE_COMPLETE="zsh_complete").text == "\n"
    cli.ok("list")
    asked = cli.call(COMP_WORDS="segue show @", COMP_CWORD="2", _SEGUE_COMPLETE="zsh_complete").text
    assert asked.splitlines() == ["plain", "@1", "Holidays", "plain", "@2", "Login bug"]


@NEEDS_BASH
def test_agents_complete_presets_first(cli: Segue) -> None:
    folder = cli.home / ".config" / "segue" / "agents"
    folder.mkdir(parents=True)
    (folder / "officer.md").write_text("You keep order.\n", encoding="utf-8")
    assert complete(cli, "chat", "--agent", "off") == ["officer", "offline"]


@NEEDS_BASH
def test_branches_tags_and_choices_complete(cli: Segue, session: str) -> None:
    cli.ok("fork", session, "--name", "other")
    assert complete(cli, "switch", session, "o") == ["other"]
    assert complete(cli, "show", session, "--branch", "") == ["main", "other"]
    assert complete(cli, "list", "--tag", "") == ["web"]
    assert complete(cli, "list", "--status", "p") == ["paused"]
    assert complete(cli, "import", "cl") == ["claude", "cline"]


@NEEDS_BASH
def test_a_store_on_the_line_is_the_one_that_completes(cli: Segue, session: str) -> None:
    assert complete(cli, "show", "--store", f"journal:{cli.home}/other", session) == []
    assert complete(cli, "show", "--store", "nosuch:", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(cli: Segue, shell: str) -> None:
    script = cli.ok("completion", shell)
    for name in ("SEGUE", "AUR", "CORTEXT", "SOLEUR"):
        assert f"_{name}_COMPLETE={shell}_complete" in script
    assert "ralphtool completion words" in script or '" completion words' in script
    assert "SEGUE_COMPLETE" not in cli.ok("completion", shell, "aur", "soleur")


def test_a_question_of_no_known_shell_is_refused_quietly(cli: Segue) -> None:
    assert cli.call("list", _SEGUE_COMPLETE="tcsh_complete").code == 2
