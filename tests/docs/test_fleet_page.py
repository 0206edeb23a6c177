"""The example of a fleet does what its page says, against a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import segue
from tests.docs.pages import HOW_TO_INDEX, ROOT, blocks, environment

if TYPE_CHECKING:
    from pathlib import Path

FLEET = ROOT / "examples" / "fleet"


def test_a_killed_worker_loses_nothing_and_another_one_continues_its_session(postgres_url: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(FLEET / "demo.py"), postgres_url],
        env=environment(tmp_path),
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    killed, dropped = re.findall(r"^killed worker (\d+) in the middle of (\S+)$", done.stdout, re.MULTILINE)[0]
    assert done.stdout.splitlines()[-2:] == [
        f"{dropped} has answers of 2 workers",
        "6 sessions completed, 30 answers, each recorded once",
    ]
    with segue.open(postgres_url) as library:
        assert [head.status for head in library.list()] == ["completed"] * 6
        answers = [turn for turn in library.load(dropped).turns if turn.role == "assistant"]
    assert answers[0].content.endswith(f"worker {killed}")
    assert not answers[-1].content.endswith(f"worker {killed}")


def test_the_code_on_the_page_is_that_of_the_worker() -> None:
    worker = _flat((FLEET / "worker.py").read_text(encoding="utf-8"))
    shown = [block.text for block in blocks(HOW_TO_INDEX.with_name("fleet.md")) if block.language == "py"]
    assert len(shown) == 4
    assert [text for text in shown if _flat(text) not in worker] == []


def _flat(code: str) -> str:
    """Without the indentation and the line breaks, which depend on where the code is."""
    return re.sub(r"([(\[{]) | (?=[)\]}])", r"\1", re.sub(r"\s+", " ", dedent(code))).strip()
