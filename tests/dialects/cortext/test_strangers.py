"""A workspace that came from elsewhere: nothing of its repository runs, until the user says so."""

from __future__ import annotations

import random
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.hostile_repository import LAYOUTS, Stranger
from tests.support.workspace import Office

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """Without a workspace of its own."""
    office = Office(tmp_path, git=False)
    (office.project / ".workspace" / "config.toml").unlink()
    (office.project / ".workspace").rmdir()
    office.project.rmdir()
    office._program("segue", f'exec "{sys.executable}" -m segue "$@"')
    return office


@pytest.fixture
def stranger(office: Office, tmp_path: Path) -> Stranger:
    (tmp_path / "stranger" / "ran").mkdir(parents=True)
    path = f"{office.environment()['PATH']}:/usr/bin:/bin"
    return Stranger(tmp_path / "stranger", office.environment(PATH=path, GIT_CONFIG_NOSYSTEM="1"))


def hook(office: Office) -> None:
    path = office.project / ".git" / "hooks" / "pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n: > ran\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_command_runs_anything_of_it(office: Office, stranger: Stranger, layout: str) -> None:
    about = stranger.make(office.project, random.Random(layout), everything=True, layout=layout)
    stranger.forget()
    office.run("segue new --id one")
    office.run("cortext new plan 'The release' --json")
    office.run("cortext list --json")
    office.run("cortext stop --summary 'Just begun.' --json")
    office.run("cortext resume --list")
    office.run("cortext resume 'The release' --tool segue --json")
    office.run("cortext resume 'The release' --tool segue --agent offline", "First?", "/exit")
    office.run("cortext init")
    office.run("cortext complete 'The release'")
    office.run("echo hello | segue chat --agent offline")
    assert stranger.canaries == [], about


def test_its_conversations_are_committed_and_it_is_told_that_hooks_did_not_run(office: Office) -> None:
    office.project.mkdir()
    office.git("init", "--quiet", "--template=")
    (office.project / ".workspace").mkdir()
    hook(office)
    told = office.run("cortext new plan 'The release' --json").complaint
    assert "the hooks of this repository were not run" in told
    assert "cortext init asks" in told
    assert office.log == ["[conversation] Initialize plan: The release"]
    assert not (office.project / "ran").exists()


def test_init_without_a_terminal_trusts_nothing_that_could_run(office: Office) -> None:
    office.project.mkdir()
    office.git("init", "--quiet", "--template=")
    office.git("config", "core.sshCommand", "false")
    hook(office)
    told = office.run("cortext init")
    assert "has its own hooks or settings: the hook pre-commit, core.sshcommand" in told.complaint
    assert "cortext init --trust" in told.text
    office.run("cortext new plan 'The release' --json")
    assert not (office.project / "ran").exists()


def test_a_person_is_asked_and_says_no_with_enter(office: Office) -> None:
    office.project.mkdir()
    office.git("init", "--quiet", "--template=")
    hook(office)
    with office.at_terminal("cortext init") as approver:
        approver.wait_for("[y/N]")
        approver.enter("")
        approver.wait_for("Conversations are committed without running them")
        assert approver.end() == 0
    with office.at_terminal("cortext init") as approver:
        approver.wait_for("[y/N]")
        approver.enter("y")
        assert approver.end() == 0
    office.run("cortext new plan 'The release' --json")
    assert (office.project / "ran").exists()


@pytest.mark.parametrize("how", ["made here", "there before, and plain", "trusted"])
def test_hooks_of_a_repository_of_ones_own_run(office: Office, how: str) -> None:
    office.project.mkdir()
    if how == "there before, and plain":
        office.git("init", "--quiet", "--template=")
        office.git("remote", "add", "origin", "https://example.org/a")
    if how == "trusted":
        office.git("init", "--quiet", "--template=")
        hook(office)
    office.run("cortext init" + (" --trust" if how == "trusted" else ""))
    hook(office)
    assert "hooks" not in office.run("cortext new plan 'The release' --json").complaint
    assert (office.project / "ran").exists()


def test_trust_does_not_follow_a_copy_nor_hold_for_another_repository_in_its_place(office: Office) -> None:
    office.project.mkdir()
    office.run("cortext init")
    hook(office)
    shutil.copytree(office.project, office.home / "copy")
    office.run("cd ../copy && cortext new plan 'The copy' --json")
    assert not (office.home / "copy" / "ran").exists()
    (office.project / ".git").rename(office.home / "away")
    office.git("init", "--quiet", "--template=")
    hook(office)
    office.run("cortext new plan 'Another' --json")
    assert not (office.project / "ran").exists()
    shutil.rmtree(office.project / ".git")
    (office.home / "away").rename(office.project / ".git")
    office.run("cortext new plan 'The first again' --json")
    assert (office.project / "ran").exists()
