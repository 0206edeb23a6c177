"""What an AI tool on this machine is to us: something that can be started with a conversation, and read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from segue import process
from segue.clock import utc_now
from segue.durable.kernel import storage_error
from segue.errors import UsageError
from segue.integrations.as_text import in_words, without_context
from segue.integrations.files import check_native_id, discard, get_program
from segue.integrations.format.outgoing import sendable
from segue.model import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segue.integrations.format.transcript import Transcript

LONGEST_ARGUMENT_BYTES = 100_000
"""Of one argument; Linux takes 128 KiB."""


class HandoverContext(Struct, frozen=True, kw_only=True):
    """What a tool is told before it starts."""

    turns: tuple[Turn, ...] = ()
    """The conversation so far: all of it, or a window."""
    system: str = ""
    """The system prompt of the conversation, beside the tool's own."""
    title: str = ""
    origin: str = ""
    """The id of the session here, so that both sides know of each other."""


class LaunchOptions(Struct, frozen=True, kw_only=True):
    """How a tool is to be started, as `Tool` was told."""

    program: str
    """Where the tool is; empty where it is not installed, and only read."""
    cwd: Path
    environ: Mapping[str, str]
    prompt: str = ""
    headless: bool = False
    model: str = ""
    options: tuple[str, ...] = ()
    clock: Callable[[], datetime] = utc_now

    @property
    def stdin(self) -> str | None:
        return self.prompt if self.headless else None

    @property
    def first_words(self) -> str:
        """The prompt where it has to stand on the command line; empty where there is none."""
        return "" if self.headless else argument(self.prompt)

    @property
    def chosen_model(self) -> list[str]:
        return [f"--model={argument(self.model)}"] if self.model else []

    @property
    def home(self) -> Path:
        if not self.environ.get("HOME"):
            raise UsageError("the environment names no HOME, so the tool's sessions cannot be found", hint="set HOME")
        return Path(self.environ["HOME"])


class Launch(Struct, frozen=True, kw_only=True):
    """A tool ready to be started."""

    tool: str
    argv: tuple[str, ...]
    cwd: str
    native_id: str
    """By which `read_back` finds what is said from now on."""
    stdin: str | None = None
    """What it reads from its input; None where that is the user's terminal."""
    environ: dict[str, str] = {}
    """Variables beside those it was prepared with."""
    written: tuple[str, ...] = ()
    """Files that were written for it."""
    passing: tuple[str, ...] = ()
    """Those of them that it needs only while it starts."""

    def run(self, environ: Mapping[str, str]) -> int:
        """Start it at the terminal and wait until it ends; its exit code, negative for the signal that ended it.

        StorageError if it cannot be started.
        """
        prompt = None if self.stdin is None else self.stdin.encode("utf-8", "replace")
        try:
            return process.run_in_terminal(self.argv, cwd=self.cwd, environ={**environ, **self.environ}, stdin=prompt)
        except OSError as error:
            raise storage_error(error, self.argv[0], "start") from error
        finally:
            for path in self.passing:
                discard(path)


class Kind(Protocol):
    """What is particular to one tool."""

    @property
    def name(self) -> str: ...

    def launch(self, context: HandoverContext, start: LaunchOptions) -> Launch: ...

    def resume(self, native_id: str, start: LaunchOptions, *, system: str) -> Launch | None: ...

    def read_back(self, native_id: str, start: LaunchOptions) -> Transcript: ...


class Integration(Struct, frozen=True, kw_only=True):
    """One AI tool. What it keeps of its own is never changed: what it is told is a new session beside the others."""

    kind: Kind

    @property
    def name(self) -> str:
        return self.kind.name

    def find(self, environ: Mapping[str, str]) -> str | None:
        """Where it is on the PATH."""
        return process.which(self.name, environ)

    def launch(
        self,
        context: HandoverContext,
        *,
        cwd: Path,
        environ: Mapping[str, str],
        prompt: str = "",
        headless: bool = False,
        model: str = "",
        options: Sequence[str] = (),
        preload: bool = True,
        clock: Callable[[], datetime] = utc_now,
    ) -> Launch:
        """Prepare a new session of the tool that holds the context; `prompt` is what the user says first.

        Without a screen (`headless`) it answers the prompt and ends. `model` and `options` are as the tool's own manual
        has them, and come from people, never from a conversation. Without `preload` the session begins empty, and the
        context is told in words in front of the prompt. NotFoundError if the tool is not installed, StorageError if
        its session cannot be written.
        """
        start = self._start(
            cwd=cwd, environ=environ, prompt=prompt, headless=headless, model=model, options=options, clock=clock
        )
        return self.kind.launch(context, start) if preload else self.kind.launch(*told_in_words(context, start))

    def resume(
        self,
        native_id: str,
        *,
        cwd: Path,
        environ: Mapping[str, str],
        prompt: str = "",
        system: str = "",
        headless: bool = False,
        model: str = "",
        options: Sequence[str] = (),
    ) -> Launch | None:
        """Prepare going on in a session that the tool still has; None if it has it no more."""
        if not native_id:
            return None
        start = self._start(cwd=cwd, environ=environ, prompt=prompt, headless=headless, model=model, options=options)
        return self.kind.resume(check_native_id(native_id), start, system=system)

    def read_back(self, session: Launch | str, *, cwd: Path, environ: Mapping[str, str]) -> Transcript:
        """What was said in the tool itself, from its own transcript; what cannot be read is named in `damages`.

        By what was launched, or by the `native_id` of it or of an earlier transcript. A session is read as far as it
        goes: record `transcript.after(ids of the turns that are there)`.
        """
        native_id = session if isinstance(session, str) else session.native_id
        start = LaunchOptions(program=self.find(environ) or "", cwd=cwd, environ=environ)
        found = self.kind.read_back(check_native_id(native_id), start)
        turns = (replace(turn, content=without_context(turn.content)) for turn in found.turns)
        return replace(found, turns=tuple(turns))

    def _start(
        self,
        *,
        cwd: Path,
        environ: Mapping[str, str],
        prompt: str,
        headless: bool,
        model: str,
        options: Sequence[str],
        clock: Callable[[], datetime] = utc_now,
    ) -> LaunchOptions:
        if headless and not prompt.strip():
            raise UsageError(f"without a screen, {self.name} has to be told something", hint="give it a prompt")
        return LaunchOptions(
            program=get_program(self.name, environ),
            cwd=cwd,
            environ=environ,
            prompt=sendable(prompt),
            headless=headless,
            model=model,
            options=tuple(options),
            clock=clock,
        )


def instructions(context: HandoverContext) -> str:
    """The system prompt as something said first, for tools that take none beside their own."""
    return f"Instructions for this conversation:\n\n{context.system}" if context.system else ""


def told_in_words(context: HandoverContext, start: LaunchOptions) -> tuple[HandoverContext, LaunchOptions]:
    """The same with an empty session: all of the context is in the prompt."""
    return HandoverContext(title=context.title), replace(start, prompt=in_words(context, start.prompt))


def argument(text: str) -> str:
    """A text as one word of a command line. UsageError if it is too long to be one."""
    found = sendable(text)
    if len(found.encode()) > LONGEST_ARGUMENT_BYTES:
        raise UsageError(
            f"a text of {len(found):,} characters is too long to start a tool with",
            hint="shorten it, or let the tool read it from a file",
        )
    return found
