"""The Python code on the pages is run, from top to bottom, and prints what the pages show."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import GUIDES, README, blocks, environment, missing_lines, name_of

if TYPE_CHECKING:
    from pathlib import Path

PYTHON_PAGES = [page for page in GUIDES if any(block.language == "python" for block in blocks(page))]
NEXT = "\0next\0"


def run_all(page: Path, home: Path) -> list[str]:
    """What each Python block prints; one process, since later blocks use earlier ones."""
    code = f"print({NEXT!r})\n".join(block.text for block in blocks(page) if block.language == "python")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=home, env=environment(home), check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split(f"{NEXT}\n")


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=name_of)
def test_the_python_on_the_page_runs_and_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    outputs = iter(run_all(page, tmp_path))
    printed = ""
    unlike: list[str] = []
    for block in blocks(page):
        if block.language == "python":
            printed = next(outputs)
        elif block.language == "text" and printed:
            shown = tuple(block.text.splitlines())
            unlike += missing_lines(shown, printed) or ([] if len(shown) == printed.count("\n") else [printed])
            printed = ""
    assert unlike == []


def test_the_example_in_the_readme_leaves_a_session_that_other_programs_can_read(tmp_path: Path) -> None:
    run_all(README, tmp_path)
    (journal,) = (tmp_path / "notes").glob("*.jsonl")
    assert journal.read_bytes().startswith(b'{"type":"metadata",')
