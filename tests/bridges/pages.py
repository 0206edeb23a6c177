"""The page of a framework: its example is run, and then the commands of the page on what the example left.

`tests/docs` runs the same commands on a stand-in, where the frameworks are not installed.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.docs.pages import ROOT, blocks, commands, environment, missing_lines

if TYPE_CHECKING:
    from pathlib import Path


def check_page(name: str, home: Path) -> None:
    """Run the block `sh` with the example, and then each command; all print what the page shows."""
    page = ROOT / "docs" / "how-to" / f"{name}.md"
    ((example, shown),) = ((one.text, other.text) for one, other in pairwise(blocks(page)) if other.language == "text")
    program, script, *words = shlex.split(example)
    assert program == "python"
    assert missing_lines(tuple(shown.splitlines()), _run(home, str(ROOT / script), *words)) == []
    for command in commands(page):
        printed = _run(home, "-m", *shlex.split(command.text))
        assert missing_lines(command.shown, printed) == [], printed


def _run(home: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=home, env=environment(home), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stderr}"
    return done.stdout
