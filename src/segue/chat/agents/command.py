"""Any command of this machine that reads a prompt from its input and writes an answer to its output."""

from __future__ import annotations

import codecs
import os
import selectors
import shlex
import signal
import time
from contextlib import suppress
from subprocess import PIPE, Popen, TimeoutExpired
from typing import IO, TYPE_CHECKING, cast

from segue.chat.agent import AgentError, TextDelta
from segue.chat.agents.messages import calls_as_text
from segue.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from segue.chat.agent import Piece, Request

TIMEOUT_SECONDS = 600.0
"""Without any output. Tools that work on a task before they speak may be silent for minutes."""

_CHUNK_BYTES = 65536
_KEPT_ERROR_BYTES = 8192
_GRACE_SECONDS = 1.0
"""For a command that is told to stop, until it is killed."""
_TICK_SECONDS = 0.25
"""How soon it is noticed that a command has ended although a process it left behind holds its output open."""


class CommandAgent:
    """Runs the command anew for every question, without a shell, in a session and process group of its own."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str],
        timeout_seconds: float = TIMEOUT_SECONDS,
        folder: str | None = None,
    ) -> None:
        self._argv = tuple(argv)
        self._environ = dict(environ)
        self._timeout_seconds = timeout_seconds
        self._folder = folder

    @property
    def name(self) -> str:
        return shlex.join(self._argv)

    def answer(self, request: Request) -> Iterator[Piece]:
        return self._run(render(request).encode("utf-8", "replace"))

    def _run(self, prompt: bytes) -> Generator[Piece, None, None]:
        errors = bytearray()
        process = self._start()
        try:
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            shown, held = False, ""
            for data in _exchange(process, prompt, errors, self._timeout_seconds):
                text = held + decoder.decode(data)
                # The newline at the very end belongs to the command, not to the answer.
                body = text.rstrip("\r\n")
                held = text[len(body) :]
                if body:
                    shown = True
                    yield TextDelta(body)
            if rest := decoder.decode(b"", final=True):
                shown = True
                yield TextDelta(held + rest)
            self._check_end(process.wait(), errors, shown=shown)
        except TimeoutExpired:
            raise AgentError(
                f"{self.name} said nothing for {self._timeout_seconds:g} seconds and was stopped{_last_lines(errors)}",
                hint="ask again, or allow more time",
                can_retry=True,
            ) from None
        finally:
            _stop(process)

    def _start(self) -> Popen[bytes]:
        try:
            return Popen(
                self._argv,
                executable=self._program(),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=self._environ,
                cwd=self._folder,
                bufsize=0,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise AgentError(
                f"there is no command {self._argv[0]!r}", hint="install it, or name it with its whole path"
            ) from None
        except (OSError, ValueError, IndexError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise AgentError(f"{self.name} cannot be started: {reason}", hint="check the command") from error

    def _program(self) -> str:
        """Looked up here and not by the system, to which an empty element of the PATH is the folder one is in."""
        found = self._argv[0] if os.sep in self._argv[0] else find_program(self._argv[0], self._environ)
        if found is None:
            raise FileNotFoundError
        return found

    def _check_end(self, code: int, errors: bytearray, *, shown: bool) -> None:
        said = _last_lines(errors)
        if code < 0:
            raise AgentError(
                f"{self.name} was killed by {_signal_name(-code)}{said}",
                hint="ask again; if it happens again, the machine may be short of memory",
                can_retry=True,
            )
        if code:
            raise AgentError(
                f"{self.name} ended with exit code {code}{said}",
                hint="run it in a terminal to see whether it works there: it may want a login",
                can_retry=True,
            )
        if not shown:
            raise AgentError(
                f"{self.name} ended well and said nothing{said}",
                hint="it has to read the prompt from its input and write the answer to its output",
                can_retry=True,
            )


def render(request: Request) -> str:
    """The whole request as one prompt; a first message without instructions is its own prompt."""
    *earlier, last = (calls_as_text(message) for message in request.messages) if request.messages else ("",)
    if not earlier and not request.system:
        return last
    sections: list[str] = []
    if request.system:
        sections.append(f"<instructions>\n{request.system}\n</instructions>")
    if earlier:
        roles = (message.role for message in request.messages)
        told = "\n".join(f"<{role}>\n{text}\n</{role}>" for role, text in zip(roles, earlier, strict=False))
        sections.append(f"This is the conversation so far:\n\n<conversation>\n{told}\n</conversation>")
        sections.append("Answer the next message, and write the answer only:")
    return "\n\n".join([*sections, last])


def _exchange(process: Popen[bytes], prompt: bytes, errors: bytearray, timeout_seconds: float) -> Iterator[bytes]:
    """Write the prompt and read what comes, at the same time: neither side can block the other."""
    assert process.stdin  # noqa: S101 - for the type checker: all three are pipes
    assert process.stdout  # noqa: S101 - as above
    assert process.stderr  # noqa: S101 - as above
    unsent = memoryview(prompt)
    with selectors.DefaultSelector() as selector:
        for pipe, event in (
            (process.stdin, selectors.EVENT_WRITE),
            (process.stdout, selectors.EVENT_READ),
            (process.stderr, selectors.EVENT_READ),
        ):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, event)
        deadline = time.monotonic() + timeout_seconds
        open_outputs = {process.stdout, process.stderr}
        while open_outputs:
            has_ended = process.poll() is not None
            ready = selector.select(0 if has_ended else _TICK_SECONDS)
            if not ready and has_ended:
                return
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    unsent = unsent[_send(process.stdin, unsent[:_CHUNK_BYTES]) :]
                    if not unsent:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                data = os.read(key.fd, _CHUNK_BYTES)
                if not data:
                    selector.unregister(key.fileobj)
                    open_outputs.discard(cast("IO[bytes]", key.fileobj))
                elif key.fileobj is process.stdout:
                    yield data
                else:
                    errors += data
                    del errors[:-_KEPT_ERROR_BYTES]
                deadline = time.monotonic() + timeout_seconds
            if time.monotonic() > deadline:
                raise TimeoutExpired(process.args, timeout_seconds)
    process.wait(timeout_seconds)


def _send(pipe: IO[bytes], data: memoryview) -> int:
    """How much was taken; all of it when nobody reads it: a command need not want its input."""
    try:
        return pipe.write(data) or 0  # None when the pipe is full
    except OSError:
        return len(data)


def _stop(process: Popen[bytes]) -> None:
    """Leave nothing behind: no process of the group, no zombie, no open pipe."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    if process.poll() is not None:
        return
    _signal_group(process, signal.SIGTERM)
    with suppress(TimeoutExpired):
        process.wait(_GRACE_SECONDS)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _last_lines(errors: bytearray) -> str:
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {' / '.join(lines[-3:])}" if lines else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
