"""The picture in the README shows what the commands print now."""

from __future__ import annotations

import html
import re
import subprocess
import sys

from tests.docs.pages import README, ROOT

PICTURE = ROOT / "docs" / "images" / "segue.svg"


def test_the_picture_is_what_the_commands_print() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "screenshot", "--check"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_readme_shows_the_picture_and_the_picture_loads_nothing_from_the_network() -> None:
    assert f"]({PICTURE.relative_to(ROOT)})" in README.read_text(encoding="utf-8")
    picture = PICTURE.read_text(encoding="utf-8")
    assert "$" in html.unescape("".join(re.findall(r"<text[^>]*>(.*?)</text>", picture)))
    assert re.findall(r"(?:src|href|url)[=(]['\"]?https?:", picture) == []
