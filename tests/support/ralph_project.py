"""A project with a change, and `ralphtool` in processes of its own; every answer is held against its schema."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import cast

from jsonschema import Draft202012Validator

import segue
from segue.dialects.ralph.store import RalphStore
from tests.support import warm

PACKAGE = Path(segue.__file__).resolve().parent.parent
SCHEMAS = PACKAGE.parent / "docs" / "reference" / "ralph"
SAFE_SECONDS = 120
TASKS = """# Tasks

## 1. Tokens

- [ ] 1.1 Refresh the token
- [ ] 1.2 Store the token
- [ ] 1.10 Forget the token

## 2. Nothing to do

## 3. Docs

- [ ] 3.1 Write them
"""

Json = dict[str, object]


def schema_of(words: list[str]) -> Json:
    """By the name of the command: `session init` is session-init.json."""
    name = "-".join(words[: 2 if words[0] in {"session", "task"} else 1])
    return cast("Json", json.loads((SCHEMAS / f"{name}.json").read_bytes()))


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.temporary = root / "tmp"
        self.change = self.root / "openspec" / "changes" / "login"
        self.change.mkdir(parents=True)
        self.temporary.mkdir()
        self.tasks.write_text(TASKS)

    @property
    def tasks(self) -> Path:
        return self.change / "tasks.md"

    @property
    def design(self) -> Path:
        return self.change / "design.md"

    @property
    def sessions(self) -> Path:
        return self.temporary / "ralph" / "sessions"

    @property
    def store(self) -> RalphStore:
        return RalphStore(str(self.sessions))

    @property
    def claim(self) -> Path:
        return self.root / ".ralph" / "locks" / "login.lock"

    def file(self, session: str = "s1") -> Path:
        return self.sessions / f"{session}.json"

    def state(self, session: str = "s1") -> Json:
        return cast("Json", json.loads(self.file(session).read_bytes()))

    def start(self, *words: str, session: str | None = "s1", cwd: Path | None = None, **more: str) -> Running:
        """`ralphtool agent` with these words."""
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE), "TMPDIR": str(self.temporary), **more}
        if session is not None:
            environment["RALPH_SESSION"] = session
        process = warm.Popen(
            [sys.executable, "-m", "segue.dialects.ralph", "agent", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            cwd=cwd or self.root,
            env=environment,
        )
        return Running(list(words), process)

    def ask(self, *words: str, session: str | None = "s1", cwd: Path | None = None, **more: str) -> Json:
        """The answer; it must be one."""
        return self.start(*words, session=session, cwd=cwd, **more).answer()

    def refused(self, *words: str, session: str | None = "s1", cwd: Path | None = None, **more: str) -> Json:
        """The error; it must be one."""
        return self.start(*words, session=session, cwd=cwd, **more).error()


class Running:
    def __init__(self, words: list[str], process: subprocess.Popen[bytes]) -> None:
        self._words = words
        self._process = process

    def answer(self) -> Json:
        out, err = self._process.communicate(timeout=SAFE_SECONDS)
        assert (self._process.returncode, err) == (0, b"")
        answer = cast("Json", json.loads(out))
        Draft202012Validator(schema_of(self._words)).validate(answer)
        return answer

    def error(self) -> Json:
        out, err = self._process.communicate(timeout=SAFE_SECONDS)
        assert self._process.returncode != 0
        assert out == b""
        said = cast("Json", json.loads(err))
        Draft202012Validator(schema_of(["error"])).validate(said)
        return cast("Json", said["error"])

    def is_answered(self) -> bool:
        """Whether it came to an answer; else it must be an error."""
        out, err = self._process.communicate(timeout=SAFE_SECONDS)
        assert (out == b"") != (err == b"")
        return self._process.returncode == 0
