"""A selection of each framework's own tests, with our class in the place of theirs; all of them are run by hand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.bridges.suites.suite import SUITES, Suite, SuiteError, run_suite

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("framework", SUITES)
def test_the_own_tests_of_the_framework_pass_on_a_journal(framework: str, tmp_path: Path) -> None:
    _passes(framework, "journal", f"journal:{tmp_path}/agents")


@pytest.mark.parametrize("framework", SUITES)
def test_the_own_tests_of_the_framework_pass_on_postgres(framework: str, postgres_url: str) -> None:
    _passes(framework, "postgres", postgres_url)


@pytest.mark.parametrize("framework", SUITES)
def test_every_test_that_is_left_out_has_a_reason(framework: str) -> None:
    for name, reason in Suite.read(framework).deselected.items():
        assert "::" in name
        assert len(reason.split()) > 3, name


def _passes(framework: str, store: str, url: str) -> None:
    try:
        result = run_suite(Suite.read(framework), store, url, is_quick=True)
    except SuiteError as error:
        if "could not be downloaded" in str(error) and not os.environ.get("CI"):
            pytest.skip(str(error))
        raise
    assert result.passed
    assert not result.failed, result.describe()
