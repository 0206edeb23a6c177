"""Runs programs: finds them, starts and feeds them, reads what they write, stops them, and handles signals meanwhile.

`run` collects the output of a program, `start` yields it as it comes: both give the program a session and a process
group of its own, without a terminal and without a shell. `run_in_terminal` lends it the terminal. What Segue starts
elsewhere cannot use these: the launcher of the sandbox is a program without our packages, the hook's deadline forks a
function instead of starting a program, and the client library of MCP starts its servers itself.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NamedTuple, NoReturn, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from subprocess import Popen
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object]

GRACE_SECONDS = 2.0
"""How long a program that is asked to stop has until it is killed."""
_KILLED_SECONDS = 10.0
"""How long a killed program is waited for: one that the kernel holds in a system call does not end."""
_TICK_SECONDS = 0.1
"""How soon it is noticed that a program must stop, or has ended although a process it left holds its output open."""
_CHUNK_BYTES = 1 << 16
_FOREVER = float("inf")
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL = 128


def which(name: str, environ: Mapping[str, str]) -> str | None:
    """Find the file that a command names, or None.

    A name with a slash is a path. Any other is looked up in the absolute folders of the PATH alone: an empty or
    relative element means the current folder, where a cloned project may have a program called `claude`.
    """
    if "\0" in name:
        return None
    if os.sep in name:
        return name if _is_program(Path(name)) else None
    folders = (Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder.startswith(os.sep))
    return next((str(folder / name) for folder in folders if name and _is_program(folder / name)), None)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


# ── Programs without a terminal ──────────────────────────────────────────────────────────────────────────────────────


class ProcessResult(NamedTuple):
    code: int | None
    """The exit code, negative for the signal that ended it; None if it had to be stopped."""
    output: bytes
    errors: str


class Chunk(NamedTuple):
    """A piece of what a program wrote."""

    data: bytes
    is_error: bool


def run(
    argv: Sequence[str | bytes],
    *,
    cwd: str | Path,
    environ: Mapping[str, str],
    timeout_seconds: float,
    stdin: bytes = b"",
    pass_fds: Sequence[int] = (),
) -> ProcessResult:
    """Run a program and collect what it writes. Raises OSError or ValueError if it cannot be started."""
    output, errors = bytearray(), bytearray()
    with start(argv, cwd=cwd, environ=environ, stdin=stdin, pass_fds=pass_fds) as running:
        for data, is_error in running.read(timeout_seconds=timeout_seconds):
            (errors if is_error else output).extend(data)
    return ProcessResult(running.code, bytes(output), errors.decode("utf-8", "replace"))


@contextmanager
def start(
    argv: Sequence[str | bytes],
    *,
    cwd: str | Path | None,
    environ: Mapping[str, str],
    stdin: bytes = b"",
    program: str | None = None,
    merges_errors: bool = False,
    pass_fds: Sequence[int] = (),
    grace_seconds: float = GRACE_SECONDS,
    ends_group: bool = False,
) -> Iterator[RunningProcess]:
    """Start a program, which has ended when the block ends. Raises OSError or ValueError if it cannot be started.

    It reads `stdin` as its input and inherits the descriptors `pass_fds`. `program` is the file to run where that is
    not the first of `argv`. What it started is killed with it if it has to be stopped, with `ends_group` in any case.
    """
    from subprocess import DEVNULL, PIPE, STDOUT, Popen

    running: RunningProcess | None = None
    try:
        with _deferred_signals():  # a program that is half started would not be stopped
            running = RunningProcess(
                Popen(
                    argv,
                    executable=program,
                    stdin=PIPE if stdin else DEVNULL,
                    stdout=PIPE,
                    stderr=STDOUT if merges_errors else PIPE,
                    cwd=cwd,
                    env=dict(environ),
                    bufsize=0,
                    start_new_session=True,
                    pass_fds=pass_fds,
                ),
                stdin,
            )
        yield running
    finally:
        if running is not None:
            running.stop(grace_seconds, ends_group=ends_group)


StopReason = Literal["", "time", "silence", "request"]


class RunningProcess:
    """A started program. `code` is its exit code once `read` has ended; None if it had to be stopped."""

    def __init__(self, process: Popen[bytes], stdin: bytes) -> None:
        self._process = process
        self._unsent = memoryview(stdin)
        self.code: int | None = None
        self.stop_reason: StopReason = ""
        """Why it had to be stopped: it ran or was silent for too long, or the caller asked for it."""

    def read(
        self,
        *,
        timeout_seconds: float = _FOREVER,
        idle_seconds: float = _FOREVER,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[Chunk]:
        """Yield what it writes as it comes, and write its input at the same time: neither side can block the other.

        Ends when the program has ended, or earlier when it ran or was silent for too long, or should stop.
        """
        from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

        process = self._process
        with DefaultSelector() as selector:
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, EVENT_WRITE if pipe is process.stdin else EVENT_READ)
            began = heard = time.monotonic()
            while not (reason := _find_stop_reason(should_stop, began, heard, timeout_seconds, idle_seconds)):
                has_ended = process.poll() is not None
                if not selector.get_map():  # it has closed its output, and continues
                    if has_ended or self._wait(_TICK_SECONDS):
                        break
                    continue
                ready = selector.select(0 if has_ended else _TICK_SECONDS)
                if has_ended and not any(key.events & EVENT_READ for key, _ in ready):
                    break
                for key, _ in ready:
                    pipe = cast("IO[bytes]", key.fileobj)
                    if pipe is process.stdin:
                        is_over = self._send(pipe)
                    elif data := os.read(key.fd, _CHUNK_BYTES):
                        yield Chunk(data, pipe is process.stderr)
                        heard, is_over = time.monotonic(), False
                    else:
                        is_over = True
                    if is_over:
                        selector.unregister(pipe)
                        pipe.close()
        self.code, self.stop_reason = process.poll(), reason

    def _send(self, pipe: IO[bytes]) -> bool:
        """Write a piece of the input; whether no more is needed: a program need not read its input."""
        try:
            sent = pipe.write(self._unsent[:_CHUNK_BYTES])
        except OSError:
            return True
        self._unsent = self._unsent[sent or 0 :]  # None when the pipe is full
        return not self._unsent

    def stop(self, grace_seconds: float, *, ends_group: bool) -> None:
        """Leave no pipe, no zombie and no running program: ask first, so that it can save its work and remove locks."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            self._wait(grace_seconds)
            ends_group = True
        if ends_group:
            self._signal(signal.SIGKILL)
            self._wait(_KILLED_SECONDS)

    def _wait(self, seconds: float) -> bool:
        """Whether it has ended within this time."""
        from subprocess import TimeoutExpired

        with suppress(TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _find_stop_reason(
    should_stop: Callable[[], bool], began: float, heard: float, timeout_seconds: float, idle_seconds: float
) -> StopReason:
    """Why a program has to be stopped now; empty if it may continue."""
    now = time.monotonic()
    if should_stop():
        return "request"
    if now - began > timeout_seconds:
        return "time"
    return "silence" if now - heard > idle_seconds else ""


def describe_exit(code: int | None) -> str:
    """How a program ended, as the rest of a sentence; empty if it succeeded."""
    if code is None:
        return "was stopped"
    if code >= 0:
        return f"ended with exit code {code}" if code else ""
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was killed by {name}"


# ── A program at the terminal ────────────────────────────────────────────────────────────────────────────────────────


def run_in_terminal(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: str | Path | None = None,
    stdin: Iterable[bytes] | None = None,
) -> int:
    """Lend the terminal to a program until it ends; its exit code, negative for the signal that ended it.

    Its input is `stdin`, piece by piece, else the terminal. It stays in the process group of the terminal, so Ctrl-C
    reaches it and us: there it may stop an answer, and here it does nothing, so that what follows the program is done.
    For the same reason SIGTERM, and the end of the terminal, end the program and not us. Raises OSError if it cannot be
    started.
    """
    from subprocess import PIPE, Popen

    running: list[Popen[bytes]] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        for one in running:
            one.send_signal(number)

    # Handlers and not SIG_IGN, which the program would inherit.
    with (
        _handling([signal.SIGINT], lambda _number, _frame: None),
        _handling(_unhandled(), pass_on),
        Popen(argv, cwd=cwd, env=dict(environ), stdin=None if stdin is None else PIPE) as process,
    ):
        running.append(process)
        if process.stdin is not None and stdin is not None:
            with suppress(BrokenPipeError):  # a program need not read its input
                for data in stdin:
                    process.stdin.write(data)
            with suppress(BrokenPipeError):
                process.stdin.close()
    return process.returncode


# ── Signals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def exit_on_signal() -> Iterator[None]:
    """Turn SIGTERM and the end of the terminal into SystemExit.

    So the program that answers is stopped, what it answered is saved, and the terminal is left as it was. The session
    reads as interrupted, which it was.
    """

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(_BY_SIGNAL + number)

    with _handling(_unhandled(), end):
        yield


def _unhandled() -> list[signal.Signals]:
    """The signals to end that would end us at once; nohup ignores one of them."""
    return [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]


@contextmanager
def interruptible(when: Callable[[], bool]) -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt once, and only while `when` returns True.

    A second one, or one that comes just as an answer ends, would hit the append of that answer, and leave a writer that
    does not know what it has written. Does nothing where another handler of Ctrl-C is set.
    """
    has_stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal has_stopped
        if when() and not has_stopped:
            has_stopped = True
            raise KeyboardInterrupt

    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with _handling([signal.SIGINT] if is_ours else [], stop):
        yield


@contextmanager
def noted_signals() -> Iterator[list[int]]:
    """The signals that ask us to end, in a list that grows as they come. They interrupt nothing."""
    came: list[int] = []
    with _handling(_unless_ignored(), lambda number, _: came.append(number)):
        yield came


@contextmanager
def _deferred_signals() -> Iterator[None]:
    """Let the signals that ask us to end arrive after the block."""
    came: list[int] = []
    try:
        with _handling(_unless_ignored(), lambda number, _: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])


def _unless_ignored() -> list[signal.Signals]:
    """Those that end us. What nohup ignores stays so, also for the programs that we start."""
    return [number for number in _ENDING if signal.getsignal(number) not in {signal.SIG_IGN, None}]


@contextmanager
def _handling(numbers: Iterable[signal.Signals], handler: Handler) -> Iterator[None]:
    """Handle these signals during the block; not in a thread, where Python does not allow it."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in (numbers if is_main else ())}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
