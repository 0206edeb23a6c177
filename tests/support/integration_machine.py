"""A separate home, project and settings for a real AI tool, and a model on the same machine."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from segue.integrations import INTEGRATIONS, HandoverContext, LaunchOptions
from segue.model import Turn

if TYPE_CHECKING:
    from segue.integrations import Integration, Launch
    from segue.integrations.format.transcript import Transcript
    from segue.model import JsonObject
    from tests.support.loopback.model import Model

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "claude": ("--allowedTools", "Bash"),
    "codex": ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
    "gemini": ("--yolo", "--model=gemini-2.5-flash"),
    "opencode": (),
    "kilo": (),
    "qwen": ("--yolo",),
    "pi": ("--provider", "loopback", "--model", "m"),
    "copilot": ("--allow-all-tools",),
}
"""With these a tool may use its shell without asking: the prompts only let it echo."""


class Machine:
    def __init__(self, root: Path, folder: str, model: Model, name: str) -> None:
        self.home, self.project = root / "home", root / "project"
        self.project.mkdir()
        self.tool: Integration = INTEGRATIONS[name]
        self.arguments = ARGUMENTS[name]
        node = shutil.which("node")
        bins = [f"{folder}/bin", *([str(Path(node).parent)] if node else []), "/usr/local/bin", "/usr/bin", "/bin"]
        self.environ = {
            "PATH": ":".join(bins),
            "HOME": str(self.home),
            "TMPDIR": str(root),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": model.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "LOOPBACK_KEY": "none",
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "KILO_API_URL": model.url,
            "KILO_DISABLE_AUTOUPDATE": "1",
            "KILO_DISABLE_CODEBASE_INDEXING": "1",
            "KILO_DISABLE_MODELS_FETCH": "1",
            "KILO_DISABLE_PRESENCE": "1",
            "KILO_DISABLE_SESSION_INGEST": "1",
            "KILO_NO_DAEMON": "1",
            "KILO_TELEMETRY_LEVEL": "off",
            "PI_OFFLINE": "1",
            "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_MODEL": "m",
            "COPILOT_OFFLINE": "true",
        }
        for path, text in {**settings(model.url, self.project), **trusted(self.project)}.items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_text(text, encoding="utf-8")

    def launch(self, context: HandoverContext, prompt: str, *, as_text: bool = False) -> Launch:
        return self.tool.launch(context, self._options(prompt, as_text=as_text))

    def resume(self, native_id: str, prompt: str) -> Launch:
        found = self.tool.resume(native_id, self._options(prompt))
        assert found
        return found

    def read_back(self, session: Launch | str) -> Transcript:
        return self.tool.read_back(session, LaunchOptions(cwd=self.project, environ=self.environ))

    def _options(self, prompt: str, *, as_text: bool = False) -> LaunchOptions:
        return LaunchOptions(
            cwd=self.project,
            environ=self.environ,
            prompt=prompt,
            headless=True,
            arguments=self.arguments,
            as_text=as_text,
        )


def settings(url: str, project: Path) -> dict[str, str]:
    sees = {"attachment": True, "tool_call": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    options = {"options": {"baseURL": f"{url}/v1", "apiKey": "none"}, "models": {"m": sees}}
    providers = {
        "loopback": {"npm": "@ai-sdk/openai-compatible", **options},
        "messages": {"npm": "@ai-sdk/anthropic", **options},
    }
    opencode = json.dumps({"model": "loopback/m", "provider": providers})
    gemini = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    codex = f"""
model = "m"
model_provider = "loopback"
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"
[analytics]
enabled = false
[projects."{project.resolve()}"]
trust_level = "trusted"
"""
    model = {"id": "m", "input": ["text", "image"]}
    pi = {"baseUrl": f"{url}/v1", "apiKey": "none", "api": "openai-completions", "models": [model]}
    return {
        ".pi/agent/models.json": json.dumps({"providers": {"loopback": pi}}),
        ".codex/config.toml": codex,
        ".gemini/settings.json": json.dumps(gemini),
        ".qwen/settings.json": json.dumps(gemini | {"security": {"auth": {"selectedType": "openai"}}}),
        ".qwen/.env": f"OPENAI_API_KEY=none\nOPENAI_BASE_URL={url}/v1\nOPENAI_MODEL=m\n",
        ".config/opencode/opencode.json": opencode,
        ".config/kilo/kilo.json": opencode,
    }


def trusted(project: Path) -> dict[str, str]:
    """What a user has answered who has used the tools at a terminal in this project before."""
    claude = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["none"]},
        "projects": {str(project.resolve()): {"hasTrustDialogAccepted": True}},
    }
    copilot = {"trustedFolders": [str(project.resolve())]}
    return {".claude.json": json.dumps(claude), ".copilot/config.json": json.dumps(copilot)}


def turn(role: str, content: str, *parts: JsonObject) -> Turn:
    moment = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
    return Turn(role=role, content=content, timestamp=moment, tokens=None, parts=parts, id=f"{role}-{content}")


CALL: JsonObject = {"type": "tool_call", "id": "1", "name": "grep", "arguments": {"words": "token"}}
LOST: JsonObject = {"type": "tool_call", "id": "2", "name": "read", "arguments": {"path": "token.py"}}
RESULT: JsonObject = {"type": "tool_result", "id": "1", "content": "token.py:7\u2028expires = 60"}
EARLIER = HandoverContext(
    turns=(
        turn("user", "-- Why does login fail?"),
        turn("assistant", "Let me look.", CALL, LOST),
        turn("tool", "token.py:7", RESULT),
        turn("assistant", "The token expires \ud800 too early."),
    ),
    system='Answer "in brief".',
    title="Login bug",
)
HEARD = [
    ("user", "-- Why does login fail?"),
    ("assistant", "Let me look."),
    ("call", "grep"),
    ("call", "read"),
    ("result", "token.py:7"),
    ("result", "no result: interrupted"),
    ("assistant", "The token expires \ufffd too early."),
]
"""What a model gets of it, in this order; calls by their names, results by how they start."""
