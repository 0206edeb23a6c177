"""Processes that write sessions at our command: one warm process forks those that are killed, and others write at once.

Run as `python -m tests.support.processes`; one JSON command a line comes in, one JSON answer a line goes out.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from segue.durable.kernel import Kernel
from segue.errors import SegueError
from segue.stores.journal import JournalStore
from segue.testing.failing import DyingKernel
from tests.support.contention import RIVALS
from tests.support.journal_operations import OTHERS, WRITING
from tests.support.journals import metadata, turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

Answer = dict[str, object]
NOBODY = 65534


class Crew:
    """The warm process, seen from the test: this module, or another that serves commands of its own."""

    def __init__(self, module: str = "tests.support.processes") -> None:
        search = [path or str(Path.cwd()) for path in sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(search)},
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, command: str, **arguments: object) -> Answer:
        self.begin(command, **arguments)
        return self.answer()

    def begin(self, command: str, **arguments: object) -> None:
        """Give a command; the answer comes later."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([command, arguments]) + "\n")
        self._process.stdin.flush()

    def is_ready(self) -> bool:
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def answer(self) -> Answer:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        assert answer, "the process died of the last command"
        return cast("Answer", json.loads(answer))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()


def kill_while_writing(root: str, session_id: str, seed: int) -> Answer:
    """Fork a writer that appends without end, and kill it at some moment: what it acknowledged until then."""
    chance = random.Random(seed)
    child, pipe = fork(lambda acknowledge: _write(root, session_id, seed, acknowledge))
    heard = b""
    for _ in range(chance.randrange(4)):
        heard += os.read(pipe, 4096)
    select.select([], [], [], chance.random() * chance.choice([0.0001, 0.001, 0.005]))
    os.kill(child, signal.SIGKILL)
    heard += read_rest(pipe)
    _, status = os.waitpid(child, 0)
    return {"acknowledged": heard.decode().splitlines(), "signal": os.waitstatus_to_exitcode(status)}


def kill_at_call(root: str, operation: str, at: int, torn: int) -> Answer:
    """Fork a process that makes one operation and dies at a system call of it."""
    child, pipe = fork(lambda acknowledge: _operate(root, operation, at, torn, acknowledge))
    heard = read_rest(pipe)
    _, status = os.waitpid(child, 0)
    return {"acknowledged": heard.decode().splitlines(), "signal": os.waitstatus_to_exitcode(status)}


def at_once(work: str, count: int, root: str, **arguments: object) -> Answer:
    """Fork many processes that do the same thing at the same time: what became of each."""
    starting, start = os.pipe()

    def compete(worker: int, notify: Callable[[str], None]) -> None:
        os.close(start)
        os.read(starting, 1)  # gives nothing, once every process has been forked
        notify(json.dumps(RIVALS[work](root, worker, **arguments)))

    forked = [fork(partial(compete, worker)) for worker in range(count)]
    os.close(starting)
    os.close(start)
    outcomes = [read_rest(pipe) for _, pipe in forked]
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child, _ in forked]
    return {"outcomes": [json.loads(outcome or b"null") for outcome in outcomes], "statuses": statuses}


def plant(bug: str) -> Answer:
    """Break the code of this process, and of all it forks."""
    assert bug == "no lock"
    setattr(Kernel, "try_lock", staticmethod(lambda _fd: True))  # noqa: B010 - a bug is planted, not a value assigned
    return {}


def make_under_umask(root: str, umask: int) -> Answer:
    """Fork a process with that umask and no privileges that uses a store: every mode that comes of it."""
    child, pipe = fork(lambda notify: _make(root, umask, notify))
    text = read_rest(pipe).decode()
    os.waitpid(child, 0)
    return {"text": text}


def _make(root: str, umask: int, notify: Callable[[str], None]) -> None:
    b" ".decode("utf-8-sig")  # what a torn line needs, while the interpreter's own files can still be read
    if os.geteuid() == 0:
        os.chown(root, NOBODY, NOBODY)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.umask(umask)
    store = JournalStore(f"{root}/below/here")
    try:
        with store.create("new", [metadata("new")]) as writer:
            writer.append(turn(1), ids_are_new=True)
            writer.put_blob(b"a picture")
        path = Path(root) / "below" / "here" / "new.jsonl"
        path.write_bytes(path.read_bytes()[:-9])
        store.open("new", timeout_seconds=0).close()
        path.write_bytes(path.read_bytes().replace(b"qa-test", b"qb-test") + path.read_bytes())
        store.recover("new")
    except SegueError as error:
        notify(f"{type(error).__name__}: {error}")


def _write(root: str, session_id: str, seed: int, acknowledge: Callable[[str], None]) -> None:
    chance = random.Random(seed)
    with JournalStore(root).open(session_id) as writer:
        for number in range(1 << 30):
            size = chance.choice([1, 1, 3])
            ids = [f"{seed}.{number}.{at}of{size}" for at in range(1, size + 1)]
            writer.append(*(turn(number, "x" * chance.randrange(9000), id=id) for id in ids), ids_are_new=True)
            acknowledge(" ".join(ids))


def _operate(root: str, operation: str, at: int, torn: int, acknowledge: Callable[[str], None]) -> None:
    kernel = DyingKernel(0, torn=torn)
    store = JournalStore(root, kernel=kernel)
    if operation in WRITING:
        writer = store.open("sound")
        kernel.at = len(kernel.calls) + at
        WRITING[operation](writer)
        acknowledge("done")
        writer.close()
    else:
        kernel.at = at
        OTHERS[operation][1](store)
        acknowledge("done")


def fork(work: Callable[[Callable[[str], None]], None]) -> tuple[int, int]:
    """A child that does the work, and the pipe from which the lines that it notes can be read."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            work(lambda text: _notify(writing, text))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    return child, reading


def _notify(pipe: int, text: str) -> None:
    rest = f"{text}\n".encode()
    while rest:
        rest = rest[os.write(pipe, rest) :]


def read_rest(pipe: int) -> bytes:
    with open(pipe, "rb") as file:
        return file.read()


COMMANDS: dict[str, Callable[..., Answer]] = {
    "kill_while_writing": kill_while_writing,
    "kill_at_call": kill_at_call,
    "at_once": at_once,
    "plant": plant,
    "make_under_umask": make_under_umask,
}


def serve(commands: dict[str, Callable[..., Answer]]) -> None:
    for line in sys.stdin:
        command, arguments = json.loads(line)
        print(json.dumps(commands[command](**arguments)), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    serve(COMMANDS)
