"""Who can answer here: the presets of some folders, and the agents of this machine."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from segue.chat.agent import Agent, NoAgentError
from segue.chat.agents import AgentSpec, choose_agent, parse_spec
from segue.chat.agents.command import CommandAgent
from segue.chat.agents.offline import OfflineAgent
from segue.chat.agents.resolved import ChatSettings, ResolvedAgent
from segue.chat.agents.selection import GRAMMAR, PROGRAMS, AgentChoice, find_spec
from segue.chat.conversation import Conversation
from segue.chat.drafts import Drafts
from segue.errors import MissingExtraError, NotFoundError, StorageError, UntrustedError, UsageError
from segue.links import Link
from segue.presets import Preset, Presets, PresetSources
from segue.presets.drift import normalize_prompt
from segue.process import which
from segue.tools.trust_requests import AGENT, REACH, SCOPE, TrustRequest, format_trust_requests, tools_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from segue.model import Overview
    from segue.session import LiveSession
    from segue.surface import Surface
    from segue.tools.executor import ToolExecutor
    from segue.tools.toolbox import Toolbox
    from segue.tools.trust_requests import SessionInfo
    from segue.trust import Marks

PROVIDERS = ("anthropic", "openai", "google", "ollama")


class AgentResolver:
    """Finds the agent of a conversation. Reads no folder before that is needed, and starts nothing.

    Sessions travel, and the author of one must not choose what runs here: `surface.confirm` shows what a session asks
    for that this user has not set on this machine, and `surface.trust` remembers the answer. `preset_for` is the preset
    of a session by its kind, which precedes those of the folders. `toolbox` has the tools that presets may name. With
    `titles`, the first question becomes the title of a session that has none. With `needs_model`, NoAgentError instead
    of the offline agent where no other is available; one that is named is used.
    """

    def __init__(
        self,
        surface: Surface,
        *,
        sources: PresetSources | None = None,
        settings: ChatSettings | None = None,
        toolbox: Toolbox | None = None,
        titles: bool = False,
        needs_model: bool = False,
        preset_for: Callable[[Overview], Preset | None] = lambda _: None,
    ) -> None:
        self.surface = surface
        self.settings = settings or ChatSettings()
        self._sources = sources or PresetSources()
        self._toolbox = toolbox
        self._titles = titles
        self._needs_model = needs_model
        self._preset_for = preset_for
        self._trust = surface.trust
        self._environ = dict(surface.environ)
        if self.settings.openai_base_url:
            self._environ.setdefault("OPENAI_BASE_URL", self.settings.openai_base_url)

    @cached_property
    def presets(self) -> Presets:
        return self._sources.load()

    def converse(self, session: LiveSession, resolved: ResolvedAgent) -> Conversation:
        """A conversation with this agent in a session."""
        if resolved.note:
            self.surface.notify(f"using {resolved.title} ({resolved.note})")
        preset, recorded = resolved.preset, session.overview.preset
        if preset is not None and (recorded is None or recorded.hash != preset.hash):
            # Its name is the hash that the session is going to refer to, so that a later change can be shown.
            session.put_blob(normalize_prompt(preset.system_prompt).encode("utf-8", "surrogatepass"))
        conversation = Conversation(
            session,
            resolved.agent,
            preset=preset,
            max_tokens=self.settings.max_tokens,
            drafts=Drafts(self.surface.paths.drafts),
            executor=self._executor(session, resolved),
            titles=self._titles,
        )
        conversation.named = resolved.named
        return conversation

    def attach(self, session: LiveSession, agent: str = "", model: str = "") -> Conversation:
        """A conversation in an open session, with the named agent, or else with the one that answered there.

        Records nothing in the session. A named agent is the choice of this user, who is not asked about it on resume.
        """
        resolved = self.recall(session, agent, model=model)
        if agent or model:
            self.vouch(session, resolved)
        return self.converse(session, resolved)

    def _executor(self, session: LiveSession, resolved: ResolvedAgent) -> ToolExecutor | None:
        """The tools of a conversation; None if there are none, or if the agent cannot call any."""
        preset = resolved.preset
        if self._toolbox is None or preset is None or not _takes_tools(resolved.agent):
            return None
        return self._toolbox.executor(
            session,
            preset,
            resolved.tools,
            trusted=self._is_own(preset),
            budget=self.settings.max_tokens,
            marks=self.marks_of(session),
        )

    def close(self) -> None:
        """Stop the programs that were started for tools."""
        if self._toolbox is not None:
            self._toolbox.close()

    def names(self) -> tuple[str, ...]:
        """The names of agents: presets first, then the agents that need nothing more than a key."""
        tools = [name for name in PROGRAMS if which(name, self.surface.environ)]
        return tuple(dict.fromkeys([*self.presets.names, "offline", *PROVIDERS[:3], *tools]))

    def choose(self, agent: str = "", *, preset: str = "", model: str = "") -> ResolvedAgent:
        """The agent of a new conversation, by the name of a preset or of an agent, or from the configuration.

        NotFoundError lists what exists; UsageError and MissingExtraError name what is missing, before anything starts.
        """
        found = self.presets.get(preset) if preset else None
        if found is None:
            found = self._find(agent or self.settings.agent)
            agent = "" if found is not None else agent
        self._check(agent)
        return self._resolve(agent, found, model)

    def recall(self, session: SessionInfo, agent: str = "", *, model: str = "") -> ResolvedAgent:
        """The agent of an existing session: the named one, or else the one that answered there, if available here.

        Another agent keeps the preset, and with it the prompt, unless it is a preset itself. What the session
        asks for and this user has not set here needs a yes, once: without it, the agent that it names is refused, and
        its tools and its scope are left out.
        """
        resolved = self._recall(session.overview, agent, model)
        missing = [
            one
            for one in self._trust_requests(session, resolved, agent, model)
            if not one.is_granted(self.marks_of(session))
        ]
        if not missing:
            return resolved
        names_agent = any(one.part in {AGENT, REACH} for one in missing)
        if self.surface.confirm(format_trust_requests(missing)):
            self._agree(session, [*missing, *([_agent_request(resolved.spec, any_model=True)] if names_agent else [])])
            return resolved
        if names_agent:
            raise UntrustedError(
                f"this session asks for {missing[0].text}, which was not set here",
                session_id=session.id,
                store=session.store.url,
                agent=str(resolved.spec),
            )
        self.surface.notify(f"ignored what this session asks for ({', '.join(one.part for one in missing)})")
        own = self._own_tools(resolved.preset, agent)
        return replace(resolved, tools=tuple(name for name in resolved.tools if name in own))

    def trust_requests(self, session: SessionInfo) -> list[TrustRequest]:
        """All that a session asks for and this user has not agreed to, whether a conversation uses it or not."""
        marks, resolved = self.marks_of(session), self._recall(session.overview, "", "")
        return [one for one in self._all_trust_requests(session, resolved) if not one.is_granted(marks)]

    def agree(self, session: SessionInfo) -> None:
        """Agree to all that a session asks for, and to its current agent."""
        resolved = self._recall(session.overview, "", "")
        both = [_agent_request(resolved.spec), _agent_request(resolved.spec, any_model=True)]
        self._agree(session, [*both, *self._all_trust_requests(session, resolved)])

    def vouch(self, session: SessionInfo, resolved: ResolvedAgent) -> None:
        """Record that this user has chosen the agent and its tools on this machine."""
        trust_requests: list[TrustRequest] = []
        if resolved.named or not self._is_usual(resolved):
            trust_requests += [_agent_request(resolved.spec), _agent_request(resolved.spec, any_model=True)]
        if any(name not in self._own_tools(resolved.preset, "") for name in resolved.tools):
            trust_requests.append(tools_request(resolved.tools, ""))
        self._agree(session, trust_requests)

    def marks_of(self, session: SessionInfo) -> Marks:
        return self._trust.of(session.store.url, session.id)

    def _agree(self, session: SessionInfo, trust_requests: Sequence[TrustRequest]) -> None:
        try:
            for one in trust_requests:
                one.grant(self.marks_of(session))
        except StorageError as error:
            self.surface.notify(f"the answer cannot be saved, so you will be asked again: {error}")

    def _recall(self, about: Overview, agent: str, model: str) -> ResolvedAgent:
        name = agent or _override(about, "agent")
        if not agent:
            model = model or _override(about, "model")
        if (preset := self._find(name)) is not None:
            return self._resolve("", preset, model, about)
        self._check(name)
        preset_name = about.preset.name if about.preset is not None else about.agent
        found = self._preset_for(about) or self._find(preset_name)
        resolved = self._resolve(name, found, model, about)
        if about.preset is not None and found is None:
            lost = f"the preset {preset_name} no longer exists, so its prompt is missing"
            resolved = replace(resolved, note="; ".join(filter(None, [lost, resolved.note])))
        return resolved

    def _trust_requests(
        self, session: SessionInfo, resolved: ResolvedAgent, agent: str, model: str
    ) -> Iterator[TrustRequest]:
        """What a conversation with the resolved agent takes from the session."""
        preset = resolved.preset
        if not agent and not self._is_usual(resolved):
            yield _agent_request(resolved.spec, any_model=bool(model))
        if self._toolbox is None or preset is None or not resolved.tools or not _takes_tools(resolved.agent):
            return
        if any(name not in self._own_tools(preset, agent) for name in resolved.tools):
            is_recorded = "tools" in session.overview.overrides
            yield tools_request(resolved.tools, "the session" if is_recorded else f"the preset in {preset.path}")
        yield from self._scope_requests(session, preset)

    def _all_trust_requests(self, session: SessionInfo, resolved: ResolvedAgent) -> list[TrustRequest]:
        found = list(self._trust_requests(session, resolved, "", ""))
        others = [] if any(one.part == SCOPE for one in found) else self._scope_requests(session, resolved.preset)
        return [*found, *others]

    def _scope_requests(self, session: SessionInfo, preset: Preset | None) -> Iterator[TrustRequest]:
        trusted = preset if preset is not None and self._is_own(preset) else None
        if self._toolbox is not None:
            yield from self._toolbox.scope_requests(session, trusted, marks=self.marks_of(session))

    def _is_usual(self, resolved: ResolvedAgent) -> bool:
        """Whether it starts no program and uses no server that this machine would not use without the session."""
        if resolved.spec.kind == "offline":
            return True
        own = resolved.preset if resolved.preset is not None and self._is_own(resolved.preset) else None
        if not resolved.named and own is resolved.preset:
            return True  # only this user has chosen
        try:
            usual = self._choose("", own, "").spec
        except (UsageError, MissingExtraError):
            return False
        # Where a server or a program forwards requests, the name of the model decides to whom.
        passes_on = usual.argv[:1] == ("llm",) or (usual.kind == "openai" and "OPENAI_BASE_URL" in self._environ)
        return resolved.spec == usual if passes_on else resolved.spec.reach == usual.reach

    def _is_own(self, preset: Preset) -> bool:
        return self.presets.is_from(preset, self._sources.trusted)

    def _own_tools(self, preset: Preset | None, agent: str) -> tuple[str, ...]:
        """The tools that need no question: of a preset of the user, or of the preset that is named now."""
        return preset.tools if preset is not None and (preset.name == agent or self._is_own(preset)) else ()

    def _find(self, name: str) -> Preset | None:
        return self.presets.find(name) if name else None

    def _check(self, spec: str) -> None:
        """Raise NotFoundError, with the presets and the agents that exist, if this names none of them."""
        try:
            if spec:
                parse_spec(spec)
        except UsageError:
            if spec.strip().startswith("command:"):
                raise
            try:
                self.presets.get(spec)
            except NotFoundError as error:
                meant = f"did you mean {' or '.join(error.near)}? " if error.near else ""
                named = f"the presets {', '.join(self.presets.names)}; the agents " if len(self.presets) else ""
                raise NotFoundError(str(error), hint=f"{meant}there are {named}{GRAMMAR}", near=error.near) from None

    def _resolve(self, agent: str, preset: Preset | None, model: str, about: Overview | None = None) -> ResolvedAgent:
        named = {name: text for name, text in (("agent", agent), ("model", model)) if text}
        choice = self._choose(agent, preset, model)
        if self._needs_model and choice.why == "default":
            raise NoAgentError(choice.note)
        names: object = list(preset.tools) if preset is not None else []
        if about is not None and "tools" in about.overrides:  # None are none, whatever the preset has
            names = about.overrides["tools"]
        return ResolvedAgent(
            agent=choice.agent,
            spec=choice.spec,
            preset=preset,
            tools=tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else (),
            why=choice.why,
            note="; ".join(filter(None, [self._note_on_duplicate(preset), choice.note])),
            missing_extra=choice.missing_extra,
            named=named,
        )

    def _note_on_duplicate(self, preset: Preset | None) -> str:
        """A note that the project has a preset with the same name as one of the user's."""
        if preset is None or self.presets.find(preset.name) is not preset or not self._is_own(preset):
            return ""
        own = {str(folder) for folder in self._sources.trusted}
        others = [path for path in self.presets.shadowed(preset.name) if path.rpartition("/")[0] not in own]
        return (
            f"{preset.name} is the preset in {preset.path}, and not that of the project in {others[0]}"
            if others
            else ""
        )

    def _choose(self, agent: str, preset: Preset | None, model: str) -> AgentChoice:
        if agent:
            spec = parse_spec(agent)
            return self._ask(flag=spec.with_model(model) if model else spec)
        if model and (named := find_spec(model)) is not None:
            return self._ask_for_model(named)
        config = self.settings.agent if self._find(self.settings.agent) is None else ""
        default: str | AgentSpec = config or self.settings.model
        if config and self.settings.model:
            default = parse_spec(config).with_model(self.settings.model)
        choice = self._ask(preset_model=_model_spec(preset), config=default)
        if not model:
            return choice
        chosen = self._ask(flag=choice.spec.with_model(model))
        return replace(choice, agent=chosen.agent, spec=chosen.spec)

    def _ask(
        self, *, flag: str | AgentSpec = "", preset_model: str | AgentSpec = "", config: str | AgentSpec = ""
    ) -> AgentChoice:
        return choose_agent(
            flag=flag,
            preset_model=preset_model,
            config=config,
            environ=self._environ,
            note_session=self._note_session,
        )

    def _note_session(self, tool: str, native_id: str) -> None:
        """Record that an AI tool stores this session to answer here, so that it is not listed as a conversation."""
        with suppress(StorageError):  # then it is listed
            self._trust.links.add(
                Link(tool=tool, native_id=native_id, place="", session="", created_at=0, how="answer")
            )

    def _ask_for_model(self, model: AgentSpec) -> AgentChoice:
        """From its provider or, without a key, through the AI tool of the same provider, as for a preset."""
        try:
            return self._ask(flag=model)
        except (UsageError, MissingExtraError):
            if not model.base_url and model.kind != "command":
                choice = self._ask(preset_model=model)
                if choice.why == "preset":
                    return replace(choice, why="flag")
            raise


def _model_spec(preset: Preset | None) -> str:
    if preset is None:
        return ""
    provider = preset.backend.casefold()
    if provider in PROVIDERS and not preset.model.startswith(f"{provider}/"):
        return f"{provider}/{preset.model}" if preset.model else provider
    return preset.model


def _agent_request(spec: AgentSpec, *, any_model: bool = False) -> TrustRequest:
    """The request to be answered by this agent; with `any_model`, by this agent with whichever model."""
    part, content = (REACH, str(spec.reach)) if any_model else (AGENT, str(spec))
    return TrustRequest(part=part, content=content, text=spec.description, where=content)  # one mark per agent


def _override(about: Overview, name: str) -> str:
    """A setting of a session; empty for a value of another type."""
    value = about.overrides.get(name)
    return value.strip() if isinstance(value, str) else ""


def _takes_tools(agent: Agent) -> bool:
    return not isinstance(agent, CommandAgent | OfflineAgent)
