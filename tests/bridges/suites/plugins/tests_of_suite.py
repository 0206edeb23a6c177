"""Leaves out the tests that suite.toml names, and reports names that no test has."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A name stands for a test with all its parameters, or with those in brackets after it."""
    left_out = set(json.loads(os.environ["SEGUE_SUITE_LEFT_OUT"]))
    gone = [item for item in items if not left_out.isdisjoint(_names(item.nodeid))]
    found = {name for item in gone for name in _names(item.nodeid)}
    Path(os.environ["SEGUE_SUITE_UNMATCHED"]).write_text(json.dumps(sorted(left_out - found)))
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if item not in set(gone)]


def _names(nodeid: str) -> Sequence[str]:
    return nodeid, nodeid.partition("[")[0]
