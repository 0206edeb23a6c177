"""Sessions of strangers, in every store, through every door: nothing runs, nothing is sent, nothing is read.

The programs on the PATH are real and leave a file when they run, the server is a real socket, and the secret is a real
file. What a session says is made of all that a session can say, spelt in all ways that a reader might take for it.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Self

import pytest

import segue
from tests.support.cli import PACKAGE

if TYPE_CHECKING:
    import random
    from pathlib import Path
    from types import TracebackType

    from segue.library import Library

SECRET = "the secret of the house"  # noqa: S105 - a word to look for
SAFE_SECONDS = 120
BLANKS = ["", " ", "\t", "\n", "\u00a0", "\u2003", "\u200b", "\ufeff", "\r\n", "\0", "\x1c"]


class Listener:
    """A server that counts who comes."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.visits = 0
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.visits += 1
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()


@dataclass
class Stranger:
    """A home where something was received, and everything that could be misused."""

    home: Path
    port: int

    @property
    def bin(self) -> Path:
        return self.home / "bin"

    def set_up(self) -> None:
        self.bin.mkdir(parents=True)
        for name in ("sentinel", "claude", "codex", "gemini", "llm", "opencode", "pi", "kilo"):
            path = self.bin / name
            path.write_text(
                f"#!/bin/sh\necho {name} >> {self.home}/ran\n/bin/cat > /dev/null\necho ok\n", encoding="utf-8"
            )
            path.chmod(0o755)
        config = self.home / ".config" / "segue"
        config.mkdir(parents=True)
        # This user's own choice: a model on this machine. Whatever else answers was chosen by somebody else.
        (config / "config.toml").write_text('agent = "offline"\n', encoding="utf-8")
        secret = self.home / ".claude" / "projects" / "-private" / "11111111-1111-4111-8111-111111111111.jsonl"
        secret.parent.mkdir(parents=True)
        secret.write_text(
            '{"type":"user","uuid":"u1","sessionId":"11111111-1111-4111-8111-111111111111","timestamp":'
            f'"2026-01-01T00:00:00Z","cwd":"/private","message":{{"role":"user","content":"{SECRET}"}}}}\n',
            encoding="utf-8",
        )
        (self.home / "work").mkdir()

    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "PYTHONPATH": str(PACKAGE),
            "PYTHONUTF8": "1",
            "OPENAI_API_KEY": "k",
            "ANTHROPIC_API_KEY": "k",
            "GEMINI_API_KEY": "k",
        }

    def run(self, *argv: str, typed: str = "y\nyes\nhello\n") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", *argv],
            input=typed.encode(),
            capture_output=True,
            check=False,
            timeout=SAFE_SECONDS,
            env=self.environment(),
            cwd=self.home / "work",
        )

    def is_untouched(self) -> bool:
        return not (self.home / "ran").exists()


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def stranger(tmp_path: Path, listener: Listener) -> Stranger:
    made = Stranger(tmp_path, listener.port)
    made.set_up()
    return made


# ── What a session can say ───────────────────────────────────────────────────────────────────────────────────────────


def wishes(port: int) -> list[str]:
    server = f"http://127.0.0.1:{port}/v1"
    return [
        "command:sentinel",
        "command:./sentinel",
        "command: sentinel",
        "COMMAND:sentinel",
        "command:sh -c sentinel",
        *("claude", "codex", "gemini", "llm", "claude/opus", "llm/-x", "claude/--dangerously-skip-permissions"),
        *(f"openai/gpt@{server}", f"gpt@{server}", f"gpt-4@{server}", f"ollama/x@{server}", f"x@{server.upper()}"),
        *(f"openai@{server}", f"@{server}", server),
        *("opus", "gpt-4", "anthropic", "openai", "google", "executor", "offline", "no such agent"),
    ]


