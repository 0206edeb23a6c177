"""Any command of this machine that reads a prompt from its input and writes an answer to its output."""

from __future__ import annotations

import codecs
import os
import re
import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING

from segue import process
from segue.chat.agent import AgentError, TextDelta
from segue.chat.agents.messages import calls_as_text, told_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence

    from segue.chat.agent import Piece, Request
    from segue.process import RunningProcess

TIMEOUT_SECONDS = 600.0
"""Without any output. Tools that work on a task before they speak may be silent for minutes."""

_KEPT_ERROR_BYTES = 8192
_TAG = re.compile(r"<(/?(?:user|assistant|system|tool|notice|summary|conversation|instructions)>)")


class CommandAgent:
    """Runs the command anew for every question, without a shell, in a session and process group of its own.

    `argvs` makes the command line for a question, with options by which an AI tool leaves no session of its own. There
    are several, for releases that do not know the options of the first.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str],
        timeout_seconds: float = TIMEOUT_SECONDS,
        folder: str | None = None,
        argvs: Sequence[Callable[[], Sequence[str]]] = (),
    ) -> None:
        self._argv = tuple(argv)
        self._argvs = list(argvs) or [lambda: self._argv]
        self._environ = dict(environ)
        self._timeout_seconds = timeout_seconds
        self._folder = folder

    @property
    def name(self) -> str:
        return shlex.join(self._argv)

    def answer(self, request: Request) -> Iterator[Piece]:
        return self._run(render(request).encode("utf-8", "replace"))

    def _run(self, prompt: bytes) -> Generator[Piece, None, None]:
        while True:
            argv = self._argvs[0]()
            try:
                yield from self._run_once(argv, prompt)
            except _UnknownOptionError:
                del self._argvs[0]
            else:
                return

    def _run_once(self, argv: Sequence[str], prompt: bytes) -> Generator[Piece, None, None]:
        errors = bytearray()
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        shown, held = False, ""
        with ExitStack() as stack:
            running = self._start(argv, prompt, stack)
            for data, is_error in running.read(idle_seconds=self._timeout_seconds):
                if is_error:
                    errors += data
                    del errors[:-_KEPT_ERROR_BYTES]
                    continue
                text = held + decoder.decode(data)
                # The newline at the very end belongs to the command, not to the answer.
                body = text.rstrip("\r\n")
                held = text[len(body) :]
                if body:
                    shown = True
                    yield TextDelta(body)
            if running.code is not None and (rest := decoder.decode(b"", final=True)):
                shown = True
                yield TextDelta(held + rest)
            if not shown and len(self._argvs) > 1 and _is_unknown(set(argv) - set(self._argv), running.code, errors):
                raise _UnknownOptionError
            self._check_end(running.code, errors, shown=shown)

    def _start(self, argv: Sequence[str], prompt: bytes, stack: ExitStack) -> RunningProcess:
        try:
            return stack.enter_context(
                process.start(argv, program=self._program(), cwd=self._folder, environ=self._environ, stdin=prompt)
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
        found = self._argv[0] if os.sep in self._argv[0] else process.which(self._argv[0], self._environ)
        if found is None:
            raise FileNotFoundError
        return found

    def _check_end(self, code: int | None, errors: bytearray, *, shown: bool) -> None:
        said = _last_lines(errors)
        if code is None:
            raise AgentError(
                f"{self.name} printed nothing for {self._timeout_seconds:g} seconds and was stopped{said}",
                hint="ask again, or allow more time",
                can_retry=True,
            )
        if code:
            killed = "ask again; if it happens again, the machine may be short of memory"
            failed = "run it in a terminal to see whether it works there: it may want a login"
            raise AgentError(
                f"{self.name} {process.describe_exit(code)}{said}", hint=killed if code < 0 else failed, can_retry=True
            )
        if not shown:
            raise AgentError(
                f"{self.name} ended without printing an answer{said}",
                hint="it has to read the prompt from its input and write the answer to its output",
                can_retry=True,
            )


class _UnknownOptionError(Exception):
    """The release of the tool does not know an option."""


def _is_unknown(options: Collection[str], code: int | None, errors: bytearray) -> bool:
    return bool(code) and any(option.encode() in errors for option in options if option.startswith("--"))


def render(request: Request) -> str:
    """The whole request as one prompt; a first message without instructions is its own prompt."""
    earlier = [section for message in request.messages[:-1] for section in told_sections(message)]
    last = calls_as_text(request.messages[-1]) if request.messages else ""
    if not earlier and not request.system:
        return last
    sections: list[str] = []
    if request.system:
        sections.append(f"<instructions>\n{request.system}\n</instructions>")
    if earlier:
        told = "\n".join(f"<{role}>\n{_inert(text)}\n</{role}>" for role, text in earlier)
        sections.append(f"This is the conversation so far:\n\n<conversation>\n{told}\n</conversation>")
        sections.append("Answer the next message, and write the answer only:")
    return "\n\n".join([*sections, last])


def _inert(text: str) -> str:
    """The text, which cannot pretend to end here or to be said by another."""
    return _TAG.sub(r"&lt;\1", text)


def _last_lines(errors: bytearray) -> str:
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {' / '.join(lines[-3:])}" if lines else ""
