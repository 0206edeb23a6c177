"""Which agent answers: as the flag says, or the preset, or the configuration, or what is found here, or else offline.

Finding looks at variables, installed packages and the PATH. It starts no process and opens no connection.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from segue.chat.agent import Agent
from segue.chat.agents import anthropic, google, openai
from segue.chat.agents.command import CommandAgent
from segue.chat.agents.offline import OfflineAgent
from segue.chat.agents.retry import RetryPolicy
from segue.errors import MissingExtraError, UsageError
from segue.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

Kind = Literal["offline", "anthropic", "openai", "google", "ollama", "tool", "command"]
Why = Literal["flag", "preset", "config", "found", "default"]


class AgentProgram(Struct, frozen=True):
    """A tool that is known to read its prompt from its input: how to call it, without and with a model."""

    start: tuple[str, ...]
    end: tuple[str, ...] = ()

    def argv(self, model: str) -> tuple[str, ...]:
        return (*self.start, *(("--model", model) if model else ()), *self.end)


PROGRAMS = {
    "claude": AgentProgram(("claude", "-p")),
    "codex": AgentProgram(("codex", "exec"), ("-",)),
    "gemini": AgentProgram(("gemini",)),
    "llm": AgentProgram(("llm",)),
}

GRAMMAR = (
    "offline, anthropic[/MODEL], openai[/MODEL[@URL]], google[/MODEL], ollama/MODEL, "
    f"{', '.join(PROGRAMS)} (each also with /MODEL), command:ARGUMENTS"
)


class AgentSpec(Struct, frozen=True, kw_only=True):
    """Who is asked for, read from a text such as `openai/qwen3@http://localhost:8080/v1`.

    Texts are read in one place, `parse_spec`, and never looked at again: what is judged is what runs.
    """

    kind: Kind
    model: str = ""
    base_url: str = ""
    argv: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As `--agent` takes it."""
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
        """The same whatever its model is: what runs, or where the words go."""
        argv = PROGRAMS[self.argv[0]].argv("") if self.kind == "tool" else self.argv
        return replace(self, model="", argv=argv)

    def with_model(self, text: str) -> AgentSpec:
        """The same agent with another model. UsageError if it has none to choose from."""
        model = text.strip()
        match self.kind:
            case "offline" | "command":
                raise UsageError(
                    f"{self} has no models to choose from",
                    hint="name an agent that has: anthropic, openai, google, ollama, or one of their tools",
                )
            case "tool":
                return parse_spec(f"{self.argv[0]}/{model}")
            case house:
                other = parse_spec(f"{house}/{model.removeprefix(f'{house}/')}")
                return replace(other, base_url=other.base_url or self.base_url)


class AgentChoice(Struct, frozen=True, kw_only=True):
    agent: Agent
    spec: AgentSpec
    """What the agent was made of."""
    why: Why
    """A word for the status line."""
    note: str = ""
    """A sentence for those who wonder."""


def parse_spec(text: str) -> AgentSpec:
    """Read what a flag, a preset or a configuration says."""
    text = text.strip()
    if text.startswith("command:"):
        return _command(text.removeprefix("command:"))
    name, slash, model = text.partition("/")
    if model.startswith("-"):  # it may come from a stranger's preset, and a tool would take it for an option
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
    """What the text names, if it names an agent."""
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
    which: Callable[[str, Mapping[str, str]], str | None] = find_program,
    patience: RetryPolicy | None = None,
) -> AgentChoice:
    """Who answers, and why.

    A flag and a configuration are orders: what they ask for is given, or UsageError or MissingExtraError says what is
    missing. The model of a preset is a wish, because presets travel between machines: one that cannot be had here is
    passed over with a note. Presets also come with the projects of strangers, so they name a model, and never a command
    or a server: UsageError.
    """
    machine = _Machine(environ, which, patience or RetryPolicy())
    notes: list[str] = []
    if flag:
        spec = _read(flag)
        return AgentChoice(agent=machine.build(spec), spec=spec, why="flag")
    if preset_model not in {"", "inherit"}:
        _check_wish(preset_model)
        try:
            agent, spec = machine.grant(_read(preset_model))
            return AgentChoice(agent=agent, spec=spec, why="preset")
        except (UsageError, MissingExtraError) as error:
            notes.append(f"the preset asks for {preset_model}: {error}")
    if config:
        spec = _read(config)
        return AgentChoice(agent=machine.build(spec), spec=spec, why="config", note="; ".join(notes))
    spec, note = machine.find()
    why: Why = "default" if spec.kind == "offline" else "found"
    return AgentChoice(agent=machine.build(spec), spec=spec, why=why, note="; ".join([*notes, note]))


