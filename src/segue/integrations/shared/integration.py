"""The contract of an integration: an AI tool whose sessions Segue reads, and to which it hands conversations over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from segue import process
from segue.clock import utc_now
from segue.durable.kernel import storage_error
from segue.errors import AmbiguousIdError, NotFoundError, UsageError
from segue.ids import match_ids
from segue.integrations.format.values import sendable
from segue.integrations.shared.session_files import remove_file
from segue.model import Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from segue.integrations.format.transcript import Transcript
    from segue.integrations.shared.history import ExternalSession, OpenedTranscript
    from segue.integrations.shared.mcp_config import ConfigFiles

LONGEST_ARGUMENT_BYTES = 100_000
"""The limit for one argument; Linux accepts 128 KiB."""
_NATIVE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


# ── What is handed over, and how ─────────────────────────────────────────────────────────────────────────────────────


class HandoverContext(Struct, frozen=True, kw_only=True):
    """What an AI tool gets to know of a conversation before it starts."""

    turns: tuple[Turn, ...] = ()
    """The conversation so far: all of it, or a window."""
    system: str = ""
    """The system prompt of the conversation, in addition to the tool's own."""
    title: str = ""
    carries: frozenset[str] = frozenset()
    """What the target accepts, as its integration declares it; see `Integration.carries`."""


class LaunchOptions(Struct, frozen=True, kw_only=True):
    """How to start an AI tool: built once by the caller, and passed down unchanged."""

    cwd: Path
    environ: Mapping[str, str]
    prompt: str = ""
    """The first message of the user; without it, the user types it."""
    headless: bool = False
    """Whether the tool answers the prompt without a terminal, and exits."""
    model: str = ""
    arguments: tuple[str, ...] = ()
    """More arguments for the tool, as in its manual. They come from the user, never from a conversation."""
    as_text: bool = False
    """Whether the session of the tool starts empty, with the context as text before the prompt."""
    clock: Callable[[], datetime] = utc_now
    program: str = ""
    """The path of the executable, which `Integration` finds; empty if it is not installed, and only read."""

    @property
    def stdin(self) -> str | None:
        return self.prompt if self.headless else None

    @property
    def prompt_argument(self) -> str:
        """The prompt if it has to be on the command line, or empty."""
        return "" if self.headless else argument(self.prompt)

    @property
    def model_arguments(self) -> list[str]:
        return [f"--model={argument(self.model)}"] if self.model else []

    def launch(
        self,
        tool: str,
        argv: Sequence[str],
        native_id: str,
        *,
        written: tuple[str, ...] = (),
        temporary: tuple[str, ...] = (),
    ) -> Launch:
        """The command of the tool, to be started in the folder and with the prompt of these options."""
        return Launch(
            tool=tool,
            argv=tuple(argv),
            cwd=str(self.cwd),
            native_id=native_id,
            stdin=self.stdin,
            written=written,
            temporary=temporary,
        )

    @property
    def home(self) -> Path:
        if not self.environ.get("HOME"):
            raise UsageError("HOME is not set, so the sessions of the tool cannot be found", hint="set HOME")
        return Path(self.environ["HOME"])


class Launch(Struct, frozen=True, kw_only=True):
    """An AI tool ready to be started."""

    tool: str
    argv: tuple[str, ...]
    cwd: str
    native_id: str
    """The id by which `read_back` finds the session."""
    stdin: str | None = None
    """What it reads from its input; None if its input is the user's terminal."""
    environ: dict[str, str] = {}
    """Variables in addition to those of `LaunchOptions`."""
    written: tuple[str, ...] = ()
    """Files that were written for it."""
    temporary: tuple[str, ...] = ()
    """Those of them that it needs only while it starts."""
    is_text: bool = False
    """Whether the conversation is a text before the prompt, since no session could be written."""

    def run(self, environ: Mapping[str, str]) -> int:
        """Start it at the terminal and wait until it ends; its exit code, negative for the signal that ended it.

        StorageError if it cannot be started.
        """
        prompt = None if self.stdin is None else [self.stdin.encode("utf-8", "replace")]
        try:
            return process.run_in_terminal(self.argv, cwd=self.cwd, environ={**environ, **self.environ}, stdin=prompt)
        except OSError as error:
            raise storage_error(error, self.argv[0], "start") from error
        finally:
            for path in self.temporary:
                remove_file(path)


# ── What an integration declares ─────────────────────────────────────────────────────────────────────────────────────


class AgentCommand(Struct, frozen=True):
    """A command that answers the prompt on its standard input, without and with a model."""

    start: tuple[str, ...]
    end: tuple[str, ...] = ()
    unsaved: tuple[str, ...] = ()
    """The options with which it stores no session; older releases may not know them."""
    session_id: str = ""
    """The option that gives its session an id, for a tool that always stores one."""

    def argv(self, model: str, *more: str) -> tuple[str, ...]:
        return (*self.start, *more, *(("--model", model) if model else ()), *self.end)


