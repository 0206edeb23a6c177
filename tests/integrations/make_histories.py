"""Rebuilds tests/corpus/{pi,copilot,llm,aider,kilo} and the SQL of opencode.

Usage: python -m tests.integrations.make_histories DIR..., where the DIRs hold the commands `pi` and `copilot` (with
node 22), `llm`, `aider`, `opencode` and `kilo`: real tools, and a model here. Databases are kept as the SQL that makes
them, without the tables that no conversation is in.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.loopback.model import Model

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
PROMPTS = ("Hello there", "Use a TOOL, please")
CUT = "[cut]"
_SHELL = 'def bash(command: str, description: str = "") -> str:\n    "Run it."\n    return "from-the-shell"'
_LLM_TABLES = ("threads", "turns", "messages", "parts", "fragments", "part_fragments", "conversations", "responses")
_OPENCODE_TABLES = ("session", "message", "part")


def main(folders: list[str]) -> None:
    for make in (make_pi, make_copilot, make_llm, make_aider, make_opencode, make_kilo):
        with TemporaryDirectory() as root, Model() as model:
            make(_Place(Path(root), folders, model.url))


class _Place:
    def __init__(self, root: Path, folders: list[str], url: str) -> None:
        self.root, self.home, self.project = root, root / "home", root / "project"
        self.url = f"{url}/v1"
        self.project.mkdir()
        self.environ = {
            "PATH": os.pathsep.join([*folders, "/usr/bin", "/bin"]),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PI_OFFLINE": "1",
            "COPILOT_PROVIDER_BASE_URL": self.url,
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_MODEL": "m",
            "COPILOT_OFFLINE": "true",
            "OPENAI_API_KEY": "none",
            "OPENAI_API_BASE": self.url,
            "AIDER_CHECK_UPDATE": "false",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

    def write(self, path: str, text: str) -> None:
        (self.home / path).parent.mkdir(parents=True, exist_ok=True)
        (self.home / path).write_text(text, encoding="utf-8")

    def run(self, *argv: str) -> None:
        subprocess.run(argv, env=self.environ, cwd=self.project, stdin=subprocess.DEVNULL, check=True, timeout=120)

    def keep(self, name: str, text: str) -> None:
        path = CORPUS / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace(str(self.root).lstrip("/"), "tmp/corpus"), encoding="utf-8")


def make_pi(place: _Place) -> None:
    provider = {"baseUrl": place.url, "apiKey": "none", "api": "openai-completions", "models": [{"id": "m"}]}
    place.write(".pi/agent/models.json", json.dumps({"providers": {"loopback": provider}}))
    for more in ((PROMPTS[0],), ("-c", PROMPTS[1])):
        place.run("pi", "--provider", "loopback", "--model", "m", "-p", *more)
    (found,) = (place.home / ".pi/agent/sessions").glob("*/*.jsonl")
    place.keep("pi/tool.jsonl", found.read_text(encoding="utf-8"))


def make_copilot(place: _Place) -> None:
    for more in (("-p", PROMPTS[0]), ("--continue", "-p", PROMPTS[1])):
        place.run("copilot", "--allow-all-tools", *more)
    (found,) = (place.home / ".copilot/session-state").glob("*/events.jsonl")
    events = [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]
    for event in events:
        if event["type"] == "system.message":
            event["data"]["content"] = CUT
    place.keep("copilot/tool.jsonl", "".join(f"{json.dumps(event, ensure_ascii=False)}\n" for event in events))


def make_llm(place: _Place) -> None:
    folder = ".config/io.datasette.llm"
    model = f"- model_id: loopback\n  model_name: m\n  api_base: {place.url}\n  supports_tools: true\n"
    place.write(f"{folder}/extra-openai-models.yaml", model)
    place.run("llm", "-m", "loopback", PROMPTS[0])
    place.run("llm", "-c", "And again?")
    place.run("llm", "-m", "loopback", "-s", "Be brief.", "--functions", _SHELL, PROMPTS[1])
    place.keep("llm/logs.sql", _dump(place.home / folder / "logs.db", _LLM_TABLES))


def make_aider(place: _Place) -> None:
    options = ("--model", "openai/m", "--no-analytics", "--no-show-model-warnings", "--no-git", "--no-gitignore")
    for prompt in (PROMPTS[0], "A second\nline"):
        place.run("aider", *options, "--no-show-release-notes", "--message", prompt, "--yes-always")
    text = (place.project / ".aider.chat.history.md").read_text(encoding="utf-8")
    # The model repeats what it is told, and so also what aider's makers tell it.
    text = re.sub(r"To suggest changes to a file.*?Reply in English\.", CUT, text, flags=re.DOTALL)
    place.keep("aider/history.md", re.sub(r"> \S*/aider ", "> aider ", text))


def make_opencode(place: _Place) -> None:
    _make_database(place, "opencode")


def make_kilo(place: _Place) -> None:
    _make_database(place, "kilo")


def _make_database(place: _Place, name: str) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": place.url, "apiKey": "none"},
        "models": {"m": {}},
    }
    settings = {"model": "loopback/m", "provider": {"loopback": provider}}
    place.write(f".config/{name}/{name}.json", json.dumps(settings))
    place.run(name, "run", PROMPTS[1])
    place.keep(f"{name}/tool.sql", _dump(place.home / f".local/share/{name}/{name}.db", _OPENCODE_TABLES))


def _dump(path: Path, tables: tuple[str, ...]) -> str:
    connection = sqlite3.connect(path)
    try:
        wanted = re.compile(
            rf'(CREATE TABLE|INSERT INTO) (IF NOT EXISTS )?["`]?({"|".join(tables)})["`]? ?[(V]', re.DOTALL
        )
        lines = [line for line in connection.iterdump() if wanted.match(line)]
    finally:
        connection.close()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