class _Machine:
    """What is at hand: variables, packages, commands."""

    def __init__(
        self,
        environ: Mapping[str, str],
        which: Callable[[str, Mapping[str, str]], str | None],
        patience: RetryPolicy,
    ) -> None:
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
                    raise UsageError(f"there is no command {spec.argv[0]!r} on the PATH", hint=f"there is {GRAMMAR}")
                return CommandAgent(spec.argv, environ=self._environ)
            case _:
                assert_never(spec.kind)

    def grant(self, wish: AgentSpec) -> tuple[Agent, AgentSpec]:
        """The model itself or, without a key for it, through the tool of the same house."""
        try:
            return self.build(wish), wish
        except (UsageError, MissingExtraError):
            name = _HOUSES.get(wish.kind, "")
            if name not in PROGRAMS or not self._has(name):
                raise
            through = AgentSpec(kind="tool", model=wish.model, argv=PROGRAMS[name].argv(wish.model))
            return self.build(through), through

    def find(self) -> tuple[AgentSpec, str]:
        unused = ""
        for kind, house in _PROVIDERS.items():
            key = next((name for name in house.KEYS if self._environ.get(name)), "")
            # A server of one's own has models of its own: which one to use, only its owner can say.
            if not key or (kind == "openai" and self._environ.get("OPENAI_BASE_URL")):
                continue
            if house.is_installed():
                return AgentSpec(kind=kind), f"{key} is set"
            unused = unused or f"; {key} is set, and pip install 'segue[{kind}]' would use it"
        for name in PROGRAMS:
            if self._has(name):
                return parse_spec(name), f"{name} is on the PATH{unused}"
        return AgentSpec(kind="offline"), f"no agent was named or found{unused}"

    def _has(self, command: str) -> bool:
        return self._which(command, self._environ) is not None


_PROVIDERS: dict[Kind, ModuleType] = {"anthropic": anthropic, "openai": openai, "google": google}
_HOUSES: dict[str, str] = {"anthropic": "claude", "openai": "codex", "google": "gemini"}
_PREFIXES: dict[str, Kind] = {"claude-": "anthropic", "gpt-": "openai", "gemini-": "google"}


def _read(said: str | AgentSpec) -> AgentSpec:
    return parse_spec(said) if isinstance(said, str) else said


def _check_wish(said: str | AgentSpec) -> None:
    spec = find_spec(said) if isinstance(said, str) else said
    if spec is not None and (spec.kind == "command" or spec.base_url):
        raise UsageError(
            f"the preset asks for {str(said)!r}, and a preset cannot name a command or a server",
            hint="if you trust it, name it yourself",
        )


def _command(text: str) -> AgentSpec:
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"the command {text!r} cannot be read: {error}", hint="check its quotes") from None
    if not argv:
        raise UsageError("there is no command after command:", hint="for example command:claude -p")
    return AgentSpec(kind="command", argv=argv)


def _split_url(model: str) -> tuple[str, str]:
    """Models may have an @ of their own."""
    name, at, rest = model.rpartition("@http")
    return (name, f"http{rest}") if at else (model, "")


def _by_model(name: str) -> AgentSpec:
    """A model that says itself whose it is, as presets have it: `sonnet`, `gpt-6.1-sol`."""
    if name in anthropic.SHORT_NAMES:
        return AgentSpec(kind="anthropic", model=name)
    for prefix, kind in _PREFIXES.items():
        if name.startswith(prefix):
            return AgentSpec(kind=kind, model=name)
    raise _unknown(name)


def _unknown(text: str) -> UsageError:
    return UsageError(f"there is no agent {text!r}", hint=f"there is {GRAMMAR}")
