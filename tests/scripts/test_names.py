"""`scripts/names`: names that stand for more than one thing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "names"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "segue" / "inner"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "class Desk: ...\nclass _Own: ...\nclass Alone: ...\ndef open(): ...\ndef _close(): ...\n"
    )
    (package / "other.py").write_text(
        "class Outer:\n    class Desk: ...\n    def own(self): ...\nclass _Own: ...\n"
        "def own(): ...\nasync def open(): ...\ndef _close(): ...\n"
    )
    return tmp_path


def names(checkout: Path, *words: str) -> dict[str, list[str]]:
    call = [sys.executable, str(SCRIPT), "--json", "--root", str(checkout), *words]
    told = json.loads(subprocess.run(call, check=True, capture_output=True, text=True, timeout=60).stdout)
    assert told["collisions"] == len(told["names"])
    return {row["name"]: row["modules"] for row in told["names"]}


def test_a_name_that_stands_for_two_classes_is_found_nested_or_not(checkout: Path) -> None:
    assert names(checkout) == {"Desk": ["segue.inner", "segue.inner.other.Outer"]}


def test_functions_of_modules_are_compared_and_methods_are_not(checkout: Path) -> None:
    assert names(checkout, "--functions") == {"open": ["segue.inner", "segue.inner.other"]}


@pytest.mark.parametrize(("words", "found"), [((), {"Desk", "_Own"}), (("--functions",), {"open", "_close"})])
def test_private_names_are_left_out_until_they_are_asked_for(
    checkout: Path, words: tuple[str, ...], found: set[str]
) -> None:
    assert set(names(checkout, "--private", *words)) == found
