"""Who can answer here: the presets of some folders, and the agents of this machine."""

from __future__ import annotations

import shlex
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from segue.chat.agent import Agent
from segue.chat.agents import choose_agent, parse_spec
from segue.chat.agents.choose import GRAMMAR, TOOLS, Choice, Why, find_command
from segue.chat.agents.command import CommandAgent
from segue.chat.agents.offline import OfflineAgent
from segue.chat.engine import MAX_TOKENS
from segue.errors import MissingExtraError, NotFoundError, UsageError
from segue.presets import Preset, Presets, load_presets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from segue.abilities.bench import Bench
    from segue.chat.drafts import Drafts
    from segue.chat.toolbox import Toolbox
    from segue.model import Overview
    from segue.session import LiveSession

PROJECT_FOLDERS = (".segue/agents", ".claude/agents", "agents")
_HOUSES = ("anthropic", "openai", "google", "ollama")


class Settings(Struct, frozen=True, kw_only=True):
    """What the configuration of a tool says; empty where it says nothing."""

    agent: str = ""
    """A preset, or an agent as `--agent` names it."""
    model: str = ""
    max_tokens: int = MAX_TOKENS
    idle_minutes: float = 5
    """After so long at the prompt a session counts as paused; 0 for never."""
    openai_base_url: str = ""


class Cast(Struct, frozen=True, kw_only=True):
    """Who answers, with which prompt, and why."""

    agent: Agent
    preset: Preset | None = None
    why: Why
    note: str = ""
    """What led to it, where nobody was named."""
    said: dict[str, str] = {}
    """The agent and the model that were asked for by name, where that is no preset: what a session remembers."""

    @property
    def label(self) -> str:
        """A short name for the session to be known by: of the preset, or of whoever answers."""
        if self.preset is not None:
            return self.preset.name
        if isinstance(self.agent, CommandAgent):
            return PurePath(shlex.split(self.agent.name)[0]).name
        return self.agent.name.partition("@http")[0]


