"""What Emacs shows of sessions: lists, trees, names, the footer; and tools, times and activities."""

from __future__ import annotations

import os
import re

import pytest

from tests.docs.pages import ROOT
from tests.emacs.test_emacs import LISP, NEEDS_EMACS, Results, names, run

SESSIONS = ("plain", "forked", "empty", "settings", "two-questions")


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(["segue-ui-test.el"], tmp_path_factory.mktemp("emacs-ui"), only=SESSIONS)


@NEEDS_EMACS
@pytest.mark.parametrize("name", names("segue-ui-test.el"))
def test_in_emacs(name: str, results: Results) -> None:
    assert results[name] is None


@pytest.fixture(scope="session")
def upstream_results(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Results:
    folders: str = pytestconfig.getoption("--gptel")
    room = tmp_path_factory.mktemp("gptel-ui")
    return run(["segue-gptel-ui-test.el"], room, *folders.split(os.pathsep), only=SESSIONS)


@NEEDS_EMACS
@pytest.mark.upstream_gptel
@pytest.mark.parametrize("name", names("segue-gptel-ui-test.el"))
def test_with_upstream_gptel(name: str, upstream_results: Results) -> None:
    assert upstream_results[name] is None


def test_the_page_has_every_key() -> None:
    bound = re.findall(
        r'^    \(define-key map "(.)" #\'(.+?)\)', (LISP / "segue-commands.el").read_text(), re.MULTILINE
    )
    page = (ROOT / "docs" / "how-to" / "emacs.md").read_text()
    shown = re.findall(r"^\| `C-c ; (.)` \| `(.+?)` \|", page, re.MULTILINE)
    assert sorted(shown) == sorted(bound)
    assert len(bound) > 10
