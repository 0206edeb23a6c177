"""A machine with nothing on it but `aur`, `cortext` and `soleur`: a fresh home, a project, and real processes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import segue
from tests.support import warm
from tests.support.cli import Result
from tests.support.pty import PtyProcess

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from segue.library import Library

PACKAGE = Path(segue.__file__).resolve().parent.parent
SAFE_SECONDS = 60
"""A command that waits for something that never comes is a failure, not a hang."""
DIALECTS = {"aur": "aurora", "cortext": "cortext", "soleur": "soleur"}
OLD = "2020-01-01T00:00:00Z"


class Machine:
    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self._programs = root / "bin"
        self.project.mkdir(parents=True)
        self._programs.mkdir()
        for name, dialect in DIALECTS.items():
            self._program(name, f'exec "{sys.executable}" -m segue.dialects.{dialect} "$@"')

    @property
    def journals(self) -> Path:
        return self.home / ".aurora" / "spawn" / "sessions"

    @property
    def aurora(self) -> Library:
        return segue.open(f"journal:{self.journals}")

    @property
    def files(self) -> Path:
        return self.home / ".soleur" / "sessions"

    @property
    def soleur(self) -> Library:
        return segue.open(f"soleur:{self.files}")

    @property
    def ledgers(self) -> Path:
        return self.home / ".soleur" / "decisions"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "PATH": str(self._programs),
            "PYTHONPATH": str(PACKAGE),
            "PYTHONWARNINGS": "error",
            "PYTHONUTF8": "1",
            "TZ": "UTC",
            **more,
        }

    def run(self, command: str, *typed: str, code: int = 0) -> Result:
        """Run a line of shell in the project with these lines of input; it must end with the code."""
        done = warm.run(
            _argv(command),
            input="".join(f"{line}\n" for line in typed).encode(),
            timeout=SAFE_SECONDS,
            env=self.environment(),
            cwd=self.project,
        )
        result = Result(code=done.returncode, out=done.stdout, err=done.stderr)
        assert result.code == code, result
        return result

    def live(self, command: str) -> Live:
        """A conversation that goes on while the test looks at it."""
        return Live(
            warm.Popen(
                _argv(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=self.environment(),
                cwd=self.project,
            )
        )

    def at_terminal(self, command: str, *, columns: int = 100) -> PtyProcess:
        environment = self.environment(TERM="xterm-256color", PROMPT_TOOLKIT_NO_CPR="1")
        return PtyProcess(_argv(command), env=environment, cwd=self.project, columns=columns)

    def agent(self, *lines: str) -> str:
        """Somebody who always answers these lines: the value of `--agent`."""
        said = "\n".join(f"echo {shlex.quote(line)}" for line in lines)
        return shlex.quote(f"command:{self._program(f'agent-{len(list(self._programs.iterdir()))}', said)}")

    @property
    def echo(self) -> str:
        """Somebody who repeats all that an agent is told: the value of `--agent`."""
        return shlex.quote(f"command:{self._program('echo-agent', 'exec /bin/cat')}")

    def preset(self, name: str, prompt: str = "Be strict.", folder: str = "agents") -> None:
        place = self.project / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.md").write_text(f"---\nname: {name}\n---\n{prompt}\n", encoding="utf-8")

    def journal(self, id: str, *turns: tuple[str, str], agent: str = "qa-test", created_at: str = OLD) -> Path:
        """A file as Aurora writes it: no more than its own fields."""
        self.journals.mkdir(parents=True, exist_ok=True)
        path = self.journals / f"{id}.jsonl"
        records: list[dict[str, object]] = [
            {"type": "metadata", "session_id": id, "agent": agent, "created_at": created_at, "status": "completed"}
        ]
        for role, content in turns:
            records.append(
                {"type": "turn", "role": role, "content": content, "timestamp": created_at, "tokens": len(content)}
            )
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
        written = datetime.fromisoformat(created_at).timestamp()
        os.utime(path, (written, written))
        return path

    def lines(self, id: str) -> list[dict[str, object]]:
        """Every line of a journal, each of which must be a JSON object."""
        data = (self.journals / f"{id}.jsonl").read_bytes()
        assert data.endswith(b"\n")
        return [json.loads(line) for line in data.removesuffix(b"\n").split(b"\n")]

    def _program(self, name: str, body: str) -> Path:
        path = self._programs / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path


def _argv(command: str) -> list[str]:
    """A line of shell; without the shell where it is one plain command of ours."""
    words = shlex.split(command)
    if words[0] in DIALECTS and not set(command) & set("|&;<>$`*?(){}\n"):
        return [sys.executable, "-m", f"segue.dialects.{DIALECTS[words[0]]}", *words[1:]]
    return ["/bin/sh", "-c", command]


class Live:
    """A conversation without a terminal that is still open."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def say(self, line: str) -> None:
        """Send a line, and wait until the answer is saved: `/stats` prints after that."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n/stats\n")
        self.process.stdin.flush()
        for shown in self.process.stdout:
            if shown.startswith("recorded "):
                return
        raise AssertionError("it ended")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> int:
        self.process.communicate(timeout=SAFE_SECONDS)
        return self.process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.kill()
