"""What Emacs shows of sessions: lists, trees, names, the footer; and tools, times and activities."""

from __future__ import annotations

import pytest

from tests.emacs.test_emacs import NEEDS_EMACS, Results, names, run


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run("segue-ui-test.el", tmp_path_factory.mktemp("emacs-ui"))


@NEEDS_EMACS
@pytest.mark.parametrize("name", names("segue-ui-test.el"))
def test_in_emacs(name: str, results: Results) -> None:
    assert results[name] is None
