"""What a listing shows of a large session, from both ends of its file: the same as when all of it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS
from segue.integrations.format import lines
from segue.integrations.opencode import database
from segue.integrations.shared import history
from segue.integrations.shared.index_source import PreviewSource
from tests.support.integration_homes import CORPUS

if TYPE_CHECKING:
    from pathlib import Path

    from segue.integrations import Integration

HOMES = sorted(path for path in (CORPUS / "homes").iterdir() if path.is_dir())
PREVIEWED = [integration for integration in INTEGRATIONS.values() if integration.can_preview]
_SMALL = 2048


@pytest.fixture(autouse=True)
def small_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sessions of the corpus are large for these."""
    monkeypatch.setattr(lines, "ENDS_BYTES", _SMALL)
    monkeypatch.setattr(lines, "_LONGEST_START_BYTES", 16 * _SMALL)
    monkeypatch.setattr(lines.Ends, "block_bytes", _SMALL)
    monkeypatch.setattr(history, "_WHOLE_BYTES", 4 * _SMALL)
    monkeypatch.setattr(database, "END_MESSAGES", 1)


@pytest.mark.parametrize("integration", PREVIEWED, ids=lambda one: one.name)
def test_title_times_folder_and_git_branch_are_at_the_ends_and_counts_are_not_guessed(integration: Integration) -> None:
    partial = 0
    for home in HOMES:
        source = PreviewSource(integration, home, {})
        for ref in list(source.scan()):
            whole, seen = source.read(ref.id), source.preview(ref.id)
            known = (seen.head.title, seen.head.created_at, seen.folder, seen.git_branch, seen.launch)
            head = whole.head
            assert known == (head.title, head.created_at, whole.folder, whole.git_branch, whole.launch), home
            assert seen.head.updated_at <= head.updated_at  # subagents may have been active later
            assert (seen.texts, seen.usage) == ((), None)
            partial += not seen.is_counted
            if seen.is_counted:
                assert (seen.head.turn_count, seen.head.branch) == (head.turn_count, head.branch)
    assert partial or integration.name not in {"claude", "codex", "gemini", "pi"}


def test_long_instructions_before_the_first_prompt_do_not_hide_it(tmp_path: Path) -> None:
    rows = [b"x" * 3_000, *(b"%d" % number for number in range(40)), *([b"y" * 500] * 100), b"last"]
    path = tmp_path / "file"
    path.write_bytes(b"\n".join(rows) + b"\n")
    with history.open_lines(str(path), only_ends=True) as found:
        texts = [line.data for line in found]
    assert isinstance(found, lines.Ends)
    assert texts[:32] == rows[:32]
    assert texts[-8:] == rows[-8:]
    assert len(texts) < 50


def test_a_start_of_very_long_lines_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\n".join([b"x" * 10_000] * 100))
    with history.open_lines(str(path), only_ends=True) as found:
        assert sum(1 for _ in found) < 20
