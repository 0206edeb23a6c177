"""The commands are there under their names, however Segue is installed."""

from __future__ import annotations

import os
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["aur", "cortext", "ralphtool", "soleur"])
def test_the_command_is_installed_and_can_be_run_from_the_checkout(name: str) -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        module, _, function = tomllib.load(file)["project"]["scripts"][name].partition(":")
    assert callable(getattr(import_module(module), function))
    assert os.access(ROOT / name, os.X_OK)
    assert (ROOT / name).resolve() == ROOT / "segue"


def test_the_words_of_the_partner_come_with_the_package() -> None:
    assert (ROOT / "src" / "segue" / "dialects" / "soleur" / "agents" / "sparring-partner.md").is_file()


def test_the_types_of_conversations_come_with_the_package() -> None:
    assert len(list((ROOT / "src" / "segue" / "dialects" / "cortext" / "types").glob("*.md"))) == 6
