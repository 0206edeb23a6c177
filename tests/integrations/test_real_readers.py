"""The newest releases of tools that are only read, against a model on this machine: what they store is read whole."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from segue.integrations import INTEGRATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segue.model import Turn
    from tests.support.loopback.model import Model

pytestmark = pytest.mark.real_tools

PROMPTS = ("Use a TOOL, please", "And once more?")
CONFIGURATIONS = {
    "continue": {
        ".continue/config.yaml": "name: t\nversion: 0.0.1\nschema: v1\nmodels:\n  - name: m\n    provider: openai\n"
        "    model: m\n    apiBase: URL/v1\n    apiKey: none\n    capabilities: [tool_use]\n"
    },
    "kimi": {
        ".kimi-code/config.toml": 'default_model = "m"\ntelemetry = false\n[providers.local]\ntype = "openai"\n'
        'base_url = "URL/v1"\napi_key = "none"\n[models.m]\nprovider = "local"\nmodel = "m"\nmax_context_size = 99999\n'
    },
    "cline": {},
}


class Tool:
    """A tool with a home of its own; no process that it leaves behind outlives the test."""

    def __init__(self, name: str, root: Path, folder: str, model: Model) -> None:
        self.name, self.home, self.project = name, root / "home", root / "project"
        self.project.mkdir()
        self._environ = {"HOME": str(self.home), "PATH": f"{folder}/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        for path, text in CONFIGURATIONS[name].items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_text(text.replace("URL", model.url), encoding="utf-8")
        if name == "cline":
            self.run("cline", "auth", "openai", "-k", "none", "-m", "m", "-b", f"{model.url}/v1")

    def run(self, *argv: str) -> None:
        options = {"env": self._environ, "cwd": self.project, "stdin": subprocess.DEVNULL, "timeout": 120}
        subprocess.run(argv, check=True, capture_output=True, **options)  # type: ignore[call-overload]

    def ask(self, *prompts: str) -> None:
        config = str(self.home / ".continue/config.yaml")
        for number, prompt in enumerate(prompts):
            match self.name:
                case "continue":
                    again = ["--resume"] if number else []
                    self.run("cn", "--config", config, "--auto", *again, "-p", prompt)
                case "kimi":
                    self.run("kimi", *(["-c"] if number else []), "-p", prompt)
                case "cline":
                    self.run("cline", "--json", prompt)

    def sessions(self) -> list[list[Turn]]:
        integration = INTEGRATIONS[self.name]
        found = []
        for session in integration.sessions(self.home, {}):
            builder, turns = integration.read(session)
            found.append(list(builder.transcript(turns).turns))
            assert builder.damages == []
            assert builder.cwd == str(self.project)
        return found

    def end(self) -> None:
        home = f"HOME={self.home}".encode()
        for process in Path("/proc").iterdir():
            with suppress(OSError):
                if process.name.isdecimal() and home in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)


@pytest.fixture(params=CONFIGURATIONS)
def tool(request: pytest.FixtureRequest, tmp_path: Path, model: Model) -> Iterator[Tool]:
    found = Tool(request.param, tmp_path, request.config.getoption("--real-tools"), model)
    yield found
    found.end()


def test_what_a_real_tool_stores_is_read_with_its_calls_and_results(tool: Tool) -> None:
    tool.ask(*PROMPTS)
    turns = [turn for session in tool.sessions() for turn in session]
    assert [turn.content for turn in turns if turn.role == "user"] == list(PROMPTS)
    assert [turn.content for turn in turns if turn.role == "assistant"][-1] == f"You said: {PROMPTS[1]}"
    answered = [turn for turn in turns if turn.role == "assistant"]
    assert all(turn.model and turn.extra["usage"]["output_tokens"] == 7 for turn in answered)  # type: ignore[index]
    if tool.name != "cline":  # whose shell takes a list of commands, which the model does not know
        (result,) = (turn for turn in turns if turn.role == "tool")
        assert "from-the-shell" in result.content
