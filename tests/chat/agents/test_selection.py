"""Which agent answers: the order, the grammar, and what a preset may not ask for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from segue.chat.agents import AgentSpec, choose_agent, parse_spec
from segue.chat.agents.command import CommandAgent
from segue.chat.agents.resolved import short_name
from segue.errors import MissingExtraError, UsageError
from tests.support.conversation import EchoAgent

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g"}


class Machine:
    """A PATH with these commands on it."""

    def __init__(self, *commands: str) -> None:
        self.commands = commands

    def __call__(self, cmd: str, _environ: Mapping[str, str]) -> str | None:
        return f"/bin/{cmd}" if cmd in self.commands else None


NOTHING = Machine()
ALL = Machine("claude", "codex", "gemini", "llm", "mytool")


# ── The order ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_fresh_machine_answers_offline() -> None:
    choice = choose_agent(environ={}, which=NOTHING)
    assert (choice.agent.name, choice.why) == ("offline", "default")


def test_flag_preset_config_found_offline_is_the_order() -> None:
    everything = {"flag": "ollama/f", "preset_model": "haiku", "config": "google/c"}
    names = []
    for left_out in ((), ("flag",), ("flag", "preset_model"), ("flag", "preset_model", "config")):
        asked = {name: text for name, text in everything.items() if name not in left_out}
        choice = choose_agent(**asked, environ=KEYS, which=ALL)  # type: ignore[arg-type]
        names.append((choice.why, choice.agent.name))
    assert names == [
        ("flag", "ollama/f"),
        ("preset", "anthropic/claude-haiku-5-5"),
        ("config", "google/c"),
        ("found", "anthropic/claude-sonnet-5-5"),
    ]


@pytest.mark.parametrize(
    ("environ", "commands", "name"),
    [
        ({"OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g"}, ("claude",), "openai/gpt-6.1-sol"),
        ({"GOOGLE_API_KEY": "g"}, ("claude",), "google/gemini-3.8-flash"),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, ("claude",), "anthropic/claude-sonnet-5-5"),
        ({}, ("claude", "codex"), "claude -p"),
        ({}, ("codex", "llm"), "codex exec -"),
        ({}, ("llm", "gemini"), "gemini"),
        ({}, ("llm",), "llm"),
        ({"OPENAI_API_KEY": ""}, (), "offline"),
        # Which model a server of one's own has, only its owner can say.
        ({"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "http://localhost:1/v1"}, (), "offline"),
    ],
)
def test_keys_come_before_tools(environ: dict[str, str], commands: tuple[str, ...], name: str) -> None:
    assert choose_agent(environ=environ, which=Machine(*commands)).agent.name == name


def test_a_key_without_its_sdk_is_passed_over_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    choice = choose_agent(environ={"ANTHROPIC_API_KEY": "a"}, which=NOTHING)
    assert choice.agent.name == "offline"
    assert choice.note == "ANTHROPIC_API_KEY is set, but the anthropic SDK is not installed"
    assert choice.missing_extra == "anthropic"


def test_finding_out_starts_no_process_and_loads_no_sdk() -> None:
    import subprocess

    code = (
        "import sys\n"
        "sys.addaudithook(lambda name, _: name.startswith(('subprocess', 'socket.', 'os.fork', 'os.posix_spawn'))"
        " and sys.exit(f'{name} was called'))\n"
        "from segue.chat.agents import choose_agent\n"
        f"print(choose_agent(environ={KEYS!r}).agent.name)\n"
        "print(sorted({'anthropic', 'openai', 'google.genai'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["anthropic/claude-sonnet-5-5", "[]"]


# ── Orders ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("flag", "module", "extra"),
    [
        ("anthropic", "anthropic", "anthropic"),
        ("openai", "openai", "openai"),
        ("ollama/qwen", "openai", "openai"),
        ("google", "google.genai", "google"),
    ],
)
def test_a_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch, flag: str, module: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        choose_agent(flag=flag, environ=KEYS, which=NOTHING)
    assert caught.value.hint == f"pip install 'segue[{extra}]'"


@pytest.mark.parametrize(
    ("flag", "variable"),
    [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY"), ("google/x", "GEMINI_API_KEY")],
)
def test_a_missing_key_names_the_variable_before_anything_is_asked(flag: str, variable: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose_agent(flag=flag, environ={}, which=NOTHING)
    assert f"set {variable}" in caught.value.hint


@pytest.mark.parametrize("flag", ["claude", "command:mytool --fast"])
def test_a_command_that_is_not_there_is_told_before_anything_is_asked(flag: str) -> None:
    with pytest.raises(UsageError, match="is not on the PATH"):
        choose_agent(flag=flag, environ={}, which=NOTHING)


def test_any_command_can_be_ordered() -> None:
    choice = choose_agent(flag="command:mytool --say 'two words'", environ={}, which=ALL)
    assert choice.agent.name == "mytool --say 'two words'"


# ── Wishes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_wish_without_a_key_is_granted_by_the_tool_of_the_same_house() -> None:
    choice = choose_agent(preset_model="sonnet", environ={}, which=ALL)
    assert (choice.why, choice.agent.name) == ("preset", "claude -p --model sonnet")


@pytest.mark.parametrize("wish", ["sonnet", "google/gemini-9", "some-new-word", "claude"])
def test_a_wish_that_cannot_be_granted_here_is_passed_over_with_a_note(wish: str) -> None:
    choice = choose_agent(preset_model=wish, environ={}, which=NOTHING)
    assert choice.agent.name == "offline"
    assert f"the preset asks for {wish}" in choice.note


def test_a_preset_that_inherits_asks_for_nothing() -> None:
    assert (
        choose_agent(preset_model="inherit", environ={}, which=NOTHING).note
        == "no --agent, no API key, no AI tool on the PATH"
    )


@pytest.mark.parametrize("wish", ["command:rm -rf /", "openai/gpt@https://elsewhere.example/v1"])
def test_a_preset_names_no_command_and_no_server(wish: str) -> None:
    with pytest.raises(UsageError, match="cannot name a command or a server"):
        choose_agent(preset_model=wish, environ=KEYS, which=ALL)


# ── The grammar ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("offline", AgentSpec(kind="offline")),
        ("anthropic", AgentSpec(kind="anthropic")),
        (" anthropic/claude-x ", AgentSpec(kind="anthropic", model="claude-x")),
        ("openai/gpt-x", AgentSpec(kind="openai", model="gpt-x")),
        ("openai/org/Llama-3@http://h:1/v1", AgentSpec(kind="openai", model="org/Llama-3", base_url="http://h:1/v1")),
        ("openai/model@2024", AgentSpec(kind="openai", model="model@2024")),
        ("google/gemini-x", AgentSpec(kind="google", model="gemini-x")),
        ("ollama/llama3:8b", AgentSpec(kind="ollama", model="llama3:8b")),
        ("claude", AgentSpec(kind="tool", argv=("claude", "-p"))),
        ("claude/opus", AgentSpec(kind="tool", model="opus", argv=("claude", "-p", "--model", "opus"))),
        ("codex/gpt-x", AgentSpec(kind="tool", model="gpt-x", argv=("codex", "exec", "--model", "gpt-x", "-"))),
        ("command:llm -m 'a b'", AgentSpec(kind="command", argv=("llm", "-m", "a b"))),
        ("sonnet", AgentSpec(kind="anthropic", model="sonnet")),
        ("claude-opus-5-5", AgentSpec(kind="anthropic", model="claude-opus-5-5")),
        ("gpt-x", AgentSpec(kind="openai", model="gpt-x")),
        ("gemini-x", AgentSpec(kind="google", model="gemini-x")),
    ],
)
def test_a_spec_is_read(text: str, spec: AgentSpec) -> None:
    assert parse_spec(text) == spec


@pytest.mark.parametrize("text", ["claude/--dangerous", "codex/-c", "anthropic/-x", "ollama/--x@http://localhost"])
def test_a_model_never_becomes_an_option_of_a_tool(text: str) -> None:
    with pytest.raises(UsageError, match="not the name of a model"):
        parse_spec(text)


@pytest.mark.parametrize("text", ["", "gtp", "mistral/x", "anthropic/", "offline/x", "command", "/x"])
def test_an_unknown_spec_lists_what_exists(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_spec(text)
    for word in ("offline", "anthropic", "openai", "google", "ollama", "claude", "codex", "gemini", "llm", "command:"):
        assert word in caught.value.hint


@pytest.mark.parametrize("text", ["command:", "command:  ", "command:say 'unfinished"])
def test_a_command_that_cannot_be_read_says_so(text: str) -> None:
    with pytest.raises(UsageError):
        parse_spec(text)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("offline", "offline"),
        ("anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("openai/gpt-4o-2024-08-06", "gpt-4o"),
        ("ollama/hf.co/some/qwen3:8b", "qwen3:8b"),
        ("openai/qwen3@http://localhost:8080/v1", "qwen3"),
    ],
)
def test_a_prompt_shows_a_model_without_provider_server_and_date(name: str, short: str) -> None:
    assert short_name(EchoAgent(name=name)) == short


def test_a_prompt_shows_a_command_without_its_path_and_options() -> None:
    assert short_name(CommandAgent(["/opt/some tool/claude", "-p", "--model", "x"], environ={})) == "claude"