class CommandFileFormat(Struct, frozen=True, kw_only=True):
    """The files in a project from which an AI tool reads slash commands."""

    syntax: Literal["markdown", "toml", "skill"]
    path: str
    """Below the project, with `{}` for the name of the command."""
    invocation: str
    """What the user types, with `{}` for the name of the command."""
    separator: str = "."
    """Between the parts of the name of a command."""
    arguments: str
    """What the tool replaces by the text after the command, or how a model finds it."""
    active: str
    """A pattern for what the tool would replace or run in a file, up to where a space makes it plain text."""
    allowed_commands: str = ""
    """How a file allows the model to run a program, with `{}` for its name; empty if it cannot."""
    has_argument_hint: bool = False
    """Whether a file can show the user which arguments it takes."""


class HistoryModule(Protocol):
    """The module `history` of an integration. It changes nothing, takes no lock and never waits."""

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        """The folder that has the sessions."""

    def sessions(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        """Every session once, at the cost of a `stat` of its file. StorageError if they cannot be listed."""

    def read(self, session: ExternalSession) -> OpenedTranscript:
        """The session, turn by turn. NotFoundError if it is gone."""


class PreviewHistoryModule(HistoryModule, Protocol):
    """The module `history` of an integration with large files, whose ends contain what a listing shows."""

    def preview(self, session: ExternalSession) -> OpenedTranscript:
        """Like `read`, without the turns in the middle of a large session."""


class LauncherModule(Protocol):
    """The module `launcher` of an integration."""

    def launch(self, context: HandoverContext, options: LaunchOptions) -> Launch: ...

    def resume(self, native_id: str, options: LaunchOptions, *, system: str) -> Launch | None: ...

    def read_back(self, native_id: str, options: LaunchOptions) -> Transcript: ...


class McpConfigModule(Protocol):
    """The module `mcp` of an integration."""

    def read_servers(
        self, files: ConfigFiles, root: Path, home: Path, environ: Mapping[str, str]
    ) -> Iterator[dict[str, bool]]:
        """The servers by name, and whether each is enabled, one file after another; the last one decides."""


class Integration(Struct, frozen=True, kw_only=True):
    """One AI tool: what it can do, and doing it. The modules of its folder are imported when they are used.

    The files of the tool are never changed: a conversation that is handed over becomes a new session of the tool.
    """

    name: str
    """Its name in commands: `segue import NAME`, `--with NAME`."""
    title: str
    folder: str = ""
    """The name of its folder here; empty if that is `name`. A word of Python cannot be one."""
    command: str = ""
    """The name of its program; empty if that is `name`."""
    proven_with: str = ""
    """The newest release with which reading, and handing over if it can, was tested."""
    carries: frozenset[str] = frozenset()
    """What a conversation that is handed over keeps: `failed` results, `images` of the user, `result_images`."""
    has_history: bool = True
    """Whether its sessions can be listed, read and imported."""
    can_preview: bool = False
    """Whether the ends of its session files contain what a listing shows."""
    can_launch: bool = False
    """Whether a conversation can be handed over to it, continued in it and read back."""
    has_mcp_config: bool = False
    """Whether its configuration of MCP servers can be read."""
    provider: str = ""
    """The provider of the models that it uses by itself."""
    agent_command: AgentCommand | None = None
    command_files: CommandFileFormat | None = None
    session_variable: str = ""
    """The environment variable by which a command that the tool runs learns the id of the tool's session."""
    settings_paths: tuple[str, ...] = ()
    """Below the home folder: its configuration and credentials."""
    state_paths: tuple[str, ...] = ()
    """Below the home folder: where it stores its sessions. Never its settings, which decide what it may do next."""

    @property
    def history(self) -> HistoryModule:
        return cast("HistoryModule", self._module("history"))

    @property
    def launcher(self) -> LauncherModule:
        return cast("LauncherModule", self._module("launcher"))

    @property
    def mcp_config(self) -> McpConfigModule | None:
        return cast("McpConfigModule", self._module("mcp")) if self.has_mcp_config else None

    def find(self, environ: Mapping[str, str]) -> str | None:
        """Its path, if it is on the PATH."""
        return process.which(self.command or self.name, environ)

    # ── Its sessions ─────────────────────────────────────────────────────────────────────────────────────────────────

    def root(self, home: Path, environ: Mapping[str, str]) -> Path:
        return self.history.root(home, environ)

    def sessions(self, home: Path, environ: Mapping[str, str]) -> Iterator[ExternalSession]:
        return self.history.sessions(home, environ)

    def find_session(self, id: str, home: Path, environ: Mapping[str, str]) -> ExternalSession:
        """The session with this id, or with this beginning or end of it."""
        known = {session.id: session for session in self.sessions(home, environ)}
        ids = match_ids(id, known)
        if len(ids) > 1:
            raise AmbiguousIdError(id, ids)
        if not ids:
            raise NotFoundError(f"{self.name} has no session {id!r:.80} in {self.root(home, environ)}")
        return known[ids[0]]

    def read(self, session: ExternalSession) -> OpenedTranscript:
        return self.history.read(session)

    def preview(self, session: ExternalSession) -> OpenedTranscript:
        """What a listing shows of a session, without its other turns where the integration can do that."""
        if not self.can_preview:
            return self.read(session)
        return cast("PreviewHistoryModule", self.history).preview(session)

    # ── Handing over ─────────────────────────────────────────────────────────────────────────────────────────────────

    def launch(self, context: HandoverContext, options: LaunchOptions) -> Launch:
        """Prepare a new session of the tool that contains the context.

        NotFoundError if the tool is not installed, StorageError if its session cannot be written.
        """
        prepared = self._prepare(options)
        context = replace(context, carries=self.carries)
        if prepared.as_text:
            return replace(self.launcher.launch(*context_as_prompt(context, prepared)), is_text=True)
        return self.launcher.launch(context, prepared)

    def resume(self, native_id: str, options: LaunchOptions, *, system: str = "") -> Launch | None:
        """Prepare to continue a session that the tool has; None if it does not have it any more."""
        if not native_id:
            return None
        return self.launcher.resume(check_native_id(native_id), self._prepare(options), system=system)

    def read_back(self, session: Launch | str, options: LaunchOptions) -> Transcript:
        """The turns of a session of the tool; what cannot be read is in `damages`.

        Without those that it was handed, and without calls of our own commands.

        The session is the launch, or the `native_id` of it or of an earlier transcript. It is always read whole: record
        `transcript.after(ids of the turns that are recorded)`.
        """
        from segue.integrations.format.native import with_content
        from segue.integrations.shared.context_text import without_context
        from segue.integrations.shared.own_calls import without_own_calls

        native_id = session if isinstance(session, str) else session.native_id
        prepared = replace(options, program=self.find(options.environ) or "")
        found = self.launcher.read_back(check_native_id(native_id), prepared)

        def cleaned(turns: Iterable[Turn]) -> tuple[Turn, ...]:
            return without_own_calls(with_content(turn, without_context(turn.content)) for turn in turns)

        branches = tuple(replace(branch, turns=cleaned(branch.turns)) for branch in found.branches)
        return replace(found, turns=cleaned(found.turns), branches=branches)

    def _prepare(self, options: LaunchOptions) -> LaunchOptions:
        if options.headless and not options.prompt.strip():
            raise UsageError(f"{self.name} needs a prompt to run without a terminal", hint="pass a prompt")
        program = self.find(options.environ)
        if program is None:
            raise NotFoundError(f"{self.name} is not on the PATH", hint=f"install {self.name}, or use another tool")
        return replace(options, program=program, prompt=sendable(options.prompt))

    def _module(self, name: str) -> object:
        """A module of its folder, which is named like the tool; a hyphen is an underscore there."""
        return import_module(f"segue.integrations.{self.folder or self.name.replace('-', '_')}.{name}")


# ── Helpers for launchers ────────────────────────────────────────────────────────────────────────────────────────────


def check_native_id(text: str) -> str:
    """The text, if it can be the id of a session of a tool, and so neither an option nor a path."""
    if _NATIVE_ID.fullmatch(text) is None:
        raise UsageError(f"{text[:40]!r} is not the id of a session", hint="copy the id from the list of the tool")
    return text


def system_as_message(context: HandoverContext) -> str:
    """The system prompt as a message, for tools that accept none in addition to their own."""
    return f"Instructions for this conversation:\n\n{context.system}" if context.system else ""


def context_as_prompt(context: HandoverContext, options: LaunchOptions) -> tuple[HandoverContext, LaunchOptions]:
    """The same with an empty session: the whole context is part of the prompt."""
    from segue.integrations.shared.context_text import render_context

    return HandoverContext(title=context.title), replace(options, prompt=render_context(context, options.prompt))


def argument(text: str) -> str:
    """A text as one argument of a command. UsageError if it is too long."""
    found = sendable(text)
    if len(found.encode()) > LONGEST_ARGUMENT_BYTES:
        raise UsageError(
            f"a text of {len(found):,} characters is too long for a command line",
            hint="shorten it, or let the tool read it from a file",
        )
    return found
