"""Another process that uses the same store, controlled by a test: for locks, kill -9 and fork."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from segue.errors import SegueError, SessionLockedError
from segue.model import Turn
from segue.testing.events import metadata, turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

    from segue.store import Store, Writer


class OtherProcess:
    """Answers one command after the other; an error of ours is returned as its name."""

    def __init__(self, elsewhere: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve()", *elsewhere],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, command: str, *arguments: object) -> object:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps([command, *arguments]) + "\n")
        stdin.flush()
        answer = stdout.readline()
        assert answer, f"the other process died of {command}"
        return cast("object", json.loads(answer))

    def kill(self) -> None:
        """End it by kill -9, and wait until it is gone."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


class _Commands:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._writer: Writer | None = None

    def create(self, session_id: str) -> None:
        self._writer = self._store.create(session_id, [metadata(session_id)])

    def open(self, session_id: str) -> None:
        self._writer = self._store.open(session_id, timeout_seconds=0)

    def add(self, number: int) -> list[int]:
        assert self._writer is not None
        return list(self._writer.append(turn(number)).seqs)

    def close(self) -> None:
        assert self._writer is not None
        self._writer.close()

    def ids(self) -> list[str]:
        return sorted(self._store.ids())

    def turns(self, session_id: str) -> list[str]:
        return [event.id for event in self._store.read(session_id) if isinstance(event, Turn)]

    def locked_by(self, session_id: str) -> list[object]:
        try:
            self._store.open(session_id, timeout_seconds=0).close()
        except SessionLockedError as error:
            return [error.pid, error.host]
        return []

    def fork(self, number: int) -> object:
        """The result of a forked child that appends a turn with the inherited writer, closes it and exits."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, json.dumps(_answer(lambda: self.add(number))).encode())
            _answer(self.close)
            os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        with os.fdopen(reading, "rb") as pipe:
            return cast("object", json.load(pipe))


def serve() -> None:
    """The other process."""
    where, *arguments = sys.argv[1:]
    module, _, name = where.partition(":")
    commands = _Commands(getattr(import_module(module), name)(*arguments))
    for line in sys.stdin:
        command, *values = json.loads(line)
        answer = _answer(lambda command=command, values=values: getattr(commands, command)(*values))  # type: ignore[misc]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _answer(work: Callable[[], object]) -> object:
    try:
        return work()
    except SegueError as error:
        return type(error).__name__
