"""The page about the scenarios cannot lie: each has a row, and each row a test that exists and runs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.seeds.scenarios import AURORA, CORTEXT, GPTEL, RALPH, SEEDS, SOLEUR, Seed, section

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "seeds.md"


def tool(seed: Seed) -> str:
    return seed.tool


def names_of_tests(file: str) -> list[str]:
    tree = ast.parse((ROOT / file).read_bytes())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


@pytest.mark.parametrize("seed", SEEDS, ids=tool)
def test_every_scenario_has_a_test_of_its_name_and_there_is_no_other(seed: Seed) -> None:
    assert names_of_tests(seed.file) == [scenario.test for scenario in seed.scenarios]
    for file, _, test in [scenario.also.partition("::") for scenario in seed.scenarios if scenario.also]:
        assert test in names_of_tests(file)


@pytest.mark.parametrize("seed", SEEDS, ids=tool)
def test_the_page_says_of_every_scenario_what_does_it_and_what_shows_it(seed: Seed) -> None:
    assert section(seed) in PAGE.read_text(encoding="utf-8")


def test_every_row_of_the_page_is_a_scenario() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "::test_" in line]
    assert len(rows) == sum(len(seed.scenarios) for seed in SEEDS)


def test_no_scenario_is_left_out() -> None:
    assert [len(seed.scenarios) for seed in (RALPH, AURORA, CORTEXT, GPTEL, SOLEUR)] == [13, 14, 19, 24, 11]
