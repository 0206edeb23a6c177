"""What the pages hold: their fenced blocks and their links, and how shown output is compared with real output."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import segue

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
HOW_TO_INDEX = ROOT / "docs" / "how-to" / "README.md"
HOW_TO = sorted(page for page in HOW_TO_INDEX.parent.glob("*.md") if page != HOW_TO_INDEX)
GUIDES = [README, ROOT / "docs" / "library.md", *HOW_TO]
"""The pages whose examples are run."""
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_MARK = re.compile(r"\s+# (?:exit (\d+)|until Ctrl-C)$")


class Block(NamedTuple):
    language: str
    text: str


class Command(NamedTuple):
    """A line that begins with `$ `, and the lines that the page shows after it."""

    text: str
    exit_code: int
    """N of `# exit N` at the end of the line; 0 without it."""
    in_background: bool
    """Whether the line ends in `# until Ctrl-C`: it runs in the background."""
    shown: tuple[str, ...]


def environment(home: Path) -> dict[str, str]:
    """For a process that reads and writes under `home` only, and imports the same Segue as the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SEGUE_", "XDG_"))}
    package = Path(segue.__file__).resolve().parents[1]
    return {**kept, "HOME": str(home), "PYTHONPATH": str(package), "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    return [Block(*match.groups()) for match in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


def links(page: Path) -> list[str]:
    return _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))


def commands(page: Path) -> list[Command]:
    found: list[Command] = []
    for block in blocks(page):
        if block.language != "console":
            continue
        for piece in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line, *shown = piece.rstrip("\n").split("\n")
            mark = _MARK.search(line)
            text = line[: mark.start()] if mark else line
            code = int(mark[1]) if mark and mark[1] else 0
            found.append(Command(text, code, bool(mark) and not code, tuple(shown)))
    return found


def missing_lines(shown: tuple[str, ...], output: str) -> list[str]:
    """Those of the shown lines that the output does not have in this order; `…` stands for anything in a line."""
    rest = output.split("\n")
    missing: list[str] = []
    for line in shown:
        pattern = re.compile(".*".join(re.escape(piece) for piece in line.rstrip().split("…")))
        at = next((number for number, real in enumerate(rest) if pattern.fullmatch(real.rstrip())), None)
        if at is None:
            missing.append(line)
        else:
            rest = rest[at + 1 :]
    return missing
