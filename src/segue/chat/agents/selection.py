"""Chooses the agent: by the flag, the preset, the configuration, what this machine has, or else offline.

The search reads variables, installed packages and the PATH. It starts no process and opens no connection.
"""

from __future__ import annotations

import shlex
import uuid
from typing import TYPE_CHECKING, Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from segue.chat.agent import Agent
from segue.chat.agents import anthropic, google, openai
from segue.chat.agents.command import CommandAgent
from segue.chat.agents.offline import OfflineAgent
from segue.chat.agents.retry import RetryPolicy
from segue.errors import MissingExtraError, UsageError
from segue.integrations import INTEGRATIONS
from segue.process import which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

Kind = Literal["offline", "anthropic", "openai", "google", "ollama", "tool", "command"]
Why = Literal["flag", "preset", "config", "found", "default"]


PROGRAMS = {name: one.agent_command for name, one in INTEGRATIONS.items() if one.agent_command is not None}
"""The AI tools that read a prompt from standard input."""

GRAMMAR = (
    "offline, anthropic[/MODEL], openai[/MODEL[@URL]], google[/MODEL], ollama/MODEL, "
    f"{', '.join(PROGRAMS)} (each also with /MODEL), command:ARGUMENTS"
)


class AgentSpec(Struct, frozen=True, kw_only=True):
    """An agent by name, parsed from a text such as `openai/qwen3@http://localhost:8080/v1`.

    Only `parse_spec` reads such texts, so that what is judged is what runs.
    """

    kind: Kind
    model: str = ""
    base_url: str = ""
    argv: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In the form that `parse_spec` takes."""
        match self.kind:
            case "command":
                return f"command:{shlex.join(self.argv)}"
            case "tool":
                name = self.argv[0]
            case _:
                name = self.kind
        if self.base_url:
            return f"{name}/{self.model}@{self.base_url}"
        return f"{name}/{self.model}" if self.model else name

    @property
    def reach(self) -> AgentSpec:
        """The same without its model: which program runs, or which server receives the conversation."""
        argv = PROGRAMS[self.argv[0]].argv("") if self.kind == "tool" else self.argv
        return replace(self, model="", argv=argv)

    @property
    def description(self) -> str:
        """What the user is shown before agreeing to this agent."""
        if self.kind in {"command", "tool"}:
            return f"the command {shlex.join(self.argv)}"
        return f"{self.model or self.kind} at {self.base_url}" if self.base_url else str(self)

    def with_model(self, text: str) -> AgentSpec:
        """The same agent with another model. UsageError if it has no models."""
        model = text.strip()
        match self.kind:
            case "offline" | "command":
                raise UsageError(
                    f"{self} has no models to choose from",
                    hint="use an agent that has: anthropic, openai, google, ollama, or an AI tool",
                )
            case "tool":
                return parse_spec(f"{self.argv[0]}/{model}")
            case provider:
                other = parse_spec(f"{provider}/{model.removeprefix(f'{provider}/')}")
                return replace(other, base_url=other.base_url or self.base_url)


class AgentChoice(Struct, frozen=True, kw_only=True):
    agent: Agent
    spec: AgentSpec
    why: Why
    note: str = ""
    """The reasons for the choice."""
    missing_extra: str = ""
    """The extra to install for a provider whose key is set; empty if none is missing."""


def parse_spec(text: str) -> AgentSpec:
    """Parse the name of an agent, as a flag, a preset or a configuration has it."""
    text = text.strip()
    if text.startswith("command:"):
        return _command(text.removeprefix("command:"))
    name, slash, model = text.partition("/")
    if model.startswith("-"):  # it may come from an untrusted preset, and a tool would take it for an option
        raise UsageError(f"{model!r} is not the name of a model", hint="a model does not begin with a dash")
    if slash and not model:
        raise _unknown(text)
    match name:
        case "offline" if not slash:
            return AgentSpec(kind="offline")
        case "anthropic" | "google":
            return AgentSpec(kind=name, model=model)
        case "openai" | "ollama":
            model, base_url = _split_url(model)
            return AgentSpec(kind=name, model=model, base_url=base_url)
        case _ if name in PROGRAMS:
            return AgentSpec(kind="tool", model=model, argv=PROGRAMS[name].argv(model))
        case _ if not slash:
            return _by_model(name)
        case _:
            raise _unknown(text)


def find_spec(text: str) -> AgentSpec | None:
    """The agent that a text names; None if it does not name one."""
    try:
        return parse_spec(text)
    except UsageError:
        return None


def choose_agent(
    *,
    flag: str | AgentSpec = "",
    preset_model: str | AgentSpec = "",
    config: str | AgentSpec = "",
    environ: Mapping[str, str],
    which: Callable[[str, Mapping[str, str]], str | None] = which,
    patience: RetryPolicy | None = None,
    note_session: Callable[[str, str], None] = lambda _tool, _id: None,
) -> AgentChoice:
    """The agent, and the reason for the choice. `note_session` gets the ids of sessions that AI tools store to answer.

    A flag and a configuration are orders: UsageError or MissingExtraError name what is missing for them. The model of a
    preset is a wish, because presets travel between machines: one that is not available here is skipped with a note.
    Presets also come with untrusted projects, so they may name a model, but never a command or a server: UsageError.
    """
    machine = _Machine(environ, which, patience or RetryPolicy(), note_session)
    notes: list[str] = []
    if flag:
        spec = _spec(flag)
        return AgentChoice(agent=machine.build(spec), spec=spec, why="flag")
    if preset_model not in {"", "inherit"}:
        _check_preset_model(preset_model)
        try:
            agent, spec = machine.build_or_substitute(_spec(preset_model))
            return AgentChoice(agent=agent, spec=spec, why="preset")
        except (UsageError, MissingExtraError) as error:
            notes.append(f"the preset asks for {preset_model}: {error}")
    if config:
        spec = _spec(config)
        return AgentChoice(agent=machine.build(spec), spec=spec, why="config", note="; ".join(notes))
    spec, note, missing = machine.find()
    why: Why = "default" if spec.kind == "offline" else "found"
    note = "; ".join([*notes, note])
    return AgentChoice(agent=machine.build(spec), spec=spec, why=why, note=note, missing_extra=missing)


class _Machine:
    """What this machine has: variables, packages, programs."""

    def __init__(
        self,
        environ: Mapping[str, str],
        which: Callable[[str, Mapping[str, str]], str | None],
        patience: RetryPolicy,
        note_session: Callable[[str, str], None],
    ) -> None:
        self._note_session = note_session
        self._environ = environ
        self._which = which
        self._patience = patience

    def build(self, spec: AgentSpec) -> Agent:
        match spec.kind:
            case "offline":
                return OfflineAgent()
            case "anthropic":
                return anthropic.AnthropicAgent(spec.model, environ=self._environ, patience=self._patience)
            case "google":
                return google.GoogleAgent(spec.model, environ=self._environ, patience=self._patience)
            case "openai" | "ollama":
                return openai.OpenAIAgent(
                    spec.model, base_url=spec.base_url, kind=spec.kind, environ=self._environ, patience=self._patience
                )
            case "tool" | "command":
                if not self._has(spec.argv[0]):
                    raise UsageError(f"{spec.argv[0]!r} is not on the PATH", hint=f"the agents are {GRAMMAR}")
                argvs = self._argvs(spec) if spec.kind == "tool" else ()
                return CommandAgent(spec.argv, environ=self._environ, argvs=tuple(argvs))
            case _:
                assert_never(spec.kind)

    def _argvs(self, spec: AgentSpec) -> Iterator[Callable[[], tuple[str, ...]]]:
        """The command lines of an AI tool: without a session of its own, else with one whose id is noted."""
        tool = spec.argv[0]
        command = PROGRAMS[tool]
        if command.unsaved:
            yield lambda: command.argv(spec.model, *command.unsaved)
        if command.session_id:

            def with_id() -> tuple[str, ...]:
                id = str(uuid.uuid4())
                self._note_session(tool, id)
                return command.argv(spec.model, f"{command.session_id}={id}")

            yield with_id
        yield lambda: spec.argv

    def build_or_substitute(self, spec: AgentSpec) -> tuple[Agent, AgentSpec]:
        """The model itself or, without a key for it, the AI tool of the same provider."""
        try:
            return self.build(spec), spec
        except (UsageError, MissingExtraError):
            name = _PROVIDER_TOOLS.get(spec.kind, "")
            if name not in PROGRAMS or not self._has(name):
                raise
            through = AgentSpec(kind="tool", model=spec.model, argv=PROGRAMS[name].argv(spec.model))
            return self.build(through), through

    def find(self) -> tuple[AgentSpec, str, str]:
        """The best agent, why, and the extra without which a better one is not available."""
        reason = missing = ""
        for kind, provider in _PROVIDERS.items():
            key = next((name for name in provider.KEYS if self._environ.get(name)), "")
            # A server of one's own has models of its own: only its owner knows which one to use.
            if not key or (kind == "openai" and self._environ.get("OPENAI_BASE_URL")):
                continue
            if provider.is_installed():
                return AgentSpec(kind=kind), f"{key} is set", ""
            if not missing:
                reason, missing = f"{key} is set, but the {kind} SDK is not installed", kind
        for name in PROGRAMS:
            if self._has(name):
                found = f"{name} is on the PATH"
                return parse_spec(name), f"{found}; {reason}" if missing else found, missing
        if not missing:
            reason = "no --agent, no API key, no AI tool on the PATH"
        return AgentSpec(kind="offline"), reason, missing

    def _has(self, command: str) -> bool:
        return self._which(command, self._environ) is not None


_PROVIDERS: dict[Kind, ModuleType] = {"anthropic": anthropic, "openai": openai, "google": google}
_PROVIDER_TOOLS = {one.provider: name for name, one in INTEGRATIONS.items() if one.provider}
_PREFIXES: dict[str, Kind] = {"claude-": "anthropic", "gpt-": "openai", "gemini-": "google"}


def _spec(given: str | AgentSpec) -> AgentSpec:
    return parse_spec(given) if isinstance(given, str) else given


def _check_preset_model(given: str | AgentSpec) -> None:
    spec = find_spec(given) if isinstance(given, str) else given
    if spec is not None and (spec.kind == "command" or spec.base_url):
        raise UsageError(
            f"the preset asks for {str(given)!r}, but a preset cannot name a command or a server",
            hint="if you trust it, name the agent yourself",
        )


def _command(text: str) -> AgentSpec:
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"the command {text!r} cannot be parsed: {error}", hint="check its quotes") from None
    if not argv:
        raise UsageError("there is no command after command:", hint="for example command:claude -p")
    return AgentSpec(kind="command", argv=argv)


def _split_url(model: str) -> tuple[str, str]:
    """Split at the last @http: the name of a model may contain an @."""
    name, at, rest = model.rpartition("@http")
    return (name, f"http{rest}") if at else (model, "")


def _by_model(name: str) -> AgentSpec:
    """A model whose name tells its provider, as presets have it: `sonnet`, `gpt-6.1-sol`."""
    if name in anthropic.SHORT_NAMES:
        return AgentSpec(kind="anthropic", model=name)
    for prefix, kind in _PREFIXES.items():
        if name.startswith(prefix):
            return AgentSpec(kind=kind, model=name)
    raise _unknown(name)


def _unknown(text: str) -> UsageError:
    return UsageError(f"there is no agent {text!r}", hint=f"the agents are {GRAMMAR}")
