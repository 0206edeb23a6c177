"""The example and the commands on the page print what the page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bridges.pages import check_page

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_shows_what_the_commands_print(tmp_path: Path) -> None:
    check_page("agent-framework", tmp_path)