class Company:
    """Finds whoever is asked for. Reads no folder before that is needed, and starts nothing.

    `trusted` are those of the folders whose links may lead elsewhere. `confirm` is asked before a command or a server
    is used because a session says so: sessions travel, and whoever made one must not choose what runs here. `tell` is
    told who answers where nobody was named. `titles` calls a session without a title after its first question, so that
    people find it again. `brings` is the preset that a session has by what it is, ahead of those of the folders.
    `drafts` keeps what has come of an answer, in case of a crash. `toolbox` has the tools that presets may name.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        folders: Sequence[Path] = (),
        trusted: Collection[Path] = (),
        settings: Settings | None = None,
        confirm: Callable[[str], bool] = lambda _: False,
        tell: Callable[[str], None] = lambda _: None,
        titles: bool = False,
        brings: Callable[[Overview], Preset | None] = lambda _: None,
        drafts: Drafts | None = None,
        toolbox: Toolbox | None = None,
    ) -> None:
        self.tell = tell
        self.titles = titles
        self.drafts = drafts
        self._toolbox = toolbox
        self.settings = settings or Settings()
        self._environ = dict(environ)
        if self.settings.openai_base_url:
            self._environ.setdefault("OPENAI_BASE_URL", self.settings.openai_base_url)
        self._folders = folders
        self._trusted = trusted
        self._confirm = confirm
        self._brings = brings

    @cached_property
    def presets(self) -> Presets:
        return load_presets(self._folders, trusted=self._trusted)

    def bench(self, session: LiveSession, cast: Cast) -> Bench | None:
        """The tools of a conversation; None where there are none, or nobody who could use them."""
        preset = cast.preset
        if self._toolbox is None or preset is None or isinstance(cast.agent, CommandAgent | OfflineAgent):
            return None
        trusted = self.presets.is_from(preset, self._trusted)
        return self._toolbox.bench(session, preset, trusted=trusted, budget=self.settings.max_tokens)

    def close(self) -> None:
        """End what was started for tools."""
        if self._toolbox is not None:
            self._toolbox.close()

    def names(self) -> tuple[str, ...]:
        """What can be asked for by name: presets first, then the agents that need nothing more than a key."""
        tools = [name for name in TOOLS if find_command(name, path=self._environ.get("PATH", ""))]
        return tuple(dict.fromkeys([*self.presets.names, "offline", *_HOUSES[:3], *tools]))

    def choose(self, agent: str = "", *, preset: str = "", model: str = "") -> Cast:
        """Who answers in a new conversation, by the name of a preset or of an agent, or as the configuration says.

        NotFoundError lists what exists, UsageError and MissingExtraError say what is missing: before anything begins.
        """
        found = self.presets.get(preset) if preset else None
        if found is None:
            found = self._find(agent or self.settings.agent)
            agent = "" if found is not None else agent
        self._check(agent)
        return self._cast(agent, found, model)

    def recall(self, about: Overview, agent: str = "", *, model: str = "") -> Cast:
        """Who answers in a session that exists: whoever is named, or else who answered there, as far as they are here.

        Another agent than before keeps the preset, and so the prompt, unless it is a preset itself.
        """
        said = agent or str(about.overrides.get("agent", ""))
        if said and self._find(said) is not None:
            return self.choose(said, model=model)
        if not agent:
            model = model or str(about.overrides.get("model", ""))
            self._check_recorded(said)
        self._check(said)
        name = about.preset.name if about.preset is not None else about.agent
        found = self._brings(about) or self._find(name)
        cast = self._cast(said, found, model)
        if about.preset is not None and found is None:
            lost = f"the preset {name} is not here any more, so its prompt is missing"
            cast = replace(cast, note="; ".join(filter(None, [lost, cast.note])))
        return cast

    def _find(self, name: str) -> Preset | None:
        return self.presets.find(name) if name else None

    def _check(self, spec: str) -> None:
        """Whether anybody is called like this; the presets are listed with the agents."""
        try:
            if spec:
                parse_spec(spec)
        except UsageError:
            if spec.startswith("command:"):
                raise
            try:
                self.presets.get(spec)
            except NotFoundError as error:
                meant = f"did you mean {' or '.join(error.near)}? " if error.near else ""
                named = f"the presets {', '.join(self.presets.names)}; the agents " if len(self.presets) else ""
                raise NotFoundError(str(error), hint=f"{meant}there are {named}{GRAMMAR}", near=error.near) from None

    def _check_recorded(self, spec: str) -> None:
        if not spec.startswith("command:") and "@http" not in spec:
            return
        what = f"the command {spec.removeprefix('command:')!r}" if spec.startswith("command:") else spec
        if not self._confirm(f"This session was answered by {what}. Use it again?"):
            raise UsageError(
                f"this session was answered by {what}, which is used only if you say so",
                hint=f"say --agent {shlex.quote(spec)}, or name another",
            )

    def _cast(self, agent: str, preset: Preset | None, model: str) -> Cast:
        said = {name: text for name, text in (("agent", agent), ("model", model)) if text}
        choice = self._choose(agent, preset, model)
        return Cast(agent=choice.agent, preset=preset, why=choice.why, note=choice.note, said=said)

    def _choose(self, agent: str, preset: Preset | None, model: str) -> Choice:
        if agent:
            return self._ask(flag=_with_model(agent, model) if model else agent)
        if model and _is_spec(model):
            return self._ask_for_model(model)
        config = self.settings.agent if self._find(self.settings.agent) is None else ""
        if config and self.settings.model:
            config = _with_model(config, self.settings.model)
        choice = self._ask(preset_model=_wish(preset), config=config or self.settings.model)
        if not model:
            return choice
        name = choice.agent.name
        if isinstance(choice.agent, CommandAgent):
            tool = name.partition(" ")[0]
            name = tool if tool in TOOLS else f"command:{name}"
        return replace(choice, agent=self._ask(flag=_with_model(name, model)).agent)

    def _ask(self, *, flag: str = "", preset_model: str = "", config: str = "") -> Choice:
        return choose_agent(flag=flag, preset_model=preset_model, config=config, environ=self._environ)

    def _ask_for_model(self, model: str) -> Choice:
        """From its provider or, without a key, through the tool of the same house, as a preset would get it."""
        try:
            return self._ask(flag=model)
        except (UsageError, MissingExtraError):
            if "@http" not in model and not model.startswith("command:"):
                choice = self._ask(preset_model=model)
                if choice.why == "preset":
                    return replace(choice, why="flag")
            raise


def preset_folders(cwd: Path, names: Sequence[str] = PROJECT_FOLDERS) -> list[Path]:
    """Where a project keeps its presets: here, and in every folder above up to the root of the repository."""
    above = [cwd, *cwd.parents]
    root = next((at for at, folder in enumerate(above) if (folder / ".git").exists()), 0)
    return [folder / name for folder in above[: root + 1] for name in names]


def _wish(preset: Preset | None) -> str:
    if preset is None:
        return ""
    house = preset.backend.casefold()
    if house in _HOUSES and not preset.model.startswith(f"{house}/"):
        return f"{house}/{preset.model}" if preset.model else house
    return preset.model


def _is_spec(model: str) -> bool:
    try:
        parse_spec(model)
    except UsageError:
        return False
    return True


def _with_model(spec: str, model: str) -> str:
    """The same agent with another model."""
    parsed = parse_spec(spec)
    match parsed.kind:
        case "offline" | "command":
            raise UsageError(
                f"{spec} has no models to choose from",
                hint="name an agent that has: anthropic, openai, google, ollama, or one of their tools",
            )
        case "tool":
            return f"{spec.partition('/')[0]}/{model}"
        case house:
            at = f"@{parsed.base_url}" if parsed.base_url else ""
            return f"{house}/{model.removeprefix(f'{house}/')}{at}"