def overrides(rng: random.Random, port: int) -> dict[str, object]:
    """Settings of a session, of which each may be anything."""

    def text() -> str:
        return rng.choice(BLANKS) + rng.choice(wishes(port)) + rng.choice(BLANKS)

    def value(name: str) -> object:
        match rng.randrange(12):
            case 0:
                return rng.choice([None, 7, True, [text()], {"agent": text()}])
            case _ if name == "tools":
                return ["read_file", "run_shell", "mcp__notes", text()]
            case _:
                return text()

    names = rng.sample(["agent", "model", "backend", "tools", "system_message"], k=rng.randint(1, 5))
    found: dict[str, object] = {name: value(name) for name in names}
    if rng.random() < 0.5:
        native = "11111111-1111-4111-8111-111111111111"
        found |= {"tool": rng.choice(["claude", "codex"]), "tool_session": native, "tool_sessions": {"claude": native}}
    return found


def make(library: Library, rng: random.Random, port: int, *, id: str | None = None) -> str:
    with library.create(agent=rng.choice(["qa", "executor", *wishes(port)[:3]]), id=id) as live:
        live.add("user", "hello")
        live.add("assistant", "hello")
        if rng.random() < 0.4:
            live.use_preset("executor")
        live.set_overrides(overrides(rng, port))
        if rng.random() < 0.5:
            live.set_scope({"paths": {"read": ["/**", "~/**"], "write": ["/**"]}, "shell_commands": {"allow": ["*"]}})
        return live.id


STORES = {
    "journal": "sessions",
    "soleur": ".soleur/sessions",
    "cortext": "work",
    "gptel": ".gptel/sessions",
    "aurora": ".aurora/spawn/sessions",
}


def visit(stranger: Stranger, kind: str, id: str, rng: random.Random) -> list[tuple[int, bytes]]:
    """Go through the doors that lead to a session; how each ended."""
    url = f"{'journal' if kind == 'aurora' else kind}:{stranger.home / STORES[kind]}"
    doors = [
        ("segue", "resume", id, "--store", url),
        ("segue", "ask", "--session", id, "--store", url, "And now?"),
        ("segue", "resume", id, "--yes", "--store", url),
        ("segue", "ask", "--yes", "--model", "small", "--session", id, "--store", url, "And now?"),
    ]
    match kind:
        case "aurora":
            doors = [("segue.dialects.aurora", "spawn", "--resume", id)]
        case "soleur":
            doors.append(("segue.dialects.soleur", "load", id))
        case "cortext":
            doors.append(("segue.dialects.cortext", "resume", id, "--yes"))
    found = []
    for door in doors if kind in {"soleur", "cortext"} else [rng.choice(doors)]:
        done = stranger.run(*door)
        assert done.returncode != 70, done
        assert b"Traceback" not in done.stderr, done
        assert SECRET.encode() not in done.stdout + done.stderr
        found.append((done.returncode, done.stderr))
    return found


def check(stranger: Stranger, listener: Listener, rng: random.Random, kinds: list[str]) -> None:
    for number, kind in enumerate(kinds):
        root = stranger.home / STORES[kind]
        if kind == "cortext":
            (root / ".workspace").mkdir(exist_ok=True)
        scheme = "journal" if kind == "aurora" else kind
        library = segue.open(f"{scheme}:{root}")
        own = f"s{number}" if scheme == "journal" else None
        id = make(library, rng, stranger.port, id=own)
        about = library.load(id)
        ended = visit(stranger, kind, id, rng)
        what = (kind, about.overrides, about.agent, about.scope, ended)
        assert stranger.is_untouched(), what
        assert listener.visits == 0, what
        assert SECRET not in str(library.load(id)), what


def test_no_session_of_a_stranger_runs_or_sends_or_reads_anything(
    stranger: Stranger, listener: Listener, rng: random.Random
) -> None:
    check(stranger, listener, rng, [*STORES])


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_none_of_many_sessions_of_strangers_runs_or_sends_or_reads_anything(
    stranger: Stranger, listener: Listener, rng: random.Random
) -> None:
    check(stranger, listener, rng, rng.choices([*STORES], k=60))


# ── The same without processes: many more sessions, judged as the doors judge them ───────────────────────────────────
