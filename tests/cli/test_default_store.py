"""The default store: the environment, then the user's configuration, then the state folder; never a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.cli import Segue


@pytest.fixture
def machine(cli: Segue) -> Segue:
    """A user who has named a store in the configuration, in the clone of a project that names another."""
    for folder in (".config/segue", ".segue"):
        (cli.home / folder).mkdir(parents=True)
    (cli.home / ".config/segue/config.toml").write_text('store = "journal:~/notes"\n', encoding="utf-8")
    for theirs in (".segue/config.toml", "config.toml", "segue.toml"):
        (cli.home / theirs).write_text('store = "journal:/theirs"\n', encoding="utf-8")
    return cli


def test_the_configuration_names_the_store_and_a_call_can_name_another(machine: Segue) -> None:
    machine.ok("new", "--id", "mine", SEGUE_STORE="")
    machine.ok("new", "--id", "named", SEGUE_STORE=f"journal:{machine.home}/named")
    machine.ok("new", "--id", "given", "--store", "journal:given", SEGUE_STORE=f"journal:{machine.home}/named")
    assert (machine.home / "notes/mine.jsonl").exists()
    assert (machine.home / "named/named.jsonl").exists()
    assert (machine.home / "given/given.jsonl").exists()
    assert machine.ok("list", SEGUE_STORE="").startswith("mine\t")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('store = "journal:notes"', "config.toml line 1: store must be a store with an absolute path, not"),
        ('store = "memory:"', "absolute path"),
        ("store = 7", "absolute path"),
        ("store = [", "it is not TOML"),
        ('store = "elsewhere:/notes"', "does not name a store"),
    ],
)
def test_a_store_that_cannot_be_meant_is_refused_and_nothing_is_written(machine: Segue, line: str, reason: str) -> None:
    (machine.home / ".config/segue/config.toml").write_text(f"{line}\n", encoding="utf-8")
    assert reason in machine.refuses(2, "new", "--id", "mine", SEGUE_STORE="")
    assert not list(machine.home.rglob("*.jsonl"))


def test_a_store_before_the_verb_is_that_of_the_verb(machine: Segue) -> None:
    machine.ok("--store", "journal:given", "new", "--id", "one")
    machine.ok("--store=journal:given", "trash", "list", "--json")
    assert machine.ok("--store", "journal:given", "list").startswith("one\t")
    assert machine.ok("--store", "journal:other", "list", "--store", "journal:given").startswith("one\t")
    assert "segue tools uses no store" in machine.refuses(2, "--store", "journal:given", "tools")
