"""A person who keeps sessions in Emacs: the real command in a home of its own, and files as others write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.cli import Segue

if TYPE_CHECKING:
    from segue.model import JsonObject

LEGACY = """---
preset: {name}
backend: ChatGPT
model: gpt-4o
temperature: 0.3
tools: [read_file]
paths:
  read: ["/notes/**"]
org_roam_patterns: []
shell_commands: {{allow: [ls]}}
---
Speak plainly.
"""
SAID = "### How do I paginate?\n\nUse cursors.\n\n### And then?\n"
BOUNDS = "((response (25 37)))"
"""Of the answer in what was SAID."""


class Keeper(Segue):
    @property
    def sessions(self) -> Path:
        return self.home / ".gptel" / "sessions"

    def gptel(self, *args: str | Path) -> JsonObject:
        """The JSON of a call that must succeed."""
        found = json.loads(self.ok("gptel", *map(str, args), "--json"))
        assert isinstance(found, dict)
        return found

    def new(self, *args: str) -> Path:
        """The conversation of a new session."""
        return Path(str(self.gptel("new", *(args or ("API Integration",)))["branch_dir"])) / "session.md"

    def foreign(self, name: str, branch: str = "main", **files: str) -> Path:
        """A session that Segue never wrote; in the names of files `__` is a dot and `_` a dash."""
        folder = self.sessions / name / "branches" / branch
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file.replace("__", ".").replace("_", "-")).write_text(text)
        link = self.sessions / name / "current"
        if not link.is_symlink():
            link.symlink_to(f"branches/{branch}")
        return folder / "session.md"


def say(path: Path, *variables: str) -> None:
    """Save in Emacs: the conversation, and the footer as gptel writes it."""
    lines = [*variables, f"gptel--bounds: {BOUNDS}"]
    footer = "".join(f"<!-- {line} -->\n" for line in ("Local Variables:", *lines, "End:"))
    path.write_text(f"{SAID}\n{footer}")


def footer(path: Path) -> dict[str, str]:
    """The variables as they stand in the file."""
    behind = path.read_text().rpartition("<!-- Local Variables: -->\n")[2].partition("<!-- End: -->")[0]
    lines = [line.removeprefix("<!-- ").removesuffix(" -->") for line in behind.splitlines()]
    return {name: value for name, _, value in (line.partition(": ") for line in lines)}
