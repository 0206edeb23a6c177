"""The real command, with a home and a store of its own: as a process, at a terminal, or within this process."""

from __future__ import annotations

import logging
import os
import pty
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import segue
from segue.cli.app import run as run_segue
from segue.console import output
from tests.support import warm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from segue.library import Library

PACKAGE = Path(segue.__file__).resolve().parent.parent


@dataclass(frozen=True, kw_only=True)
class Result:
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def complaint(self) -> str:
        return self.err.decode()


@dataclass(frozen=True)
class Terminal:
    """A process at a terminal of its own."""

    process: subprocess.Popen[bytes]
    screen: int
    seen: bytearray = field(default_factory=bytearray)

    def wait_for(self, text: str) -> None:
        while text.encode() not in self.seen:
            assert self._read(), f"it ended without {text!r}: {bytes(self.seen)!r}"

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def end(self) -> Result:
        while self._read():
            pass
        code = self.process.wait()
        os.close(self.screen)
        return Result(code=code, out=bytes(self.seen).replace(b"\r\n", b"\n"), err=b"")

    def _read(self) -> bool:
        try:
            piece = os.read(self.screen, 65536)
        except OSError:  # how Linux reports that the other end is closed
            return False
        self.seen.extend(piece)
        return bool(piece)


class Segue:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "sessions"
        self.store = f"journal:{self.root}"

    @property
    def library(self) -> Library:
        return segue.open(self.store)

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        return kept | {
            "HOME": str(self.home),
            "PYTHONPATH": str(PACKAGE),
            "SEGUE_STORE": self.store,
            "PYTHONWARNINGS": "error",
            "TERM": "xterm",
            "PAGER": "cat",
            **more,
        }

    def run(self, *args: str | bytes, stdin: bytes = b"", **env: str) -> Result:
        argv = [sys.executable, "-m", "segue", *args]
        done = warm.run(argv, input=stdin, env=self.environment(**env), cwd=self.home)
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

    def call(self, *args: str | bytes, stdin: bytes = b"", **env: str) -> Result:
        """The command within this process, with streams, environment and folder of its own."""
        with ExitStack() as stack:
            files = [stack.enter_context(TemporaryFile()) for _ in range(3)]
            files[0].write(stdin)
            files[0].seek(0)
            with _process_state(self.environment(**env), self.home, [file.fileno() for file in files]):
                code = run_segue([os.fsdecode(arg) for arg in args])
            out, err = (_content(file) for file in files[1:])
        return Result(code=int(code), out=out, err=err)

    def python(self, code: str, *args: str, stdin: bytes = b"", **env: str) -> Result:
        """The same from a program of one's own."""
        done = subprocess.run(
            [sys.executable, "-c", code, *args],
            input=stdin,
            capture_output=True,
            check=False,
            env=self.environment(**env),
            cwd=self.home,
        )
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

    def ok(self, *args: str, stdin: bytes = b"", **env: str) -> str:
        """What a call prints that must succeed without a message."""
        result = self.call(*args, stdin=stdin, **env)
        assert (result.code, result.complaint) == (0, "")
        return result.text

    def refuses(self, code: int, *args: str | bytes, stdin: bytes = b"", **env: str) -> str:
        """The one line on stderr of a call that must fail."""
        result = self.call(*args, stdin=stdin, **env)
        assert (result.code, result.text) == (code, ""), result
        assert result.complaint.startswith("segue: ")
        assert result.complaint.count("\n") == 1
        assert result.complaint.endswith("\n")
        return result.complaint.rstrip("\n")

    def refuses_json(self, code: int, *args: str) -> str:
        """What a call prints on stderr that must fail with --json."""
        result = self.call(*args)
        assert (result.code, result.text) == (code, ""), result
        return result.complaint

    def at_terminal(self, *args: str, **env: str) -> Terminal:
        screen, keyboard = pty.openpty()
        process = warm.Popen(
            [sys.executable, "-m", "segue", *args],
            stdin=keyboard,
            stdout=keyboard,
            stderr=keyboard,
            env=self.environment(**{"COLUMNS": "120", **env}),
            cwd=self.home,
        )
        os.close(keyboard)
        return Terminal(process, screen)

    def files(self) -> dict[str, bytes]:
        """Every file of the store, to see that nothing changed; locks do not count."""
        found = (path for path in self.root.rglob("*") if path.is_file() and path.parent.name != ".locks")
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


@contextmanager
def _process_state(environ: Mapping[str, str], cwd: Path, fds: list[int]) -> Iterator[None]:
    """What a process has of its own: standard streams, environment, folder, time zone and the name in messages."""
    streams, variables, folder = (sys.stdin, sys.stdout, sys.stderr), dict(os.environ), Path.cwd()
    log = logging.getLogger("segue")
    logged = log.level, log.handlers[:], log.propagate
    program, saved = output.program, [os.dup(number) for number in range(3)]
    try:
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, closefd=False, encoding="utf-8")  # noqa: SIM115 - a stream of the process
            for number, mode in enumerate("rww")
        )
        os.environ.clear()
        os.environ.update(environ)
        time.tzset()
        os.chdir(cwd)
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        os.environ.clear()
        os.environ.update(variables)
        time.tzset()
        os.chdir(folder)
        for number, fd in enumerate(saved):
            os.dup2(fd, number)
            os.close(fd)
        log.level, log.handlers[:], log.propagate = logged
        output.program = program
